"""Damages bytes as other bytes describe, so that the fuzzer can search for the damage that matters."""

from __future__ import annotations

from collections.abc import Iterator

# Stands between the parts of a recipe. It is never valid UTF-8, so no text holds it by chance.
SEPARATOR = b"\xfe\xfe"


def patched(data: bytes, recipe: bytes) -> bytes:
    """The bytes after every command of a recipe: overwrite, insert, delete, cut off, replace."""
    for kind, at, size, payload in _commands(recipe):
        at %= len(data) + 1
        if kind == 0:
            data = data[:at] + payload + data[at + len(payload) :]
        elif kind == 1:
            data = data[:at] + payload + data[at:]
        elif kind == 2:
            data = data[:at] + data[at + size :]
        elif kind == 3:
            data = data[: len(data) - at]
        else:
            data = payload
    return data


def _commands(recipe: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """(kind, position, size, payload): a byte, two and one; a payload of that size if the kind has one."""
    at = 0
    while at + 4 <= len(recipe):
        kind, position, size = recipe[at] % 5, int.from_bytes(recipe[at + 1 : at + 3], "big"), recipe[at + 3]
        at += 4
        payload = recipe[at : at + size] if kind in (0, 1, 4) else b""
        at += len(payload)
        yield kind, position, size, payload
