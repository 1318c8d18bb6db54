"""Reads TOML files within limits: they can come from strangers, with whose code they were checked out."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from atomsan.errors import InputError

MOST_BYTES = 1 << 20

# tomllib takes time and memory that grow with the square of the parts of one key.
MOST_PARTS = 64
_PART = r"""(?>[\w-]+|"(?>[^"\\\n]|\\.)*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?>[ \t]*\.[ \t]*{_PART}){{{MOST_PARTS}}}")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file that is meant to be small."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=name) from error
    if len(raw) > MOST_BYTES:
        raise InputError(f"longer than the {MOST_BYTES:,} bytes that such a file may have", source=name)
    return raw


def parse_toml(raw: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a TOML file. An `InputError` names the file."""
    import tomllib

    name = os.fspath(path)
    try:
        text = raw.decode()
        # by TOML's own newlines: a key may hold others
        for number, line in enumerate(text.split("\n"), start=1):
            if line.count(".") >= MOST_PARTS and _LONG_KEY.search(line):
                raise InputError(f"a key of more than {MOST_PARTS} parts", source=name, line=number)
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid TOML: {error}", source=name) from error
