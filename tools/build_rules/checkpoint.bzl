"""checkpoint: the files of one checkpoint folder as a target."""

CheckpointInfo = provider(
    doc = "A folder as a model maker ships it: config.json, safetensors, tokenizer.json, processor configs.",
    fields = {
        "files": "depset of File: what is in the folder, or one tree artifact that is the folder",
        "path": "string: the folder, for the command line of an action whose inputs are `files`",
    },
)

def _checkpoint_impl(ctx):
    configs = [f.dirname for f in ctx.files.srcs if f.basename == "config.json"]
    if not configs:
        fail("%s has no config.json among its srcs" % ctx.label)
    path = sorted(configs, key = len)[0]  # sub-folders (1_Pooling/) have a config.json too
    files = depset(ctx.files.srcs)
    return [
        DefaultInfo(files = files, runfiles = ctx.runfiles(ctx.files.srcs)),
        CheckpointInfo(files = files, path = path),
    ]

checkpoint = rule(
    implementation = _checkpoint_impl,
    doc = "The folder of the outermost config.json among `srcs`.",
    attrs = {"srcs": attr.label_list(allow_files = True, mandatory = True)},
    provides = [CheckpointInfo],
)
