"""The machine's own CPython: what fetches wheels, and the interpreter of builds where none is pinned."""

def machine_python(rctx):
    """Finds CPython 3.11 or 3.12, the versions that the lock serves. The distribution's comes first.

    Args:
      rctx: repository_ctx.
    Returns:
      struct(path, version), path being the interpreter itself and not a shim of a version manager.
    """
    for version in ("3.11", "3.12"):
        for path in ("/usr/bin/python" + version, rctx.which("python" + version)):
            if path and rctx.path(path).exists:
                r = rctx.execute([path, "-c", "import os, sys; print(os.path.realpath(sys.executable))"])
                if r.return_code == 0:
                    return struct(path = r.stdout.strip(), version = version)
    fail("CPython 3.11 or 3.12 is missing: run tools/setup")
