"""Parses the command lines that are correct and written in the usual way, without typer.

Importing typer (0.05 s) takes longer than many programs run. It is needed for help, and for command lines that are
wrong or written in an unusual way; a test compares the two on all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from atomsan.cli.arguments import arguments_of
from atomsan.cli.option_help import negation
from atomsan.config.option import Option
from atomsan.config.table import options_of


def with_separator(arguments: Sequence[str]) -> list[str]:
    """The command line with `--` before the program's own part, if the verb runs a program.

    That part starts with the first word that is not an option, or after the value of `-m` or `-c`.
    """
    verb, *rest = arguments or ("",)
    if "program" not in arguments_of(verb):
        return list(arguments)
    takes_value = {
        name for option in options_of(verb).values() if not option.is_switch for name in (option.flag, option.short)
    }
    at = 0
    while at < len(rest) and rest[at] != "--":
        word = rest[at]
        if not word.startswith("-") or word == "-":
            break
        if word[:2] in ("-m", "-c") or word in ("--module", "--code") or word.startswith(("--module=", "--code=")):
            at += 2 if word in ("-m", "-c", "--module", "--code") else 1
            break
        at += 2 if word in takes_value else 1
    return [verb, *rest[:at], *([] if rest[at : at + 1] == ["--"] else ["--"]), *rest[at:]]


def parsed(verb: str, words: Sequence[str]) -> dict[str, Any] | None:
    """The value of each option (None: not there) and argument of a verb. None: typer has to parse this."""
    options = options_of(verb).values()
    valued = {name: option for option in options if not option.is_switch for name in (option.flag, option.short)}
    switches = {name: (option, value) for option in options if option.is_switch for name, value in _switches(option)}
    given: dict[str, Any] = {option.name: None for option in options}
    free: list[str] = []
    left = iter(words)
    for word in left:
        name, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "--":
            free += left
        elif not word.startswith("-") or word == "-":
            free.append(word)
        elif word in switches:
            option, is_on = switches[word]
            given[option.name] = is_on
        elif name in valued:
            if not has_value:
                value = next(left, "--")
                if value.startswith("-") and value != "-":
                    return None
            option = valued[name]
            given[option.name] = [*(given[option.name] or ()), value] if option.repeated else value
        else:
            return None
    for argument in arguments_of(verb).values():
        if argument.required and not free:
            return None
        given[argument.name], free = (free, []) if argument.repeated else (free[0], free[1:])
    return None if free else given


def _switches(option: Option) -> Iterator[tuple[str, bool]]:
    """The flags of a switch, each with its value."""
    yield option.flag, True
    yield option.short, True
    if option.in_file:
        yield negation(option), False
