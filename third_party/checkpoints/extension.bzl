"""bzlmod front end of checkpoints.bzl. Only MODULE.bazel loads this file."""

load(":checkpoints.bzl", "declare_checkpoints")

def _checkpoints_impl(_mctx):
    declare_checkpoints()

checkpoints = module_extension(implementation = _checkpoints_impl)
