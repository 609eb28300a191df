"""@families//:all: the libraries of all families that lie in families/, whichever they are.

A folder can be deleted or added and no list has to be edited. Bazel 4 notices because tools/bazel names the folders in
MCONNECT_FAMILIES, newer ones because they watch the folder.
"""

_BUILD = """load("@rules_python//python:defs.bzl", "py_library")

py_library(
    name = "all",
    visibility = ["//visibility:public"],
    deps = {deps},
)
"""

def _families_repo_impl(rctx):
    folder = rctx.path(rctx.attr._anchor).dirname.get_child("families")
    names = sorted([p.basename for p in folder.readdir() if p.get_child("family.json").exists])
    rctx.file("BUILD.bazel", _BUILD.format(deps = repr(["@%s//families/%s" % (rctx.attr.main, n) for n in names])))

families_repo = repository_rule(
    implementation = _families_repo_impl,
    attrs = {
        "main": attr.string(default = "mconnect", doc = "name of the repository that holds families/"),
        "_anchor": attr.label(default = Label("//:WORKSPACE")),
    },
    environ = ["MCONNECT_FAMILIES"],
)
