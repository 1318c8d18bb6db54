"""Converts STD text, the one-line notation, or an `atomsan.Trace` to the oracles' steps."""

from __future__ import annotations

from typing import Any

from oracles.model import Step

_STD_WORDS = {"r": "read", "w": "write", "acq": "acquire", "rel": "release"}


def parse_std(text: str) -> list[Step]:
    return [_step(*line.split("|")[:2]) for line in text.splitlines() if line.strip()]


def notation(text: str) -> list[Step]:
    """For example `T1:begin T1:r(x) T2:w(x) T1:end`."""
    return [_step(*word.split(":", 1)) for word in text.split()]


def _step(thread: str, operation: str) -> Step:
    word, bracket, rest = operation.partition("(")
    target = rest[: rest.rindex(")")] if bracket else ""
    return Step(thread, _STD_WORDS.get(word, word), target)


def steps(trace: Any) -> list[Step]:
    """The steps of an `atomsan.Trace`."""
    return [Step(event.thread, event.op.word, event.target) for event in trace.events()]
