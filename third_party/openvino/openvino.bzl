"""plugin_library: shared libraries together with the plugins that they open from their own folder.

OpenVINO looks for device plugins and frontends beside libopenvino, by the path that the dynamic linker used. Bazel
links from `_solib_*/MANGLED_LABEL`, so the plugins are linked into that folder too: they travel as runfiles and are
found by `bazel test`, `bazel run` and binaries started by hand, but are no DT_NEEDED entries, so that a program which
runs no model does not load 60 MB.
"""

load("@rules_cc//cc:find_cc_toolchain.bzl", "CC_TOOLCHAIN_ATTRS", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# For an installed copy: bin/PROGRAM beside lib/{libopenvino,plugins}.
_INSTALLED_RPATH = "-Wl,-rpath,$ORIGIN/../lib"

# Where this repository is another's dependency, its programs lie in NAME.runfiles/mconnect/FOLDERS and the libraries in
# NAME.runfiles/MAIN/_solib_*; Bazel 4 writes only the way that holds outside runfiles. Our binaries lie 2 folders deep
# (runtime/cli), the Python module 3 (runtime/python/mconnect).
_RUNFILES_RPATH = "-Wl,-rpath,$ORIGIN/{up}{workspace}/{folder}"
_DEPTHS = (2, 3)

def _link(ctx, toolchain, features, file):
    """Registers the link of `file` into this target's folder of _solib_*."""
    return cc_common.create_library_to_link(
        actions = ctx.actions,
        cc_toolchain = toolchain,
        dynamic_library = file,
        feature_configuration = features,
    )

def _plugin_library_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    libraries = [_link(ctx, toolchain, features, f) for f in ctx.files.libraries]
    plugins = [_link(ctx, toolchain, features, f).dynamic_library for f in ctx.files.plugins]
    folders = {library.dynamic_library.short_path.rpartition("/")[0]: None for library in libraries}
    rpaths = [
        _RUNFILES_RPATH.format(up = "../" * (depth + 1), workspace = ctx.workspace_name, folder = folder)
        for folder in folders
        for depth in _DEPTHS
    ]
    linking = cc_common.create_linking_context(linker_inputs = depset([cc_common.create_linker_input(
        libraries = depset(libraries),
        owner = ctx.label,
        user_link_flags = depset([_INSTALLED_RPATH] + rpaths),
    )]))
    info = cc_common.merge_cc_infos(
        direct_cc_infos = [CcInfo(linking_context = linking)],
        cc_infos = [d[CcInfo] for d in ctx.attr.deps],
    )
    runfiles = ctx.runfiles(plugins + [library.dynamic_library for library in libraries])
    return [info, DefaultInfo(files = depset(ctx.files.libraries + ctx.files.plugins), runfiles = runfiles)]

plugin_library = rule(
    implementation = _plugin_library_impl,
    doc = "Shared libraries to link, and the plugins that they open at run time from their own folder.",
    attrs = dict(
        CC_TOOLCHAIN_ATTRS,
        libraries = attr.label_list(allow_files = True, doc = "linked by dependents"),
        plugins = attr.label_list(allow_files = True, doc = "found at run time beside `libraries`; never linked"),
        deps = attr.label_list(providers = [CcInfo], doc = "headers"),
    ),
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = use_cc_toolchain(),
)
