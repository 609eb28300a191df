"""GPT-2's spelling of bytes: a printable letter for each, in which byte-level vocabularies are written."""

from __future__ import annotations


def byte_letters() -> list[str]:
    """The letter of each byte, by its value."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = {byte: chr(256 + i) for i, byte in enumerate(byte for byte in range(256) if byte not in printable)}
    return [rest.get(byte) or chr(byte) for byte in range(256)]


def spelled(token: bytes, letters: list[str]) -> str:
    """A token of bytes in these letters."""
    return "".join(letters[byte] for byte in token)
