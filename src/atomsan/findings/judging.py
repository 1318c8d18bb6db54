"""Judging: which violations of a recorded program are findings, and which are notes, each with the reason.

In a trace of another tool and in regions that the user marked, every violation is a finding: these are the papers'
rules. In regions that AtomSan chose itself a violation is a finding if data can be seen or left inconsistent.

One stage: `judge` takes the violations of every checker and the evidence, and gives findings and notes. A violation is
judged by its steps alone first, then by what is around them, where that is known: the regions that are open and the
locks that are held. Both look at the *turns* of the cycle: where it enters a transaction later than it leaves it.
Another transaction came in between there, and nowhere else; a cycle has at least one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from atomsan.findings.finding import merge_findings
from atomsan.findings.making import placed_in
from atomsan.findings.reasons import (
    ACROSS,
    CALLED_BACK,
    CHECKED_AGAIN,
    COMMUTES,
    LET_IN,
    NO_FLOW,
    NOBODY,
    ORDER_ONLY,
    PHASES,
    UNDECIDED,
    WHOLE,
)
from atomsan.findings.surroundings import ConditionRead, EnclosingRegion, RepeatedRead, Surroundings, innermost
from atomsan.source.effects import MAKES_KEY, MAKES_PLACE, commute, commute_on_element
from atomsan.trace.regions import WITHIN_FUNCTION

if TYPE_CHECKING:
    from atomsan.findings.finding import Finding, ShownStep

    Apart = Callable[[ShownStep, ShownStep], bool]

# Names of fields that the recorder gives to what is not one element of a container.
STRUCTURE = "<structure>"
QUEUE = "<queue>"
ANY_KEY = "<any key>"
ELEMENT = "[...]"

# Access and access: the orders that data makes.
_DATA = frozenset({"read", "write"})
_PROGRAM_ORDER = "program-order"
_LOOKS = ("if ", "elif ", "while ")


class Turn(NamedTuple):
    """A transaction that a cycle enters later than it leaves it, and the steps of others before and after."""

    before: ShownStep
    enters: ShownStep
    leaves: ShownStep
    after: ShownStep


def of_different_objects(one: ShownStep, other: ShownStep) -> bool:
    """Whether two accesses are in no set together, as far as the steps know: as a rule, each object is a set."""
    return one.data != other.data and not one.shares(other)


@dataclass(frozen=True, kw_only=True)
class Violations:
    """What was found in a trace, before anybody said what counts."""

    of_transactions: Sequence[Finding] = ()
    """By whole transactions: their order follows from accesses, locks, threads and hand-overs."""
    of_sets: Sequence[Finding] = ()
    """By data alone, in the units of work on one atomic set."""
    of_all_data: Sequence[Finding] = ()
    """By data alone, with all data taken for one set."""

    def __iter__(self) -> Iterator[Finding]:
        return chain(self.of_sets, self.of_all_data, self.of_transactions)

    def changed(self, change: Callable[[Sequence[Finding]], Sequence[Finding]]) -> Violations:
        """The same, with something done to the findings of each kind."""
        return Violations(
            of_transactions=change(self.of_transactions),
            of_sets=change(self.of_sets),
            of_all_data=change(self.of_all_data),
        )


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What violations are judged by."""

    is_ours: Callable[[str], bool] | None = None
    """Whether AtomSan chose the region of this name, and not the user. None: it chose none, so that everything counts,
    as in a trace of another tool."""
    are_apart: Apart = of_different_objects
    """Whether two accesses are in no atomic set together."""
    shows_all: bool = True
    """Whether the checkers showed every violation. If not, those of transactions are not judged by their steps."""
    is_settled: bool = True
    """Off where the check of the sets was stopped: what it did not come to counts if its steps alone say so, and is
    undecided otherwise."""
    around: Surroundings | None = None
    """What is around the steps, where a second pass was made for it."""


def judge(violations: Violations, evidence: Evidence) -> list[Finding]:
    """The findings, then the notes, which have a `why`."""
    judged = _judged_by_steps(violations, evidence)
    return judged if evidence.around is None else _judged_by_surroundings(judged, evidence, evidence.around)


def with_marked(marked: Sequence[Finding], judged: Sequence[Finding], *, is_stopped: bool) -> list[Finding]:
    """What was found in the regions that the user marked, and what was judged beside it.

    If the check was stopped, there was no last word on the notes: none of them is known to be one.
    """
    known = {finding.id for finding in marked}
    rest = [finding for finding in judged if finding.id not in known]
    if is_stopped:
        rest = [finding if finding.why is None else replace(finding, why=UNDECIDED) for finding in rest]
    return [*marked, *rest]


def condition_reads(finding: Finding) -> list[ConditionRead]:
    """Where it matters whether something is read again: the second pass is asked for it."""
    turns = [turn for turn in _turns(finding) if turn.leaves.op == "read" and _may_look(_text(turn.leaves))]
    return [ConditionRead(turn.leaves.number, turn.leaves.target, turn.enters.number) for turn in turns]


def _judged_by_steps(violations: Violations, evidence: Evidence) -> list[Finding]:
    if evidence.is_ours is None:
        return list(violations)
    judged = [_judged_on_data(finding, evidence) for finding in violations.of_sets]
    if not violations.of_transactions:
        return judged
    known = {finding.id for finding in (*violations.of_sets, *violations.of_transactions)}
    across = (_judged_on_data(finding, evidence) for finding in violations.of_all_data)
    judged += [finding for finding in across if finding.why == ACROSS and finding.id not in known]
    seen = {finding.id for finding in judged}
    for finding in violations.of_transactions:
        if not evidence.is_ours(finding.region) or not evidence.shows_all:
            judged.append(finding)
        elif finding.id not in seen:
            judged.append(replace(finding, why=_why_not_by_transactions(finding, evidence)))
    findings = [finding for finding in judged if finding.why is None]
    notes = [finding for finding in judged if finding.why is not None]
    return [*_in_order(findings), *_in_order(notes)]


def _judged_on_data(finding: Finding, evidence: Evidence) -> Finding:
    return replace(finding, why=_why_not(finding, evidence.are_apart))


def _why_not_by_transactions(finding: Finding, evidence: Evidence) -> str | None:
    """Why a violation that no atomic set shows is no finding, if it is none."""
    if evidence.is_settled:
        return (_why_no_cycle if finding.kind == "cycle" else _why_no_set)(finding, evidence.are_apart)
    return None if is_of_data(finding) and _why_not(finding, evidence.are_apart) is None else UNDECIDED


def _judged_by_surroundings(judged: Sequence[Finding], evidence: Evidence, around: Surroundings) -> list[Finding]:
    """The findings in the smallest region that has both accesses, and among the notes if the surroundings say so.

    A violation that is seen in several ways is a finding if one of them is.
    """
    found: list[Finding] = []
    notes: list[Finding] = []
    for finding in judged:
        is_ours = evidence.is_ours is not None and evidence.is_ours(finding.region)
        reconsidered = _reconsidered(finding, around) if is_ours else finding
        region = innermost(finding, around.regions)
        placed = reconsidered if region is None else placed_in(reconsidered, region)
        (found if placed.why is None else notes).append(placed)
    ids = {finding.id for finding in found}
    return [*merge_findings(found), *merge_findings(note for note in notes if note.id not in ids)]


def _reconsidered(finding: Finding, surroundings: Surroundings) -> Finding:
    """The same, with what is known of its steps by now: which regions are open there, and which locks are held."""
    if finding.why is not None:
        return finding
    around = surroundings.regions
    for turn in _turns(finding):
        if _is_called_back_between(turn, around):
            return replace(finding, why=CALLED_BACK)
        if not _is_unit_of_work(turn, around):
            return replace(finding, why=NO_FLOW)
        if _is_checked_again(turn, around, surroundings.again):
            return replace(finding, why=CHECKED_AGAIN)
        if _lets_others_in(turn, around):
            return replace(finding, why=LET_IN)
    return finding


def _why_no_set(finding: Finding, are_apart: Apart) -> str:
    """Why a violation that is inside no set is none that counts."""
    if not is_of_data(finding):
        return ORDER_ONLY
    return _why_not(finding, are_apart) or NO_FLOW


def _why_no_cycle(finding: Finding, are_apart: Apart) -> str | None:
    """A cycle that nobody is to blame for alone counts too, if it is one of data: each saw what the others undid."""
    if not is_of_data(finding):
        return NOBODY
    return _why_not(finding, are_apart)


def is_of_data(finding: Finding) -> bool:
    """Whether it is shown by accesses alone, without the order of locks, threads or hand-overs."""
    return bool(finding.witness) and all(step.op in _DATA for step in finding.witness)


def _why_not(finding: Finding, are_apart: Apart) -> str | None:
    """Why a violation on data is no finding, if it is none."""
    turns = _turns(finding)
    if _rests_on_what_commutes(finding, turns) or (turns and all(map(_is_sum, turns))):
        return COMMUTES
    if any(step.field == ANY_KEY for step in finding.witness):
        return WHOLE
    if turns and all(map(_is_phase, turns)):
        return PHASES
    if any(are_apart(turn.enters, turn.leaves) for turn in turns):
        return ACROSS
    return None


def _edges(finding: Finding) -> list[tuple[ShownStep, ShownStep]]:
    steps = finding.witness
    return [(step, steps[(i + 1) % len(steps)]) for i, step in enumerate(steps)]


def _turns(finding: Finding) -> list[Turn]:
    """Where the cycle enters a transaction later than it leaves it."""
    ways_in = [(one, other) for one, other in _edges(finding) if one.owner != other.owner]
    ways_out = [*ways_in[1:], *ways_in[:1]]
    turns = [Turn(*way_in, *way_out) for way_in, way_out in zip(ways_in, ways_out, strict=True)]
    return [turn for turn in turns if turn.enters.number > turn.leaves.number]


def _rests_on_what_commutes(finding: Finding, turns: Sequence[Turn]) -> bool:
    """Operations that commute order nobody, so no edge between them can be part of a cycle.

    But where something else of the same container was looked at in the same turn, the operation may rest on what was
    seen: `if len(items) < most: items.append(x)` is broken by another's append, though append commutes with append.
    """
    rest_on_a_look: set[tuple[int, int]] = set()
    commutes = partial(_commutes, kinds=_kinds(finding.witness))
    for before, enters, leaves, after in turns:
        if enters.object == leaves.object and not (commutes(before, enters) and commutes(leaves, after)):
            rest_on_a_look |= {(before.number, enters.number), (leaves.number, after.number)}
    return any(
        commutes(one, other) and (one.number, other.number) not in rest_on_a_look
        for one, other in _edges(finding)
        if one.owner != other.owner and one.edge != _PROGRAM_ORDER
    )


class Kinds(NamedTuple):
    """The containers of a witness of which its steps show what they are."""

    mappings: frozenset[str | None]
    lists: frozenset[str | None]


def _kinds(steps: Sequence[ShownStep]) -> Kinds:
    # a store to an element of a list is not one to its structure
    mappings = {step.object for step in steps if step.operation in MAKES_KEY and step.field == STRUCTURE}
    lists = {step.object for step in steps if step.operation in MAKES_PLACE}
    return Kinds(frozenset(mappings), frozenset(lists))


def _commutes(one: ShownStep, other: ShownStep, kinds: Kinds) -> bool:
    """Whether two accesses of one location, by two operations, can change places.

    A queue is there for several to put and to get: who puts or gets first decides who has which item, and that is what
    everybody who uses a queue leaves open. A look at it (`empty`, `qsize`) is another matter. That a key comes or goes
    is nothing to the other keys of its container: what happens to the same key is seen at its element.
    """
    if one.field != other.field or not {one.op, other.op} <= _DATA:
        return False
    if one.field == QUEUE:
        return one.op == other.op == "write"
    if one.field == STRUCTURE:
        return commute(one.operation or "", other.operation or "", is_mapping=one.object in kinds.mappings)
    return one.field == ELEMENT and commute_on_element(
        one.operation or "", other.operation or "", is_list=one.object in kinds.lists
    )


def _is_sum(turn: Turn) -> bool:
    """Whether others only add to what the region adds to: `self.active += 1; work(); self.active -= 1`.

    The sum is the same in every order. Where one of them came in between the reading and the writing of one addition,
    there is another turn, which leaves by that read, and is none.
    """
    is_one = len({step.target for step in turn}) == 1
    return is_one and turn.leaves.op == "write" and all(_adds(step) for step in turn)


def _adds(step: ShownStep) -> bool:
    """Whether something is added to the location there, or taken off it."""
    added_to, sign, _ = _text(step).replace("-=", "+=").partition("+=")
    return bool(sign and step.field) and re.search(rf"\b{re.escape(step.field or '')}\s*$", added_to) is not None


def _is_phase(turn: Turn) -> bool:
    """Whether another only looks at what is set to one constant after the other: `job.phase = "loading"`."""
    steps = (turn.leaves, turn.enters)
    is_seen = turn.before.op == turn.after.op == "read" and turn.before.target == turn.after.target
    is_one = turn.leaves.target == turn.enters.target == turn.after.target
    return is_seen and is_one and all(step.op == "write" and _sets_constant(step) for step in steps)


# What is assigned to a field is a text, a number, a name in capitals (one of an enumeration too), True, False or None.
_CONSTANT = re.compile(
    r"""^\s*[\w.]+\s*=\s*(?:["'][^"']*["']|-?[\d._]+|(?:\w+\.)*[A-Z][A-Z0-9_]*|True|False|None)\s*(?:#.*)?$"""
)


def _sets_constant(step: ShownStep) -> bool:
    return _CONSTANT.match(_text(step)) is not None


def _is_unit_of_work(turn: Turn, around: Mapping[int, Sequence[EnclosingRegion]]) -> bool:
    """Whether the innermost region around both accesses is meant as one step on the object (docs/specification.md).

    It is if its own code touches the object, if it is a method of the object, or if what one call on it has read goes
    into a later one. Otherwise it calls two methods, each of which is a step, and nothing ties the two together. Nor
    does what one call took out and returns: nobody else can have it any more (`job = jobs.get(); ...; jobs.done(job)`).
    """
    first, last = (_functions(around.get(step.number, ())) for step in (turn.leaves, turn.enters))
    common = [one for one, other in zip(first, last, strict=False) if one == other]
    if not common:
        return True  # not known, or not a place that we chose
    unit = common[-1]
    ends = ((first[-1], turn.leaves), (last[-1], turn.enters))
    if any(unit == region and _is_code_of(region, step) for region, step in ends):
        return True
    if unit.is_unit or (unit.has_flow and turn.leaves.op == "read"):
        return True
    called = {region.name.rpartition(".")[2] for way in (first, last) for region in way[len(common) :][:1]}
    if called in unit.between and turn.leaves.op == "read":
        return True
    of_class = unit.name.partition(":")[2].rpartition(".")[0]
    if not of_class:
        return False
    if any(of_class in one.classes for one in turn.enters.shares(turn.leaves)):
        return True
    methods = [step.site.function or "" for step in (turn.leaves, turn.enters) if step.site]
    return any(name.startswith(f"{of_class}.") for name in (turn.leaves.path, turn.enters.path, *methods))


def _is_code_of(region: EnclosingRegion, step: ShownStep) -> bool:
    """Whether an access is in the region's own code. A function that it calls and that is no region is not its own."""
    function = step.site.function if step.site else None
    of_region = region.name.partition(":")[2].partition("/")[0]
    return not function or not of_region or function == of_region or function.startswith(f"{of_region}.")


def _is_called_back_between(turn: Turn, around: Mapping[int, Sequence[EnclosingRegion]]) -> bool:
    """Whether the two accesses are in different calls by a library, or only one of them is in such a call."""
    steps = [around[step.number] for step in (turn.leaves, turn.enters) if step.number in around]
    first, *last = ([region for region in regions if region.is_back][-1:] for regions in steps or [[]])
    return any(callback != first for callback in last)


def _functions(around: Sequence[EnclosingRegion]) -> list[EnclosingRegion]:
    return [region for region in around if region.origin not in WITHIN_FUNCTION]


def _is_checked_again(
    turn: Turn, around: Mapping[int, Sequence[EnclosingRegion]], again: Mapping[ConditionRead, RepeatedRead]
) -> bool:
    """Double-checked locking done right.

    The first read is in a condition, or raises, and without the lock; the thread's next one of the same location, in a
    condition too, is under the lock, which was taken in between; and whoever wrote had that lock. So what the first one
    saw decided only whether to look again, and it does not matter what came after it.
    """
    first = turn.leaves
    second = again.get(ConditionRead(first.number, first.target, turn.enters.number))
    if second is None or not _only_looks(second.text) or not _may_look(_text(first)):
        return False
    if not _only_looks(_text(first)) and not _goes_on(around.get(first.number, ()), around.get(second.event, ())):
        return False
    taken = {hold.lock for hold in second.holds if hold.since > first.number} - set(first.locks or ())
    return any(lock in (turn.after.locks or ()) and lock in (turn.before.locks or ()) for lock in taken)


def _may_look(text: str) -> bool:
    """Whether a line may keep nothing of what it reads: a condition, or a return that was none (`_goes_on`)."""
    return _only_looks(text) or text.startswith("return ")


def _goes_on(before: Sequence[EnclosingRegion], after: Sequence[EnclosingRegion]) -> bool:
    """Whether the function that is at a `return` has not returned by then: there was nothing to return.

    try: return cache[key]
    except KeyError: ...
    """
    return bool(before) and tuple(before) == tuple(after[: len(before)])


def _only_looks(text: str) -> bool:
    """Whether a line is a condition, and keeps nothing of what it reads."""
    return text.startswith(_LOOKS) and ":=" not in text


def _text(step: ShownStep) -> str:
    """The line in the source, where that is known."""
    return (step.site.text or "").strip() if step.site else ""


def _lets_others_in(turn: Turn, around: Mapping[int, Sequence[EnclosingRegion]]) -> bool:
    """Whether the lock of a block that is around both accesses was released in between, inside the block.

    As at the wait of a condition, others are to come in there, and what is read after it shows what they did. It is no
    excuse for what is written then, unless that is what was written before, as a mark for them.
    """
    if turn.enters.op == "write" and not _is_mark(turn):
        return False
    first, last = (
        [region for region in around.get(step.number, ()) if region.origin == "lock-block"]
        for step in (turn.leaves, turn.enters)
    )
    if not first or not last or (first[-1] not in last and last[-1] not in first):
        return False
    block = first[-1] if first[-1] in last else last[-1]
    taken = [
        min((hold.since for hold in step.holds or () if hold.since > block.since), default=None)
        for step in (turn.leaves, turn.enters)
    ]
    return taken[0] != taken[1]


def _is_mark(turn: Turn) -> bool:
    """Whether the same location was written first and last, or the same container: an element comes, and goes again."""
    first, last = turn.leaves, turn.enters
    is_one = first.object == last.object and STRUCTURE in (first.field, last.field)
    return first.op == "write" and (first.target == last.target or is_one)


def _in_order(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.first_event is None, finding.first_event))
