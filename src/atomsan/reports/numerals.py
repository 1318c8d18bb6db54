"""Formats numbers and counts for people: `1,234 events`, `once`."""

from __future__ import annotations


def number(count: int) -> str:
    """`1,234,567`"""
    return f"{count:,}"


def counted(count: int, noun: str) -> str:
    """`1 event`, `1,234 events`, `2 matches`, `3 entries`, `2 ways`"""
    if noun.endswith("y") and noun[-2:-1] not in "aeou":
        return f"{number(count)} {noun if count == 1 else noun[:-1] + 'ies'}"
    plural = "es" if noun.endswith("ch") else "s"
    return f"{number(count)} {noun}{plural * (count != 1)}"


def times(count: int) -> str:
    """`once`, `2 times`"""
    return "once" if count == 1 else f"{number(count)} times"
