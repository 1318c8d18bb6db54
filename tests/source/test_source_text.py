"""Decoding of source files, compared with importlib."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from atomsan.source.source_text import decode_source

SOURCES = [
    b"x = 1\r\ny = 2\rz = 3\n",
    "x = '\u00e4'\n".encode(),
    b"\xef\xbb\xbfx = 1\n",
    b"\xef\xbb\xbf# coding: utf-8\nx = 1\n",
    b"# -*- coding: latin-1 -*-\nx = '\xe4'\n",
    b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
    b"\n# coding=latin-1\nx = '\xe4'\n",
    b"\r\n# coding=latin-1\r\nx = '\xe4'\r\n",
    b"x = 1\n# coding: latin-1\n",
    b"x = '# coding: latin-1'\n",
    b"\n\n# coding: latin-1\n",
    b"",
]


@pytest.mark.parametrize("source", SOURCES)
def test_decodes_as_importlib_does(source: bytes) -> None:
    assert decode_source(source) == importlib.util.decode_source(source)


def test_decoding_does_not_import_tokenize() -> None:
    script = """
import sys
from atomsan.source.source_text import decode_source
decode_source(b'# coding: latin-1')
print(*sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "tokenize" not in ran.stdout.split()
