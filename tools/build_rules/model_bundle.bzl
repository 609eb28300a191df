"""model_bundle: a checkpoint and a family become one `.bundle`. tiny_checkpoint: a checkpoint made from a seed."""

load(":checkpoint.bzl", "CheckpointInfo")

ModelBundleInfo = provider(
    doc = "A built bundle.",
    fields = {
        "bundle": "File: NAME.bundle",
        "family": "string: the family that built it",
    },
)

def _model_bundle_impl(ctx):
    bundle = ctx.actions.declare_file(ctx.label.name + ".bundle")
    checkpoint = ctx.attr.checkpoint[CheckpointInfo]
    args = ctx.actions.args()
    args.add(checkpoint.path)
    args.add("-o", bundle)
    args.add("--name", ctx.attr.bundle_name or ctx.label.name)
    args.add("--family", ctx.file.family)
    args.add_all(ctx.attr.options)

    # This family's own files and no index of families: a change to another one leaves the action's key alone.
    ctx.actions.run(
        executable = ctx.executable._build_tool,
        arguments = [args],
        inputs = depset([ctx.file.family] + ctx.files.sources, transitive = [checkpoint.files]),
        outputs = [bundle],
        mnemonic = "ModelBundle",
        progress_message = "Building %s of family %s" % (bundle.short_path, ctx.attr.family.label.package),
    )
    return [
        DefaultInfo(files = depset([bundle]), runfiles = ctx.runfiles([bundle])),
        ModelBundleInfo(bundle = bundle, family = ctx.attr.family.label.package),
    ]

model_bundle = rule(
    implementation = _model_bundle_impl,
    doc = "Builds NAME.bundle. Nothing in its inputs needs torch or transformers.",
    attrs = {
        "checkpoint": attr.label(mandatory = True, providers = [CheckpointInfo]),
        "family": attr.label(mandatory = True, allow_single_file = ["family.json"], doc = "the family's family.json"),
        "sources": attr.label_list(mandatory = True, allow_files = [".py"], doc = "the family's code"),
        "bundle_name": attr.string(doc = "the manifest's `name`; the target's by default"),
        "options": attr.string_list(doc = "further options of `mconnect build`"),
        "_build_tool": attr.label(default = Label("//tools/mconnect:build_tool"), executable = True, cfg = "exec"),
    },
    provides = [ModelBundleInfo],
)

def _tiny_checkpoint_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    args = ctx.actions.args()
    args.add("--family", ctx.file.family)
    args.add("--config", ctx.file.config)
    args.add("--out", folder.path)
    ctx.actions.run(
        executable = ctx.executable._make_tiny,
        arguments = [args],
        inputs = [ctx.file.config, ctx.file.family],
        outputs = [folder],
        mnemonic = "TinyCheckpoint",
        progress_message = "Making %s" % folder.short_path,
    )
    files = depset([folder])
    return [
        DefaultInfo(files = files, runfiles = ctx.runfiles([folder])),
        CheckpointInfo(files = files, path = folder.path),
    ]

tiny_checkpoint = rule(
    implementation = _tiny_checkpoint_impl,
    doc = "A checkpoint folder with the reference library's tensor names and shapes, and values from a seeded generator.",
    attrs = {
        "family": attr.label(mandatory = True, allow_single_file = ["family.json"], doc = "the family's family.json"),
        "config": attr.label(mandatory = True, allow_single_file = [".json"], doc = "what to make, as //tools/builder/tiny:make_tiny describes it"),
        "_make_tiny": attr.label(default = Label("//tools/builder/tiny:make_tiny"), executable = True, cfg = "exec"),
    },
    provides = [CheckpointInfo],
)
