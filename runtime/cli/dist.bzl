"""program_folder: a program and the shared libraries that it opens, as a folder that can be copied anywhere."""

def _program_folder_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    program = ctx.executable.program

    # Bazel lists a library both where it lies and where it is linked from: one of each name is enough.
    libraries = {}
    for f in ctx.attr.program[DefaultInfo].default_runfiles.files.to_list():
        if ".so" in f.basename:
            libraries[f.basename] = f
    args = ctx.actions.args()
    args.add(folder.path)
    args.add(program)
    args.add_all(libraries.values())
    ctx.actions.run_shell(
        command = """set -eu
out="$1"; program="$2"; shift 2
mkdir -p "$out/bin" "$out/lib"
cp -L "$program" "$out/bin/"
[ $# -eq 0 ] || cp -L "$@" "$out/lib/"
""",
        arguments = [args],
        inputs = [program] + libraries.values(),
        outputs = [folder],
        mnemonic = "ProgramFolder",
        progress_message = "Collecting %s and its libraries" % program.short_path,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

program_folder = rule(
    implementation = _program_folder_impl,
    doc = "NAME/bin/PROGRAM and NAME/lib/*.so. The program finds its libraries by $ORIGIN/../lib, wherever the folder lies.",
    attrs = {"program": attr.label(mandatory = True, executable = True, cfg = "target")},
)
