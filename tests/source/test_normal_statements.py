"""Statements in a normal form."""

from __future__ import annotations

import pytest

from atomsan.source.normal_statements import NormalStatements

SOURCE = '''\
x = ( 1 +
      2 ); y = "a"
@wraps( f )
def g(a,
      b = 1):
    """Text."""
    if a[ 0 ]:
        return b
    try:
        pass
    except ( KeyError ) as error:
        pass
    for i in range( 3 ): print( i )

with a as b: c()
'''


@pytest.mark.parametrize(
    ("line", "column", "normal"),
    [
        (1, 0, "x = 1 + 2"),
        (2, 6, "x = 1 + 2"),
        (2, 11, "y = 'a'"),
        (3, 7, "@wraps(f)\ndef g(a, b=1):"),
        (5, 8, "@wraps(f)\ndef g(a, b=1):"),
        (7, 7, "if a[0]:"),
        (8, 15, "return b"),
        (11, 13, "except KeyError as error:"),
        (13, 13, "for i in range(3):"),
        (13, 25, "print(i)"),
        (14, 0, None),
        (15, 0, "with a as b:"),
        (15, 13, "c()"),
        (16, 0, None),
    ],
)
def test_innermost_statement_is_given_without_its_formatting(line: int, column: int, normal: str | None) -> None:
    found = NormalStatements(SOURCE).at(line, column)
    assert (found and found.strip()) == normal


def test_long_statements_are_cut() -> None:
    source = "f(" + ", ".join(["argument"] * 50) + ")"
    assert NormalStatements(source).at(1, 0) == source[:200]


def test_source_that_is_wrong_has_no_statements() -> None:
    assert NormalStatements("x = (").at(1, 0) is None
