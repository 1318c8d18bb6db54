"""From a witness to sentences: each edge is checked against what it claims, then worded.

An edge that cannot be explained is a bug in a checker: it raises, in place of a report that nobody can follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from atomsan.findings.finding import ShownStep


class UnexplainedEdgeError(AssertionError):
    """A checker gave a witness with an edge that its two events do not bear out."""


class Rule(NamedTuple):
    """What an edge needs: the operations at its ends (None: any), and a sentence."""

    first: str | None
    second: str | None
    sentence: str


EDGES: dict[str, Rule] = {
    "write-read": Rule("write", "read", "{a} writes {x} ({at_a}), then {b} reads it ({at_b})."),
    "read-write": Rule("read", "write", "{a} reads {x} ({at_a}), then {b} writes it ({at_b})."),
    "write-write": Rule("write", "write", "{a} writes {x} ({at_a}), then {b} writes it again ({at_b})."),
    "lock": Rule("release", "acquire", "{a} releases {x} ({at_a}), then {b} acquires it ({at_b})."),
    "hand-over": Rule("post", "take", "{a} posts {x} ({at_a}), then {b} takes it ({at_b})."),
    "fork": Rule("fork", None, "{a} starts {b} ({at_a})."),
    "join": Rule(None, "join", "{b} waits for {a} to end ({at_b})."),
    "program-order": Rule(None, None, "{a} comes to {second} ({at_b}) after {first} ({at_a})."),
}


def sentence(step: ShownStep, next_step: ShownStep) -> str | None:
    """Why a step comes before the next. None where nothing needs saying: both are of one transaction."""
    rule = EDGES.get(step.edge)
    if rule is None or not _holds(rule, step, next_step):
        raise UnexplainedEdgeError(
            f"no {step.edge} edge leads from {_event(step)} (event {step.event})"
            f" to {_event(next_step)} (event {next_step.event})"
        )
    if step.edge == "program-order" and step.owner == next_step.owner:
        return None
    return rule.sentence.format(
        a=step.thread,
        b=next_step.thread,
        x=step.location,
        at_a=step.where,
        at_b=next_step.where,
        first=f"{step.op} {step.location}",
        second=f"{next_step.op} {next_step.location}",
    )


def sentences(steps: Sequence[ShownStep]) -> list[str]:
    """Why each step comes before the next, and the last before the first."""
    pairs = zip(steps, [*steps[1:], *steps[:1]], strict=True)
    return [text for step, next_step in pairs if (text := sentence(step, next_step))]


def hint(leaves: ShownStep, returns: ShownStep) -> str:
    """The span that should be one critical section."""
    first, last = sorted((leaves, returns), key=lambda step: step.event)
    a, b = first.site, last.site
    if a and b and a.file and a.file == b.file and a.line is not None and b.line is not None:
        low, high = sorted((a.line, b.line))
        span = f"{a.file}:{low}" if low == high else f"{a.file}, lines {low} to {high},"
    else:
        span = f"what {first.thread} does from {first.where} to {last.where}"
    return f"make {span} one critical section"


def _holds(rule: Rule, step: ShownStep, next_step: ShownStep) -> bool:
    if rule.first not in (None, step.op) or rule.second not in (None, next_step.op):
        return False
    if step.edge == "program-order":
        return step.thread == next_step.thread and (step.event <= next_step.event or step.owner == next_step.owner)
    if step.thread == next_step.thread or step.event >= next_step.event:
        return False
    if step.edge == "fork":
        return step.location == next_step.thread
    if step.edge == "join":
        return next_step.location == step.thread
    return step.target == next_step.target


def _event(step: ShownStep) -> str:
    return f"{step.thread}:{step.op}({step.location})"
