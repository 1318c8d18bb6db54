"""Percent escapes for names that contain characters with a meaning in a text format.

On writing, each such character becomes `%` and two hexadecimal digits. On reading, every `%` followed by two
hexadecimal digits is unescaped; any other `%` stands for itself, because other tools do not escape their names.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


def unescape(spelling: bytes) -> bytes:
    """The name, of its spelling in a text."""
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), spelling)


def escape(name: bytes, signs: bytes) -> bytes:
    """A name with each of the characters `signs` escaped. `%` must be among them, or it could not be read back."""
    return re.sub(rb"[" + re.escape(signs) + rb"]", lambda match: b"%%%02X" % match[0][0], name)
