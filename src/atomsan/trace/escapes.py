"""Percent escapes: how a text format carries a name that holds one of the format's own signs.

On writing, each sign a format cannot carry becomes `%` and two hexadecimal digits. On reading, every `%`
followed by two such digits is undone; any other `%` stands for itself, so that names written by tools that
know no escapes survive.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


def unescape(spelling: bytes) -> bytes:
    """The name that a spelling stands for."""
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), spelling)


def escape(name: bytes, signs: bytes) -> bytes:
    """A name with each of `signs` escaped. `%` must be among the signs, or the result could not be read back."""
    return re.sub(rb"[" + re.escape(signs) + rb"]", lambda match: b"%%%02X" % match[0][0], name)
