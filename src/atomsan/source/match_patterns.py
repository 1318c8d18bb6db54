"""Patterns of `match` as data: what the interpreter reads while it matches, for the probe of the subject.

A pattern can hold no probe: the interpreter reads attributes and elements by itself. So the probe of the subject
follows the patterns before it does (`probes/patterns.pxi`), by this form of them, and logs what it is about to read:

    ()                                        whatever it is, for a name
    ("_",)                                    whatever it is
    ("is", None)                              None, True or False
    ("equals", 5)                             a literal
    ("equal to", ("State", "OPEN"))           the value of a dotted name
    ("or", pattern, ...)
    ("class", ("Account",), (name, row, pattern), ...)       name is None: the next one of `__match_args__`
    ("mapping", (key, row, pattern), ..., row of the rest or None)     key is a pattern that equals
    ("sequence", row, how, (pattern, ...), (pattern, ...))              before and behind the star
    ("unknown",)                              nobody can tell without running code

A sequence is read as the compiler decides: "unpack", "subscript" (the rest is `*_`), "length" (only wildcards), each
with "least" behind it if there is a star; or "nothing". A row is the number of a probe that stands for one read,
counted from that of the subject. All patterns, and the number of rows, are the `step` of the subject's probe.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

Pattern = tuple[Any, ...]
# Makes the row of a read: of an attribute by its name, `{}` an element, `**` the rest, `[]` a sequence; at a pattern.
MakeRow = Callable[[str, ast.pattern, int], int]
# The parts of the dotted name of a global or of what is inside it; None: it is none.
NameOf = Callable[[ast.expr], tuple[str, ...] | None]

ANYTHING: Pattern = ()
WILDCARD: Pattern = ("_",)
UNKNOWN: Pattern = ("unknown",)

SUBJECT, ELEMENT = 0, -1
"""What an attribute or element is of, if not of what was read by a row: the subject, or an element of a container."""


def reads(node: ast.AST) -> bool:
    """Whether something is read for a pattern."""
    if isinstance(node, ast.MatchClass):
        return bool(node.patterns or node.kwd_patterns)
    if isinstance(node, ast.MatchMapping):
        return bool(node.keys) or node.rest is not None
    if isinstance(node, ast.MatchSequence):
        return True
    if isinstance(node, ast.MatchAs):
        return node.pattern is not None and reads(node.pattern)
    return isinstance(node, ast.MatchOr) and any(map(reads, node.patterns))


class PatternForms:
    """Makes the forms of the patterns of one statement.

    `make_row` is given the row of the attribute in which it is read; or SUBJECT, or ELEMENT.
    """

    def __init__(self, make_row: MakeRow, name_of: NameOf) -> None:
        self._make_row = make_row
        self._name_of = name_of

    def form(self, node: ast.pattern, inside: int = SUBJECT) -> Pattern:
        if _is_wildcard(node):
            return WILDCARD
        if isinstance(node, ast.MatchAs):
            return ANYTHING if node.pattern is None else self.form(node.pattern, inside)
        if isinstance(node, ast.MatchSingleton):
            return ("is", node.value)
        if isinstance(node, ast.MatchValue):
            return self._value(node.value)
        if isinstance(node, ast.MatchOr):
            return ("or", *(self.form(part, inside) for part in node.patterns))
        if isinstance(node, ast.MatchClass):
            return self._class(node, inside)
        if isinstance(node, ast.MatchMapping):
            return self._mapping(node, inside)
        assert isinstance(node, ast.MatchSequence)
        return self._sequence(node, inside)

    def _value(self, node: ast.expr) -> Pattern:
        if isinstance(node, ast.Attribute):
            name = self._name_of(node)
            return UNKNOWN if name is None else ("equal to", name)
        try:
            value = ast.literal_eval(node)
            return ("equals", value) if ast.literal_eval(repr(value)) == value else UNKNOWN
        except ValueError:
            return UNKNOWN  # text with values in it, or a number that is written like none (1e999)

    def _class(self, node: ast.MatchClass, inside: int) -> Pattern:
        name = self._name_of(node.cls)
        given: list[tuple[str | None, ast.pattern]] = [(None, part) for part in node.patterns]
        given += zip(node.kwd_attrs, node.kwd_patterns, strict=True)
        parts = []
        for attribute, part in given:
            row = self._make_row(attribute or "", part, inside)
            parts.append((attribute, row, self.form(part, row)))
        return UNKNOWN if name is None else ("class", name, *parts)

    def _mapping(self, node: ast.MatchMapping, inside: int) -> Pattern:
        parts = []
        for key, part in zip(node.keys, node.patterns, strict=True):
            row = self._make_row("{}", part, inside)
            parts.append((self._value(key), row, self.form(part, ELEMENT)))
        return ("mapping", *parts, None if node.rest is None else self._make_row("**", node, inside))

    def _sequence(self, node: ast.MatchSequence, inside: int) -> Pattern:
        row = self._make_row("[]", node, inside)
        stars = [at for at, part in enumerate(node.patterns) if isinstance(part, ast.MatchStar)]
        end = stars[0] if stars else len(node.patterns)
        before = tuple(self.form(part, ELEMENT) for part in node.patterns[:end])
        after = tuple(self.form(part, ELEMENT) for part in node.patterns[end + 1 :])
        return ("sequence", row, _how_read(node.patterns, stars), before, after)


def _how_read(patterns: Sequence[ast.pattern], stars: Sequence[int]) -> str:
    if all(map(_is_wildcard, patterns)):
        return "length" if not stars else "length least" if len(patterns) > 1 else "nothing"
    if not stars:
        return "unpack"
    return "subscript least" if _is_wildcard(patterns[stars[0]]) else "unpack least"


def _is_wildcard(node: ast.pattern) -> bool:
    if isinstance(node, ast.MatchAs):
        return node.pattern is None and node.name is None
    return isinstance(node, ast.MatchStar) and node.name is None
