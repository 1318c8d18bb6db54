"""`atomsan.predict`: could it have failed? Looks at all interleavings of the units of one run.

trace -> regions under the specification -> shared data -> units -> forest -> pairs -> judging -> Report
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from atomsan.checkers.flattening import Flattening
from atomsan.errors import InputError
from atomsan.findings.report import NamedTransactions, PredictionFacts, Report, of_a_part, of_level
from atomsan.flow.blind_spots import blind_spots
from atomsan.flow.passes import Pass, execute
from atomsan.flow.set_check import SetMembership, objects_layout
from atomsan.flow.trace_input import CHECKED_AT_ONCE, TraceInput, read_through
from atomsan.flow.trust import untrusted
from atomsan.predictors.analysis import Answer, RunAnalysis
from atomsan.predictors.history import History
from atomsan.predictors.publication import Publication
from atomsan.predictors.registry import DEFAULT, ORDERS, PREDICTORS
from atomsan.predictors.replay import Replay
from atomsan.predictors.sharing import Sharing
from atomsan.predictors.spinning import NO_SPINS, Spinning
from atomsan.predictors.stand_ins import stand_ins
from atomsan.predictors.witnesses import Prediction, predictions, races
from atomsan.trace.events import NO_SITE, Op
from atomsan.trace.monitor import OUT_OF_TIME, Monitor, Progress, silent
from atomsan.trace.regions import WITHIN_FUNCTION

if TYPE_CHECKING:
    import os

    from atomsan.checkers.flattening import FlatBatch
    from atomsan.checkers.results import Status, Transaction
    from atomsan.findings.finding import Finding
    from atomsan.findings.judging import Violations
    from atomsan.findings.making import TraceNames
    from atomsan.flow.explaining import Explained
    from atomsan.flow.trace_input import AnyTrace, OpenedTrace
    from atomsan.predictors.commit_node import Pair
    from atomsan.source.spec import Specification
    from atomsan.trace.events import Batch

STATUS: Status = "predicted"

# Regions of the code of a function that was called before them: an entry function with loops is no region itself.
_PARTS_OF_CALLS = WITHIN_FUNCTION | {"loop"}


def predict(
    trace: AnyTrace,
    method: str | Sequence[str] = DEFAULT,
    *,
    spec: Specification | str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    unordered: Collection[str] = (),
    split_at_waits: bool = False,
    lenient: bool = False,
    format: str | None = None,
    explain: bool = True,
    progress: Progress = silent,
) -> Report:
    """Could it have failed? Predicts the violations in other interleavings of a recorded run, of any kind of trace.

    An interleaving keeps what each thread did, the exclusion of locks, and what fork, join and hand-over order; of a
    recorded program also publication, spinning and first use (docs/prediction.md). `unordered`: of `ORDERS`, those that
    order nothing. `conflict_atomic` and `view_atomic` of the report say whether every one
    of them is as good as a serial one: True (proved), False (refuted by a finding), or None, with the reason.
    """
    methods = [method] if isinstance(method, str) else list(method)
    for name in methods:
        if name not in PREDICTORS:
            raise InputError(f"unknown method {name!r}: it is one of {', '.join(PREDICTORS)}")
    if unknown := [name for name in unordered if name not in ORDERS]:
        raise InputError(f"unknown order {unknown[0]!r}: it is one of {', '.join(ORDERS)}")
    opened = TraceInput(trace, spec, split_all=split_at_waits, with_jobs=True, lenient=lenient, format=format)
    if not opened.is_repeatable:
        opened = opened.in_memory()
    state = _Predict(
        opened, Monitor(timeout, progress), methods, orders=frozenset(ORDERS) - {*unordered}, explain=explain
    )
    execute(PLAN, state, state.monitor)
    _explain_late(state, Monitor(None, progress))
    return _report(state, state.judged())


@dataclass
class _Predict:
    """What is known so far. The passes of the plan fill it in."""

    trace: TraceInput
    monitor: Monitor
    methods: Sequence[str]
    orders: frozenset[str]
    explain: bool
    source: OpenedTrace | None = None
    """As it was read for the units."""
    sharing: Sharing | None = None
    spinning: Spinning | None = None
    """Of recorded programs."""
    analysis: RunAnalysis | None = None
    history: History | None = None
    """Of recorded programs."""
    answers: dict[str, Answer] | None = None
    explained: Explained | None = None
    is_explained_late: bool = False
    """Whether what was found before the time was up could be explained after that."""
    seconds: float = 0.0
    transactions: int = 0

    # ---- what the passes need

    def has_units(self) -> bool:
        return self.analysis is not None

    def wants_explanations(self) -> bool:
        return self.explain and bool(self.found)

    # ---- what is known

    @property
    def main(self) -> OpenedTrace:
        if self.source is None:
            raise KeyboardInterrupt(self.monitor.stopped or "")
        return self.source

    @cached_property
    def names(self) -> TraceNames:
        from atomsan.findings.making import TraceNames

        return TraceNames(self.main)

    def tick(self) -> None:
        """Ends the work if the time is up."""
        if self.monitor.is_over():
            raise KeyboardInterrupt

    @cached_property
    def predictions(self) -> list[Prediction]:
        """As many as could be made in time."""
        pairs = [pair for answer in (self.answers or {}).values() for pair in answer.pairs]
        found: list[Prediction] = []
        if self.analysis is None:
            return found
        with self.monitor.stopping(), self.monitor.working("looking for orders that show it"):
            found.extend(predictions(chain(pairs, self._stand_ins()), self.analysis.order, self.tick, self.replay))
        return found

    def _stand_ins(self) -> Iterable[Pair]:
        if self.history is None or self.analysis is None or not self.answers:
            return ()
        return stand_ins(self.analysis.reader.shapes, self.analysis.order, self.history, self.tick)

    @property
    def replay(self) -> Replay | None:
        """For recorded programs: whether threads come to the steps of an interleaving."""
        if self.history is None:
            return None
        from atomsan.findings.access_facts import GATHERING, QUEUE, gives_content, takes
        from atomsan.findings.influence import influence_of

        sites = self.main.symbols.sites

        @cache
        def gives(site: int) -> bool:
            return site != NO_SITE and gives_content(sites.get(site, "operation"))

        @cache
        def removes(site: int) -> bool:
            return site >= 0 and site != NO_SITE and takes(sites.get(site, "operation"))

        locations = self.main.symbols.locations

        @cache
        def is_queue(location: int) -> bool:
            return bool(locations.get(location, "field") == QUEUE)

        @cache
        def gathers(location: int) -> bool:
            return locations.get(location, "field") in GATHERING

        worker = self.main.jobs.worker if self.main.jobs else int
        return Replay(self.history, influence_of(self.main.symbols), gives, is_queue, gathers, removes, worker)

    @cached_property
    def found(self) -> list[Finding]:
        """What is predicted, before it is judged."""
        if not self.predictions:
            return []
        from atomsan.findings.making import violations_of

        if not self.main.meta.recorded:
            return self._merged()
        found = violations_of((one.witness for one in self.predictions), self.names, STATUS)
        return [
            self._with_doubts(self._with_order(finding, one), one)
            for finding, one in zip(found, self.predictions, strict=True)
        ]

    def _merged(self) -> list[Finding]:
        """One for each id, with an order of the one that is shown."""
        from atomsan.findings.finding import merge_findings, simplicity
        from atomsan.findings.making import violations_of

        alike = self._alike()
        found = violations_of((replace(one.witness, count=count) for one, count in alike), self.names, STATUS)
        shown: dict[str, tuple[Finding, Prediction]] = {}
        for finding, (one, _) in zip(found, alike, strict=True):
            if finding.id not in shown or simplicity(finding) < simplicity(shown[finding.id][0]):
                shown[finding.id] = finding, one
        return [self._with_order(finding, shown[finding.id][1]) for finding in merge_findings(found)]

    def _alike(self) -> list[tuple[Prediction, int]]:
        """Predictions that are one finding by all that it is known by, and as simple: the first, and the count of all.

        There are many for each finding: every method that can come in between makes one.
        """
        path = cache(lambda op, target: self.names.path(Op(op), target))
        found: dict[tuple[object, ...], tuple[Prediction, int]] = {}
        for one in self.predictions:
            steps = one.witness.steps
            ends = ((step.region, step.site, path(step.op, step.target)) for step in (steps[0], steps[-1]))
            key = len({step.event for step in steps}), *ends
            first, count = found.get(key, (one, 0))
            found[key] = first, count + one.witness.count
        return list(found.values())

    def _with_order(self, finding: Finding, prediction: Prediction) -> Finding:
        """With the interleaving that it is of."""
        steps, left_out = prediction.interleaving()
        told = self._told_of_jobs({step.thread for step in prediction.witness.steps})
        explanation = (*finding.explanation, *told)
        return replace(finding, interleaving=self.names.ordered(steps), left_out=left_out, explanation=explanation)

    def _told_of_jobs(self, threads: Collection[int]) -> list[str]:
        """Of threads that are jobs of one thread in the run."""
        jobs = self.main.jobs
        workers = sorted(jobs.worker(thread) for thread in threads) if jobs else []
        return [
            f"In this run {self.names.thread(worker)} did both, one job after the other; "
            "another thread of the pool could have done one of them."
            for worker, following in pairwise(workers)
            if worker == following
        ]

    def _with_doubts(self, finding: Finding, prediction: Prediction) -> Finding:
        """With what is not as it was in the run."""
        found = replace(finding, changes=tuple(prediction.changes))
        if prediction.stand_in is None:
            return found
        acting, done_by, parting = prediction.stand_in
        if any(change.event == parting.change.event for change in prediction.changes):
            return replace(found, parting=parting)  # it would read another value again
        told = (
            f"In this run {self.names.thread(acting)} came later and went another way; "
            f"in this order it finds what {self.names.thread(done_by)} found, and does the same."
        )
        return replace(found, explanation=(*finding.explanation, told), parting=parting)

    @cached_property
    def beside(self) -> list[Finding]:
        """Deadlocks that may happen, and data races; none if the work was stopped."""
        if self.analysis is None or self.monitor.stopped is not None:
            return []
        from atomsan.findings.side_notes import deadlock_notes, race_notes

        deadlocks = deadlock_notes(self.analysis.deadlocks, self.names, STATUS)
        return [*deadlocks, *race_notes(races(self.analysis.conflicts.cases), self.names, STATUS)]

    @cached_property
    def violations(self) -> Violations:
        from atomsan.findings.judging import Violations

        found = self.membership.with_sets(self.found) if self.main.meta.recorded else self.found
        return Violations(of_data=found)

    @cached_property
    def membership(self) -> SetMembership:
        source = self.main
        return SetMembership(objects_layout(source.meta, self.trace.spec.sets), source.symbols.locations)

    @cached_property
    def marked_regions(self) -> set[str]:
        return self.main.marked_regions(self.trace.spec) if self.main.meta.recorded else set()

    def judged(self) -> list[Finding]:
        """Findings, suspects and notes, grouped by root causes; then notes of deadlocks and races."""
        if not self.found:
            return self.beside
        from atomsan.findings.judging import Evidence, judge
        from atomsan.findings.root_causes import with_groups
        from atomsan.flow.explaining import Explained

        explained = self.explained or Explained(self.violations)
        evidence = Evidence(
            is_ours=(lambda region: region not in self.marked_regions) if self.main.meta.recorded else None,
            are_apart=self.membership.are_apart,
            is_settled=self.monitor.stopped is None or self.is_explained_late,
            around=explained.around,
        )
        return [*with_groups(judge(explained.violations, evidence)), *self.beside]


# ---- the passes


def _share(state: _Predict) -> Sharing:
    sharing = Sharing()
    state.source = source = state.trace.open(CHECKED_AT_ONCE)
    if not source.meta.recorded or "spinning" not in state.orders:
        _read_flat(state, sharing.feed, source)
        return sharing
    spinning = state.spinning = Spinning()

    def feed(batch: FlatBatch) -> None:
        sharing.feed(batch)
        spinning.feed(batch)

    _read_flat(state, feed, source)
    return sharing


def _analyse(state: _Predict) -> RunAnalysis:
    from atomsan.findings.flow_graph import FlowGraphs

    start = time.monotonic()
    assert state.sharing is not None
    source = state.trace.open(CHECKED_AT_ONCE)
    lock_fields, sites = source.symbols.locks.columns, source.symbols.sites
    graphs = FlowGraphs(source.symbols)

    def is_loop(lock: int) -> bool:
        # asked of every lock: most traces have no kinds at all
        kinds = lock_fields.get("kind", ())
        return lock < len(kinds) and kinds[lock] == "loop"

    @cache
    def is_call(site: int) -> bool:
        if site == NO_SITE or sites.get(site, "operation") is not None:
            return site != NO_SITE
        node = graphs.node(graphs.place(site))
        return node is not None and node.facts.get("op") == "__contains__"

    analysis = RunAnalysis(
        state.sharing.locations,
        is_loop,
        is_call if source.meta.recorded else None,
        with_handovers="handovers" in state.orders,
        may_wait=lambda region: source.meta.recorded and source.symbols.regions[region] not in state.marked_regions,
        posted=source.symbols.posted,
        publication=Publication(source.symbols, state.orders) if source.meta.recorded else None,
        spins=state.spinning.spins if state.spinning else NO_SPINS,
        jobs=source.jobs,
        tick=state.tick,
    )
    state.source = source
    if source.meta.recorded:
        regions = source.symbols.regions
        state.history = history = History(
            state.sharing.locations,
            lambda region: regions.get(region, "origin") not in _PARTS_OF_CALLS,
            _selves(source),
        )

        def feed(batch: FlatBatch) -> None:
            history.feed(batch)
            analysis.feed(batch)

    _read_flat(state, feed if source.meta.recorded else analysis.feed, source)
    analysis.finish()
    state.transactions = analysis.reader.transactions
    state.seconds = time.monotonic() - start
    return analysis


def _selves(source: OpenedTrace) -> list[int]:
    """The locations that stand for what a thread has of its own, if jobs of pools are threads."""
    from atomsan.findings.access_facts import SELF

    fields = source.symbols.locations.whole_column("field") if source.jobs else ()
    return [location for location, field in enumerate(fields) if field == SELF]


def _answer(state: _Predict) -> dict[str, Answer]:
    assert state.analysis is not None
    start = time.monotonic()
    answers: dict[str, Answer] = {}
    with state.monitor.stopping(), state.monitor.working("comparing units"):
        for method in state.methods:
            answers[method] = _ANSWERS[method](state.analysis)
        _ = state.analysis.conflicts.commits  # races, and what is proved, follow from these
    state.seconds += time.monotonic() - start
    return answers


_ANSWERS: dict[str, Callable[[RunAnalysis], Answer]] = {
    "commit-node": lambda analysis: analysis.conflict_atomic,
    "view": lambda analysis: analysis.view_atomic,
    "reduction": lambda analysis: analysis.by_reduction,
    "blocks": lambda analysis: analysis.by_blocks,
}


def _explain(state: _Predict) -> Explained:
    from atomsan.flow.explaining import explain

    return explain(state.trace, state.main, state.monitor, state.violations)[0]


def _explain_late(state: _Predict, monitor: Monitor) -> None:
    """If the time was up, what was found by then is judged all the same, which takes one more pass."""
    if state.monitor.stopped != OUT_OF_TIME or not state.wants_explanations():
        return
    from atomsan.flow.explaining import explain

    state.explained = explain(state.trace, state.main, monitor, state.violations)[0]
    state.is_explained_late = monitor.stopped is None


def _read_flat(state: _Predict, feed: Callable[[FlatBatch], None], opened: OpenedTrace) -> None:
    """One pass over the flattened batches of a source."""
    flattening = Flattening(opened.symbols)

    def feed_flat(batch: Batch) -> None:
        feed(flattening.flat(flattening.note(batch)))

    read_through(opened, state.monitor, feed_flat)
    if ends := flattening.ends():
        feed(ends)


PLAN: Sequence[Pass[_Predict]] = (
    Pass("sharing", _share),
    Pass("analysis", _analyse),
    Pass("answers", _answer, needs=(_Predict.has_units,)),
    Pass("explained", _explain, needs=(_Predict.wants_explanations,)),
)


# ---- the report


def _report(state: _Predict, judged: Sequence[Finding]) -> Report:
    source, analysis, answers = state.main, state.analysis, state.answers or {}
    meta = source.meta
    stopped = state.monitor.stopped
    reasons = [answer.reason for answer in answers.values() if answer.is_atomic is None]
    if any(answer.is_atomic is False for answer in answers.values()) and not state.found:
        reasons.append("two units refute it that are too long to show how")
    report = Report(
        trace=source.facts(state.transactions, is_whole=stopped is None),
        algorithm=", ".join(state.methods),
        serializable=None,
        violations=None,
        transactions=NamedTransactions(_blamed(state), source.symbols.threads.__getitem__),
        findings=of_level(judged, "finding"),
        suspects=of_level(judged, "suspect"),
        notes=of_level(judged, "note"),
        results={name: _shown(answer) for name, answer in answers.items()},
        counters=analysis.counters if analysis and stopped is None else {},
        seconds={"total": state.seconds},
        reason=stopped or untrusted(meta) or next((reason for reason in reasons if reason), None),
        stopped=stopped,
        repairs=source.repairs,
        warnings=[
            *meta.warnings,
            *(blind_spots(state.trace.spec, source.symbols, meta) if source.is_read and meta.recorded else ()),
        ],
        is_recorded=meta.recorded,
        prediction=_facts(state),
    )
    return of_a_part(report, source.missing)


def _shown(answer: Answer) -> dict[str, Any]:
    verdict = {True: "holds", False: "violated", None: "unknown"}[answer.is_atomic]
    return {"verdict": verdict} | ({} if answer.reason is None else {"reason": answer.reason})


def _facts(state: _Predict) -> PredictionFacts:
    """Of the methods that came to an answer; the others were stopped."""
    answers, analysis = state.answers or {}, state.analysis
    asked = frozenset("view" if name == "view" else "conflict" for name in state.methods)
    found: dict[str, bool | None] = {}
    reasons: dict[str, str] = {}
    for kind in sorted(asked):
        methods = [name for name in state.methods if (name == "view") == (kind == "view")]
        known = [answers[name] for name in methods if name in answers]
        found[kind] = next((answer.is_atomic for answer in known if answer.is_atomic is not None), None)
        if found[kind] is None:
            reasons[kind] = next((one.reason for one in known if one.reason), state.monitor.stopped or "unknown")
    is_done = analysis is not None and state.monitor.stopped is None
    kinds, proved = analysis.proved if analysis is not None and is_done else (0, 0)
    is_complete = state.monitor.stopped is None
    facts = PredictionFacts(found.get("conflict"), found.get("view"), asked, kinds, proved, reasons, is_complete)
    reason = untrusted(state.main.meta)
    return facts.of_a_part(reason) if reason else facts


def _blamed(state: _Predict) -> list[Transaction]:
    """The transactions of the examples that are torn apart."""
    return sorted({one.witness.blamed for one in state.predictions if one.witness.blamed is not None})
