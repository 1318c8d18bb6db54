"""How an option is written in `--help` and in docs/cli.md."""

from __future__ import annotations

from atomsan.config.option import Option


def spelling(option: Option) -> str:
    """`-o, --output FILE`, `--lenient / --no-lenient`"""
    first = f"{option.short}, {option.flag}" if option.short else option.flag
    if option.is_switch:
        return f"{first} / {negation(option)}" if option.in_file else first
    return f"{first} {metavar(option)}"


def negation(option: Option) -> str:
    """The flag that turns a switch off."""
    return f"--no-{option.flag[2:]}"


def metavar(option: Option) -> str:
    return option.metavar or "|".join(option.choices)


def default(option: Option) -> str:
    if option.is_switch:
        return "on" if option.default else ""
    is_single = isinstance(option.default, str | int | float)
    return option.default_text or (str(option.default) if is_single else "")
