"""Makes findings of a checker's answers: names, fingerprints, patterns, explanations.

Everything is taken from the witnesses. The trace is not read again; the locks held at the steps are added afterwards
(`surroundings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from atomsan.checkers.results import NO_REGION, Witness
from atomsan.findings.advice import advice_for, advice_for_cycle
from atomsan.findings.finding import Finding, InSet, OrderedStep, ShownStep, SiteShown, fingerprint, merge_findings
from atomsan.findings.patterns import CYCLE, pattern_of
from atomsan.findings.shortening import blamed_on_interrupted, shortened
from atomsan.findings.wording import UnexplainedEdgeError, hint, hint_for_cycle, meaning, sentences
from atomsan.trace.events import NO_SITE, TARGET_KIND, Op

if TYPE_CHECKING:
    from atomsan.checkers.results import Closing, Status, Step, Transaction
    from atomsan.trace.symbols import Symbols
    from atomsan.types import EventSource


class TraceNames:
    """Puts names in the place of numbers, as they stand in a source."""

    def __init__(self, source: EventSource) -> None:
        self._source = source
        self._symbols: Symbols = source.symbols
        self._sites: dict[int, SiteShown | None] = {NO_SITE: None}

    @property
    def has_places(self) -> bool:
        """Whether there is a file in which one can look up an event. Of what was recorded just now there is none."""
        return self._source.meta.format != "recording"

    def thread(self, number: int) -> str:
        return self._symbols.threads[number]

    def region(self, number: int) -> str:
        return self._symbols.regions[number]

    def event(self, event: int) -> tuple[int, str]:
        """Which event of the input this is, and where it stands there."""
        place = self._source.place(event)
        return (event if place.event is None else place.event), str(place)

    def location(self, op: Op, target: int) -> str:
        """A field by its class, anything else by its name; which object it is of is not said."""
        table = self._symbols.table(TARGET_KIND[op])
        if table.kind == "locations":
            of, field = table.get(target, "class"), table.get(target, "field")
            if of and field and field[0] not in "[<":
                return f"{of}.{field}"
            owner = table.get(target, "object")
            return table[target].removesuffix(f" ({owner})") if owner else table[target]
        return table[target]

    def path(self, op: Op, target: int) -> str:
        """What a location is in every run: class and field, where the trace knows them; elements are not told apart."""
        table = self._symbols.table(TARGET_KIND[op])
        of, field = (table.get(target, "class"), table.get(target, "field")) if table.kind == "locations" else ("", "")
        return f"{of}.{field}" if of and field else table[target]

    def site(self, number: int) -> SiteShown | None:
        if number not in self._sites:
            site = self._symbols.sites.site(number)
            text = site.name if site.text is None and site.file is None else site.text
            self._sites[number] = SiteShown(site.file, site.line, site.column, site.function, text)
        return self._sites[number]

    def normal(self, number: int) -> str | None:
        """The statement at a site, in a form that no formatting changes."""
        return None if number == NO_SITE else self._symbols.sites.get(number, "normal")

    def steps(self, steps: Sequence[Step]) -> list[ShownStep]:
        events = [self.event(step.event) for step in steps]
        following = [*events[1:], *events[:1]]
        return [self._step(step, *event, to) for step, event, (to, _) in zip(steps, events, following, strict=True)]

    def ordered(self, steps: Sequence[Step]) -> tuple[OrderedStep, ...]:
        """The steps of an interleaving."""
        return tuple(
            OrderedStep(
                position=step.position or 0,
                thread=self.thread(step.thread),
                transaction=step.transaction or None,
                region=None if step.region == NO_REGION else self.region(step.region),
                event=self._number(step.event),
                op=Op(step.op).word,
                location=self.location(Op(step.op), step.target),
                site=self.site(step.site),
                number=step.event,
            )
            for step in steps
        )

    def _number(self, event: int) -> int:
        known = self._source.place(event).event
        return event if known is None else known

    def _step(self, step: Step, event: int, place: str, to: int) -> ShownStep:
        op = Op(step.op)
        known = self._symbols.locations.get
        is_access = TARGET_KIND[op] == "locations"
        return ShownStep(
            thread=self.thread(step.thread),
            transaction=step.transaction or None,
            region=None if step.region == NO_REGION else self.region(step.region),
            event=event,
            place=place,
            op=op.word,
            location=self.location(op, step.target),
            path=self.path(op, step.target),
            target=step.target,
            site=self.site(step.site),
            to=to,
            edge=str(step.edge),
            number=step.event,
            field=known(step.target, "field") if is_access else None,
            object=known(step.target, "object") if is_access else None,
            owner_object=known(step.target, "owner") if is_access else None,
            operation=None if step.site == NO_SITE else self._symbols.sites.get(step.site, "operation"),
            unit=step.unit,
            at=step.site,
            normal=self.normal(step.site),
            position=step.position,
        )


def findings_of(witnesses: Iterable[Witness], names: TraceNames, status: Status) -> list[Finding]:
    """The findings that witnesses come to, in the order in which they are first seen.

    `status` is that of whoever found them.
    """
    return merge_findings(violations_of(map(shortened, witnesses), names, status))


def violations_of(witnesses: Iterable[Witness], names: TraceNames, status: Status) -> list[Finding]:
    """The same, one for each witness as it is: of two with the same accesses, one may count and the other not."""
    return [_finding(witness, names, status) for witness in witnesses]


def in_sets(findings: Iterable[Finding], spanned: Callable[[int], Mapping[str, frozenset[str]]]) -> list[Finding]:
    """The findings, with the atomic sets that their steps are in: `spanned` gives those of a location."""
    return [
        replace(finding, witness=tuple(_in_sets(step, spanned) for step in finding.witness)) for finding in findings
    ]


def _in_sets(step: ShownStep, spanned: Callable[[int], Mapping[str, frozenset[str]]]) -> ShownStep:
    if _key(step)[0] != "locations":
        return step
    return replace(step, sets=tuple(InSet(name, classes) for name, classes in spanned(step.target).items()))


def _finding(witness: Witness, names: TraceNames, status: Status) -> Finding:
    witness = blamed_on_interrupted(witness)
    steps = names.steps(witness.steps)
    if witness.blamed is None:
        finding = _cycle(steps, witness.count, status)
    else:
        finding = _blamed(steps, witness.blamed, witness, names, status)
    finding = replace(finding, found_by=witness.found_by)
    return finding if names.has_places else replace(finding, first_place="")


def _blamed(
    steps: list[ShownStep], blamed: Transaction, witness: Witness, names: TraceNames, status: Status
) -> Finding:
    """A transaction, or a unit in it, is left and returned to: the edges that cross its border are what it is about."""
    thread = names.thread(blamed.thread)
    owner = (thread, blamed.number, None) if witness.unit is None else (thread, None, witness.unit)
    places = [i for i in range(len(steps)) if steps[i].owner == owner]
    leaving = [i for i in places if steps[(i + 1) % len(steps)].owner != owner]
    returning = [i for i in places if steps[i - 1].owner != owner]
    if not leaving or not returning:
        raise UnexplainedEdgeError(f"the witness does not lead out of {thread} #{blamed.number} and back")
    out, back = leaving[0], returning[-1]
    leaves, returns = steps[out], steps[back]
    others = [steps[(out + 1) % len(steps)], steps[back - 1]]
    locations = [step.path for step in (leaves, returns)]
    pattern = pattern_of(
        leaves.op,
        frozenset(step.op for step in others if _key(step) == _key(leaves)),
        returns.op,
        same_location=_key(leaves) == _key(returns),
    )
    last = max(steps, key=lambda step: step.event)
    return Finding(
        id=fingerprint(leaves.region or "", locations, [_text(step) for step in (leaves, returns)]),
        status=status,
        kind="atomicity",
        pattern=pattern.name,
        region=leaves.region or "",
        count=witness.count,
        first_event=last.event,
        first_place=last.place,
        witness=tuple(steps),
        span=(out, back),
        explanation=(*sentences(steps), meaning(pattern, steps, (out, back))),
        hint=hint(advice_for(steps, (out, back))),
    )


def placed_in(finding: Finding, region: str) -> Finding:
    """The same finding, blamed on a smaller region that has both local accesses in it."""
    if finding.span is None or region == finding.region:
        return finding
    local = [finding.witness[i] for i in finding.span]
    return replace(
        finding,
        region=region,
        id=fingerprint(region, [step.path for step in local], [_text(step) for step in local]),
    )


def _cycle(steps: list[ShownStep], count: int, status: Status) -> Finding:
    """No transaction is to blame, so every step of it counts, wherever one starts."""
    regular = [step for step in steps if step.region is not None] or steps
    first = min(regular, key=lambda step: step.event)
    last = max(steps, key=lambda step: step.event)
    rows = sorted((step.region or "", step.path, _text(step)) for step in steps)
    return Finding(
        id=fingerprint("\0".join(row[0] for row in rows), [row[1] for row in rows], [row[2] for row in rows]),
        status=status,
        kind="cycle",
        pattern=CYCLE.name,
        region=first.region or "",
        count=count,
        first_event=last.event,
        first_place=last.place,
        witness=tuple(steps),
        explanation=(*sentences(steps), CYCLE.meaning),
        hint=hint_for_cycle(advice_for_cycle(steps)),
    )


def _key(step: ShownStep) -> tuple[str, int]:
    """What a step is about, by number: the kind of its target, and which."""
    return TARGET_KIND[Op[step.op.upper()]], step.target


def _text(step: ShownStep) -> str:
    """The statement of a step, or where it is, as far as the trace says."""
    return _statement(step.normal, step.site)


def _statement(normal: str | None, site: SiteShown | None) -> str:
    return normal or ((site.text or str(site)) if site else "")


def without_witness(
    region: str, transactions: int, first: tuple[int, str] | None, algorithm: str, status: Status
) -> Finding:
    """What is left to say of a region where a checker names transactions and shows nothing."""
    times = "execution is" if transactions == 1 else "executions are"
    return Finding(
        id=fingerprint(region, (), ()),
        status=status,
        kind="atomicity",
        pattern="inconsistent view",
        region=region,
        count=transactions,
        first_event=first[0] if first else None,
        first_place=first[1] if first else "",
        explanation=(f"{transactions} {times} not atomic. {algorithm} shows no witness; davida does.",),
    )


def closed(closing: Closing, names: TraceNames, status: Status) -> Finding:
    """What there is to say where a checker knows the event that closes a cycle, and keeps nothing of the rest."""
    op = Op(closing.op)
    event, place = names.event(closing.event)
    site = names.site(closing.site)
    region = "" if closing.region == NO_REGION else names.region(closing.region)
    other = names.thread(closing.other.thread) + (f" #{closing.other.number}" if closing.other.number else "")
    own = names.thread(closing.thread) + (f" #{closing.number}" if closing.number else "")
    location = names.location(op, closing.target)
    return Finding(
        id=fingerprint(region, [names.path(op, closing.target)], [_statement(names.normal(closing.site), site)]),
        status=status,
        kind="cycle",
        pattern=CYCLE.name,
        region=region,
        count=1,
        first_event=event,
        first_place=place,
        explanation=(
            f"{own} comes to {op.word} {location} ({site or place}) after {other}, by {closing.edge} order,"
            f" and {other} comes after an earlier event of {own}.",
            CYCLE.meaning,
        ),
    )


def bare_cycle(status: Status) -> Finding:
    """What is left to say of a trace that is not serializable where nobody can show a cycle."""
    return Finding(
        id=fingerprint("", (), ()),
        status=status,
        kind="cycle",
        pattern=CYCLE.name,
        region="",
        count=1,
        first_event=None,
        explanation=("The trace is not serializable, and no transaction alone is to blame.",),
    )
