"""What individual wheels need beyond a plain py_library: C++ targets, and files that nobody reads at run time.

Torch's wheel alone holds 9,000 headers; without `exclude` each sandboxed test would link every one of them.
"""

_PYBIND11 = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "cc",
    hdrs = glob(["site-packages/pybind11/include/**/*.h"]),
    includes = ["site-packages/pybind11/include"],
)
"""

_OPENVINO = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "headers",
    hdrs = glob(["site-packages/openvino/include/**/*.h", "site-packages/openvino/include/**/*.hpp"]),
    includes = ["site-packages/openvino/include"],
)

# Linked by applications.
filegroup(
    name = "libraries",
    srcs = glob(["site-packages/openvino/libs/libopenvino.so.*", "site-packages/openvino/libs/libtbb.so.*"]),
)

# Opened by libopenvino at run time, from its own folder.
filegroup(
    name = "plugins",
    srcs = glob(["site-packages/openvino/libs/libopenvino_ir_frontend.so.*", "site-packages/openvino/libs/libtbbmalloc.so.*"]) + [":cpu_plugin"],
)

filegroup(name = "cpu_plugin", srcs = ["site-packages/openvino/libs/libopenvino_intel_cpu_plugin.so"])
"""

_RUFF = """
filegroup(name = "program", srcs = glob(["site-packages/ruff-*.data/scripts/ruff", "site-packages/ruff-*.dist-info/METADATA"]))
"""

_TBB = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "headers",
    hdrs = glob(["site-packages/tbb_devel-*.data/data/include/**/*.h"]),
    includes = glob(["site-packages/tbb_devel-*.data/data/include"], exclude_directories = 0),
)
"""

WHEEL_OPTIONS = {
    "gguf": {"exclude": ["site-packages/gguf/scripts/**"], "without": ["requests"]},  # the network is not its business here
    "networkx": {"exclude": ["site-packages/networkx/**/tests/**"]},
    "numpy": {"exclude": ["site-packages/numpy/**/tests/**", "site-packages/numpy/_core/include/**"]},
    # Without its telemetry, which writes to the home folder and calls home; OpenVINO has a stand-in for its absence.
    "openvino": {"build": _OPENVINO, "exclude": ["site-packages/openvino/include/**"], "without": ["openvino_telemetry"]},
    "pybind11": {"build": _PYBIND11},
    "ruff": {"build": _RUFF},
    "sympy": {"exclude": ["site-packages/sympy/**/tests/**", "site-packages/isympy*"]},
    # Headers alone: the library is OpenVINO's own, of which a process must have one.
    "tbb_devel": {"build": _TBB, "without": ["tbb"]},
    "tiktoken": {"without": ["requests"]},  # as gguf
    "torch": {"exclude": ["site-packages/torch/include/**", "site-packages/torch/share/**", "site-packages/torch/lib/*.a"]},
}
