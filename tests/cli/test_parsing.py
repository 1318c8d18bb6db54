"""Usual command lines are parsed without typer, with the same result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomsan.cli import typer_app
from atomsan.cli.arguments import arguments_of
from atomsan.cli.main import VERBS
from atomsan.cli.option_help import negation
from atomsan.cli.parsing import parsed, with_separator
from atomsan.config.table import OPTIONS, options_of

Given = dict[str, Any]

# Words of every kind that a command line can have: options of all verbs, right and wrong spellings, values, files.
SPELLINGS = [
    spelling
    for option in OPTIONS
    for spelling in (option.flag, option.short, negation(option), f"{option.flag}=1", f"{option.short}x")
    if spelling not in ("", "x")
]
WORDS = st.one_of(
    st.sampled_from(SPELLINGS),
    st.sampled_from(["t.std", "1", "-", "--", "", "-5", "--help", "-h", "--frob", "-qf", "a b", "--=", "-q"]),
)


def by_typer(words: list[str]) -> Given | None:
    """The values that typer passes to a verb. None: it refuses the command line, or shows the help."""
    called: list[Given] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer_app, "call", lambda verb, given: called.append(given) or 0)
        try:
            typer_app.application()(args=words, prog_name="atomsan", standalone_mode=False)
        except typer_app.USAGE_ERROR:
            return None
    return called[0] if called else None


def without_help(given: Given) -> Given:
    return {name: value for name, value in given.items() if name != "help"}


def as_values(given: Given, verb: str) -> Given:
    """None and an empty list are the same for a repeatable option."""
    repeated = {row.name for row in (*arguments_of(verb).values(), *options_of(verb).values()) if row.repeated}
    return {name: list(value or ()) if name in repeated else value for name, value in given.items()}


def read_alike(verb: str, words: list[str]) -> bool:
    """Whether it is parsed without typer; if so, typer must give the same values."""
    verb, *rest = with_separator([verb, *words])
    plainly = parsed(verb, rest)
    if plainly is None:
        return False
    by = by_typer([verb, *rest])
    assert by is not None, f"typer refuses {verb} {rest}"
    assert as_values(plainly, verb) == as_values(without_help(by), verb)
    return True


@settings(max_examples=600, deadline=None)
@given(verb=st.sampled_from(list(VERBS)), words=st.lists(WORDS, max_size=5))
def test_typer_parses_any_words_alike(verb: str, words: list[str]) -> None:
    read_alike(verb, words)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_typer_parses_options_of_the_verb_alike(data: st.DataObject) -> None:
    verb = data.draw(st.sampled_from(list(VERBS)))
    options = list(options_of(verb).values())
    words = []
    for option in data.draw(st.lists(st.sampled_from(options), max_size=6)) if options else ():
        words.append(data.draw(st.sampled_from([option.flag, option.short or option.flag])))
        if not option.is_switch:
            words.append(data.draw(st.sampled_from(["1", "x.json", "", "-", "a b"])))
    words += data.draw(st.lists(st.sampled_from(["t.std", "out.std", "", "-"]), max_size=3))
    read_alike(verb, words)


def usual() -> list[list[str]]:
    examples = [
        [verb, *option.example.split()] for option in OPTIONS for verb in option.verbs if '"' not in option.example
    ]
    return [
        *(example + ["t.std", "u.std"][: len(arguments_of(example[0])) or 0] for example in examples),
        ["run", "app.py"],
        ["run", "-q", "--noise", "--seed", "7", "app.py", "--quiet", "-m", "--", "x"],
        ["run", "-m", "package.server", "--port", "80"],
        ["run", "-c", "import app", "x"],
        ["record", "--no-redact-keys", "-o", "t.atomtrace", "--", "app.py", "-h"],
        ["check", "a.std", "--quiet", "b.std"],
        ["check", "--", "-odd.std"],
        ["check", "--format=json", "-o", "-", "a.std"],
        ["convert", "-", "-"],
        ["algorithms"],
        ["debug"],
    ]


@pytest.mark.parametrize("words", usual(), ids=" ".join)
def test_usual_command_lines_are_parsed_without_typer(words: list[str]) -> None:
    assert read_alike(words[0], words[1:])


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--help"],
        ["run", "--frob", "app.py"],
        ["run", "--seed"],
        ["run", "--seed", "--noise", "app.py"],
        ["check"],
        ["stats", "a.std", "b.std"],
        ["convert", "a.std"],
        ["check", "-qx", "a.std"],
        ["check", "--quiet=1", "a.std"],
        ["check", "-o=x.json", "a.std"],
    ],
    ids=" ".join,
)
def test_wrong_or_unusual_command_lines_are_left_to_typer(words: list[str]) -> None:
    verb, *rest = with_separator(words)
    assert parsed(verb, rest) is None
