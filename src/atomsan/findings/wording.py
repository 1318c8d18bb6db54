"""Explanations and hints in English: a sentence for each edge of a witness, checked against its two events.

An edge that cannot be explained is a bug in a checker: it raises, in place of a report that nobody can follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from atomsan.findings.access_facts import ANY_KEY, PICKED_QUEUE, QUEUE, STRUCTURE
from atomsan.findings.advice import Advice, CycleAdvice
from atomsan.findings.finding import ShownStep
from atomsan.findings.patterns import PATTERNS, Pattern
from atomsan.findings.repair import Repair


class UnexplainedEdgeError(AssertionError):
    """A checker gave a witness with an edge that its two events do not bear out."""


class EdgeRule(NamedTuple):
    """What an edge needs: the operations at its ends (None: any), and a sentence."""

    first: str | None
    second: str | None
    sentence: str


EDGES: dict[str, EdgeRule] = {
    "write-read": EdgeRule("write", "read", "{a} writes {x} ({at_a}), then {b} reads it ({at_b})."),
    "read-write": EdgeRule("read", "write", "{a} reads {x} ({at_a}), then {b} writes it ({at_b})."),
    "write-write": EdgeRule("write", "write", "{a} writes {x} ({at_a}), then {b} writes it again ({at_b})."),
    "lock": EdgeRule("release", "acquire", "{a} releases {x} ({at_a}), then {b} acquires it ({at_b})."),
    "hand-over": EdgeRule("post", "take", "{a} posts {x} ({at_a}), then {b} takes it ({at_b})."),
    "fork": EdgeRule("fork", None, "{a} starts {b} ({at_a})."),
    "join": EdgeRule(None, "join", "{b} waits for {a} to end ({at_b})."),
    "program-order": EdgeRule(None, None, "{a} comes to {second} ({at_b}) after {first} ({at_a})."),
}
# Two steps of one transaction, in the order of the cycle and not of time.
_EARLIER = "{a} came to {second} ({at_b}) already before {first} ({at_a})."


_AT_QUEUE = {"put": "puts into", "put_nowait": "puts into", "get": "takes from", "get_nowait": "takes from"}
_COUNTS = {3: "three", 4: "four", 5: "five"}


def sentence(step: ShownStep, next_step: ShownStep) -> str | None:
    """Why a step comes before the next. None where nothing needs saying: both are of one transaction, as in time."""
    rule = EDGES.get(step.edge)
    if rule is None or not _holds(rule, step, next_step):
        raise UnexplainedEdgeError(
            f"no {step.edge} edge leads from {_event(step)} (event {step.event})"
            f" to {_event(next_step)} (event {next_step.event})"
        )
    is_inside = step.edge == "program-order" and step.owner == next_step.owner
    if is_inside and step.when <= next_step.when:
        return None
    return (_EARLIER if is_inside else rule.sentence).format(
        a=step.thread,
        b=next_step.thread,
        x=step.location,
        at_a=step.where,
        at_b=next_step.where,
        first=f"{step.op} {step.location}",
        second=f"{next_step.op} {next_step.location}",
    )


def sentences(steps: Sequence[ShownStep]) -> list[str]:
    """Why each step comes before the next, and the last before the first.

    That the transaction which the cycle comes back to went on meanwhile goes without saying.
    """
    pairs = list(zip(steps, [*steps[1:], *steps[:1]], strict=True))
    texts = [sentence(step, next_step) for step, next_step in pairs]
    if steps and steps[-1].owner == steps[0].owner:
        texts.pop()
    return [text for text in texts if text]


def meaning(pattern: Pattern, steps: Sequence[ShownStep], span: tuple[int, int], *, is_made: bool = False) -> str:
    """What a violation comes to. `span`: the steps that leave the transaction to blame and come back to it.

    `is_made`: whether what it writes is made of what it read.
    """
    out, back = span
    leaves, returns = steps[out], steps[back]
    between = [steps[(out + 1 + i) % len(steps)] for i in range((back - out - 1) % len(steps))]
    others = list(dict.fromkeys(step.thread for step in between))
    # a cycle does not follow the time: what its order says is in between may have been before both
    meanwhile = [step for step in between if leaves.when < step.when < returns.when]
    fitting = [step for step in meanwhile if step.op in pattern.between and step.target == returns.target]
    other = next(iter(fitting), between[0])
    is_in_between = bool(fitting) if pattern.same_location else other in meanwhile
    row = pattern if is_in_between or pattern.is_of_order else PATTERNS[-1]
    text = row.meaning_of_more if len(others) > 1 and row.meaning_of_more else row.meaning
    return (row.meaning_if_made if is_made and row.meaning_if_made else text).format(
        thread=leaves.thread,
        other=other.thread,
        does=_does(leaves),
        does_later=_does(returns),
        does_between=_does(other),
        others=f"{', '.join(others[:-1])} and {others[-1]}",
        count=_COUNTS.get(len(others) + 1, str(len(others) + 1)),
        location=returns.location,
        left=leaves.location,
    )


def _does(step: ShownStep) -> str:
    """A word for what a step does to its location: one that takes an item out of a queue overwrites nothing."""
    if step.op != "write":
        return f"{step.op}s"
    if step.field in (QUEUE, PICKED_QUEUE):
        return _AT_QUEUE.get(step.operation or "", "changes")
    return "changes" if step.field in (STRUCTURE, ANY_KEY) else "writes"


def hint(advice: Advice) -> str:
    """Which lock is held at some of the steps and not at others, and what should be one critical section."""
    first, last = advice.first, advice.last
    if advice.waits:
        return (
            f"{last.thread} waits for another thread at {_at(last)}, and no lock makes that one step:"
            " end the region before it, or do not call it atomic"
        )
    if not advice.is_known:
        return f"make {_span(first, last)} one critical section"
    if advice.lock is None:
        elsewhere = [_at(step) for step in advice.missing if not _is_inside(step, first, last)]
        return f"no lock is held at any of these steps: hold one lock over {_span(first, last)}{_and_at(elsewhere)}"
    return f"{advice.lock} is {_hint_for_lock(advice)}"


def _hint_for_lock(advice: Advice) -> str:
    """What is to be said of the lock that is held at some of the steps."""
    first, last = advice.first, advice.last
    span = _span(first, last)
    rest = [_other(step, first, last) + _under(step) for step in advice.missing]
    at_first, at_last = advice.is_held_at(first), advice.is_held_at(last)
    if at_first and at_last and not advice.is_released:
        return f"held over {span}" + (f", and not at {' nor at '.join(rest)}: hold it there too" if rest else "")
    if at_first and at_last:
        return f"released {_between(first, last)}: hold it over both{_and_at(rest)}"
    if at_first or at_last:
        one = _at_one_of(first, last) if at_first else _at_one_of(last, first)
        return f"held {one}: hold it over both{_and_at(rest)}"
    held = " and at ".join(_other(step, first, last) for step in advice.others if advice.is_held_at(step))
    return f"held at {held}, and not {_at_neither(first, last)}: hold it over {span} too{_and_at(rest)}"


def hint_for_cycle(advice: CycleAdvice) -> str:
    """The same where nobody is to blame: each of the transactions is to be one critical section, of one lock."""
    parts = [f"over {_span(first, last)}" if first != last else f"at {_at(first)}" for first, last in advice.spans]
    where = ", and ".join(dict.fromkeys(parts))
    if not advice.is_known:
        return f"hold one lock {where}"
    if advice.common is not None:
        return f"{advice.common} is held at each of these steps, and released in between: hold it {where}"
    any_or_all = "all" if advice.is_any_held else "any"
    return f"no lock is held at {any_or_all} of these steps: hold one lock {where}"


def hint_for_repair(repair: Repair) -> str:
    """What to do, in the order in which one does it, and what to mind."""
    if repair.waits:
        return (
            f"the unit waits for another thread in between ({repair.waits}), and no lock makes that one step:"
            " look again after the wait at what was read before it, or end the region before the wait"
        )
    parts = [_what_to_hold(repair)]
    if repair.blocks:
        lines = ", ".join(map(str, repair.blocks))
        parts.append(f"the blocks of it at line {lines} become part of the new one")
    if repair.acquires:
        lines = ", ".join(map(str, repair.acquires))
        parts.append(
            f"it is taken at line {lines} of them: take it once, before the first, and let it go after the last"
        )
    if repair.reentered:
        parts.append(_reentry(repair))
    if repair.waits_held:
        parts.append(
            f"another thread is waited for with the lock held then, at {repair.waits_held}: what is waited for must not"
            " need the lock, or both wait forever"
        )
    if repair.order:
        parts.append(f"{repair.order} is taken inside and around it elsewhere: take {repair.order} first in both")
    if repair.calls:
        one = len(repair.calls) == 1
        parts.append(f"{_listed(repair.calls)} {'runs' if one else 'run'} under the lock then")
    if repair.yields:
        lines = f"line{'s' if len(repair.yields) > 1 else ''} {_listed([str(line) for line in repair.yields])}"
        parts.append(f"at the yield in {lines} the lock stays held while the caller runs")
    if repair.idiom:
        parts.append(f"or without a lock: {repair.idiom} does it in one step")
    if repair.is_partial:
        parts.append("only the latest events were looked at for other places that use the data: there may be more")
    return "; ".join(parts)


def _what_to_hold(repair: Repair) -> str:
    if repair.let_go:
        how = f"drop lines {' and '.join(map(str, repair.dropped))}" if repair.dropped else "do not let it go there"
        what = f"{repair.lock} is let go in between, at {repair.let_go}: {how},"
        what += " or look again afterwards at what was read before"
        return what + (f", and hold it over {_sections(repair)}" if repair.others else "")
    sections = _sections(repair)
    if repair.shared:
        return (
            f"several objects use {repair.shared}, each under its own {repair.lock}, which keeps nobody out: make"
            f" one lock for all of them (an attribute of the class, say) and hold that over {sections}, and wherever"
            " else it is used"
        )
    if repair.has_two_objects:
        return (
            f"the data of two objects is used together, and each has its own {repair.lock}: hold both over"
            f" {sections}, always in one order (by id(), say), and wherever else the two belong together"
        )
    if repair.new is not None:
        where = "at the top of the module"
        if repair.new.method:
            where = f"in {_function(repair.new.method)} (and in its `__slots__`, if the class has them)"
        return f"no lock fits: make one, `{repair.new.name} = {repair.new.made}` {where}, and hold it over {sections}"
    if not repair.sections:
        return f"{repair.lock} is held at each of these places in this run: look for another way to them"
    if repair.unit is None:
        return f"{repair.lock} is held by the unit, and not by others: hold it over {sections} too"
    return f"{repair.lock} is not held from the first step to the last: hold it over {sections}"


def _sections(repair: Repair) -> str:
    """The statements by files, and how to write it, once for those who write it alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for one in repair.sections:
        statement = "async with" if repair.is_task else "with"
        how = f"`{statement} {one.lock}:`" if one.lock else ""
        is_stuck = repair.is_task and not one.is_async
        through = f"in the coroutine that calls {one.function}" if is_stuck else ""
        if one.function.endswith("<lambda>"):
            how = "make the lambda a function for that"
        alike.setdefault((one.file, ", ".join(filter(None, (how, through)))), []).append(one.lines)
    parts = []
    for (file, how), lines in alike.items():
        parts.append(f"{' and '.join(dict.fromkeys(lines))} of {file}" + (f" ({how})" if how else ""))
    return ", and over ".join(parts)


def _reentry(repair: Repair) -> str:
    names = _listed(repair.reentered)
    take = "takes" if len(repair.reentered) == 1 else "take"
    done = f"{names} does" if take == "takes" else "they do"
    helpers = f"move what {done} under it to a function that expects it held"
    if repair.is_task:
        return f"{names} {take} it too and would wait forever: {helpers}"
    return f"{names} {take} it too, which deadlocks with a plain Lock: make it an RLock, or {helpers}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _function(name: str | None) -> str:
    return (name or "").partition(":")[2]


def _span(first: ShownStep, last: ShownStep) -> str:
    if (lines := _lines(first, last)) is not None:
        file, low, high = lines
        return f"{file}:{low}" if low == high else f"lines {low} to {high} of {file}"
    if _line(first) and _line(last):
        return f"{_at(first)} to {_at(last)}"
    return f"what {first.thread} does from its {_done(first)} to its {_done(last)}"


def _between(first: ShownStep, last: ShownStep) -> str:
    if _at(first) != _at(last):
        return f"between {_at(first)} and {_at(last)}"
    if _what(first) != _what(last):
        return f"between {_what(first)} and {_what(last)} at {_at(first)}"
    return f"between two passes through {_at(first)}"


def _at_one_of(under: ShownStep, free: ShownStep) -> str:
    if _at(under) != _at(free):
        return f"at {_at(under)} and not at {_at(free)}"
    if _what(under) != _what(free):
        return f"at {_what(under)} and not at {_what(free)} in {_at(under)}"
    return f"at one pass through {_at(under)} and not at another"


def _at_neither(first: ShownStep, last: ShownStep) -> str:
    return f"at {_at(first)}" if _at(first) == _at(last) else f"at {_at(first)} nor at {_at(last)}"


def _at(step: ShownStep) -> str:
    """A step in a hint: by its line, or by what it does."""
    return str(step.site) if _line(step) else f"{step.thread}'s {_done(step)}"


def _other(step: ShownStep, first: ShownStep, last: ShownStep) -> str:
    """A step of another thread. It can be in the same lines as the two."""
    return f"{_at(step)} in {step.thread}" if _is_inside(step, first, last) else _at(step)


def _under(step: ShownStep) -> str:
    return f" (under {', '.join(step.locks)})" if step.locks else ""


def _done(step: ShownStep) -> str:
    return f"{_what(step)} (event {step.event})"


def _what(step: ShownStep) -> str:
    return f"{step.op} of {step.location}"


def _line(step: ShownStep) -> tuple[str, int] | None:
    site = step.site
    return (site.file, site.line) if site and site.file is not None and site.line is not None else None


def _lines(first: ShownStep, last: ShownStep) -> tuple[str, int, int] | None:
    """File, first and last line of two steps, if they are in one file."""
    a, b = _line(first), _line(last)
    if a is None or b is None or a[0] != b[0]:
        return None
    return a[0], min(a[1], b[1]), max(a[1], b[1])


def _is_inside(step: ShownStep, first: ShownStep, last: ShownStep) -> bool:
    """Another thread's step in the very lines: what is said of these holds for it too."""
    at, lines = _line(step), _lines(first, last)
    return at is not None and lines is not None and at[0] == lines[0] and lines[1] <= at[1] <= lines[2]


def _and_at(places: Sequence[str]) -> str:
    return "".join(f", and at {place}" for place in dict.fromkeys(places))


def _holds(rule: EdgeRule, step: ShownStep, next_step: ShownStep) -> bool:
    if rule.first not in (None, step.op) or rule.second not in (None, next_step.op):
        return False
    if step.edge == "program-order":
        return step.thread == next_step.thread and (step.when <= next_step.when or step.owner == next_step.owner)
    if step.thread == next_step.thread or step.when >= next_step.when:
        return False
    if step.edge == "fork":
        return step.location == next_step.thread
    if step.edge == "join":
        return next_step.location == step.thread
    return step.target == next_step.target


def _event(step: ShownStep) -> str:
    return f"{step.thread}:{step.op}({step.location})"
