"""checkpoint: the files of one checkpoint folder, or one GGUF file, as a target."""

CheckpointInfo = provider(
    doc = "What a model maker ships: a GGUF file, or a folder with config.json, safetensors, tokenizer.json, processor configs.",
    fields = {
        "files": "depset of File: what is in the folder, one tree artifact that is the folder, or the GGUF file",
        "path": "string: the folder or the GGUF file, for the command line of an action whose inputs are `files`",
    },
)

def _checkpoint_impl(ctx):
    configs = [f.dirname for f in ctx.files.srcs if f.basename == "config.json"]
    ggufs = [f.path for f in ctx.files.srcs if f.extension == "gguf"]
    if configs:
        path = sorted(configs, key = len)[0]  # sub-folders (1_Pooling/) have a config.json too
    elif len(ggufs) == 1:
        path = ggufs[0]
    else:
        fail("%s has neither a config.json nor exactly one .gguf file among its srcs" % ctx.label)
    files = depset(ctx.files.srcs)
    return [
        DefaultInfo(files = files, runfiles = ctx.runfiles(ctx.files.srcs)),
        CheckpointInfo(files = files, path = path),
    ]

checkpoint = rule(
    implementation = _checkpoint_impl,
    doc = "The folder of the outermost config.json among `srcs`; where there is none, their one GGUF file.",
    attrs = {"srcs": attr.label_list(allow_files = True, mandatory = True)},
    provides = [CheckpointInfo],
)
