"""The one exception type of mconnect."""


class Error(Exception):
    """Raised by everything in mconnect that fails.

    Attributes:
        code: what went wrong, for programs: "invalid-argument", "not-found", "corrupt", "unsupported",
            "resource-exhausted", "cancelled", "unavailable", "io" or "internal".
        message: names the input, the limit and the value.
        remedy: what to do about it; may be empty.
    """

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(code, message, remedy)
        self.code = code
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message
