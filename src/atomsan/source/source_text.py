"""Decodes source files without `tokenize`: that may be the module which is being imported, or be missing."""

from __future__ import annotations

import codecs
import io
import re

# PEP 263: in a comment of the first line, or of the second if the first is blank or a comment.
_COOKIE = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)", re.ASCII)


def decode_source(source: bytes) -> str:
    """The text of a source that compiles, with the line ends that Python makes of it."""
    if source.startswith(codecs.BOM_UTF8):
        text = source.decode("utf-8-sig")
    else:
        cookie = _COOKIE.match(source)
        text = source.decode(cookie[1].decode() if cookie else "utf-8")
    return io.IncrementalNewlineDecoder(None, translate=True).decode(text)
