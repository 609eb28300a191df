"""The functions that templates may name: what the runtime has, and what Jinja2 and Python would have."""

from __future__ import annotations

FILTERS = frozenset({
    "abs", "attr", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "e", "escape", "first",
    "float", "format", "groupby", "indent", "int", "items", "join", "last", "length", "list", "lower", "map", "max",
    "min", "reject", "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "slice", "sort",
    "string", "sum", "title", "tojson", "trim", "truncate", "unique", "upper", "wordcount",
})  # fmt: skip
TESTS = frozenset({
    "!=", "<", "<=", "==", ">", ">=", "boolean", "callable", "defined", "divisibleby", "eq", "equalto", "escaped",
    "even", "false", "filter", "float", "ge", "greaterthan", "gt", "in", "integer", "iterable", "le", "lessthan",
    "lower", "lt", "mapping", "ne", "none", "number", "odd", "sameas", "sequence", "string", "test", "true",
    "undefined", "upper",
})  # fmt: skip
METHODS = frozenset({  # of strings, lists, tuples and dicts
    "capitalize", "center", "copy", "count", "endswith", "find", "format", "get", "index", "isalnum", "isalpha",
    "isascii", "isdecimal", "isdigit", "islower", "isspace", "isupper", "items", "join", "keys", "ljust", "lower",
    "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition",
    "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper", "values", "zfill",
})  # fmt: skip
GLOBALS = frozenset({"dict", "namespace", "raise_exception", "range", "strftime_now"})

# What the reference has beyond that.
REFERENCE_GLOBALS = GLOBALS | {"cycler", "joiner", "lipsum"}
REFERENCE_METHODS = frozenset(
    name for kind in (str, list, tuple, dict, int, float) for name in dir(kind) if not name.startswith("_")
)
# Methods that change a list or dict: the sandbox refuses them at run time, and so does the runtime.
BLOCKED_METHODS = frozenset({
    "append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update",
})  # fmt: skip
