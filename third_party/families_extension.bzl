"""bzlmod front end of families.bzl. Only MODULE.bazel loads this file."""

load(":families.bzl", "families_repo")

def _families_impl(_mctx):
    families_repo(name = "families")

families = module_extension(implementation = _families_impl)
