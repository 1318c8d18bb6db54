"""Derives the repair of a violation: which lock to hold over which statements, so that the unit is one step.

The lock is the one that is held at the most accesses of the data, or a new one. The statements are whole ones of the
unit's own code, from that which leads to the first access to that which leads to the last; and whatever else uses the
data without the lock has to take it too.
"""

from __future__ import annotations

import builtins
import keyword
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from atomsan.findings.access_facts import at_other_end, own_lock
from atomsan.findings.called_functions import CalledFunctions
from atomsan.findings.critical_sections import Statements, statements_around
from atomsan.findings.cycles import turns
from atomsan.findings.flow_graph import Place
from atomsan.findings.idioms import idiom
from atomsan.findings.lock_spelling import LockSpelling
from atomsan.findings.lost_writes import LostWrites
from atomsan.findings.repair import NewLock, Repair, Section
from atomsan.findings.surroundings import Pair
from atomsan.findings.ties import Local, Ties, Unit, advanced_loops
from atomsan.findings.waiting import Waits
from atomsan.findings.wording import hint_for_repair
from atomsan.trace.events import Op
from atomsan.trace.symbols import class_of

if TYPE_CHECKING:
    from atomsan.findings.activations import Activation
    from atomsan.findings.finding import Finding, ShownStep
    from atomsan.findings.flow_graph import FlowGraph
    from atomsan.findings.surroundings import Access, Surroundings
    from atomsan.trace.symbols import Symbols

_QUICK = frozenset(
    {*dir(builtins), *keyword.kwlist, "join", "format", "append", "get", "items", "keys", "values", "locked", "acquire"}
)
# So many calls that would run under the lock are named.
_MOST_CALLS = 3


def with_repairs(findings: Sequence[Finding], around: Surroundings) -> list[Finding]:
    """The findings with hints that name the lock and the statements, where the trace knows enough for that.

    And with what came of them: whether a write was lost.
    """
    symbols = around.symbols
    if symbols is None:
        return list(findings)
    lost = LostWrites(around, symbols)
    findings = [lost.explained(finding) for finding in findings]
    repairs = Repairs(around, symbols).of([finding for finding in findings if finding.level != "note"])
    return [
        replace(finding, repair=repairs[finding.id], hint=hint_for_repair(repairs[finding.id]))
        if finding.id in repairs
        else finding
        for finding in findings
    ]


# What the recorder calls the lock that tasks share which are not asyncio's, or the greenlets of an OS thread.
GREENLETS = "greenlets"
OF_GEVENT = "greenlets of gevent"
OF_TRIO = "tasks of trio"
_LOCKS = {OF_GEVENT: "gevent.lock.RLock()", OF_TRIO: "trio.Lock()"}


@dataclass(frozen=True)
class _Case:
    """A violation as it is to be repaired."""

    first: ShownStep
    last: ShownStep
    unit: Unit
    function: int
    nodes: frozenset[int]
    """What the unit does to the data, in its own code."""
    loops: frozenset[int]
    """The loops that the lock must be held over as a whole."""
    statements: Statements
    accesses: tuple[Access, ...]
    """Of the data of the violation, by anyone."""
    is_task: bool
    new_lock: str
    """What to make where no lock fits, if no other thread has to wait for it."""
    steps: tuple[ShownStep, ...]
    """All accesses that the violation is shown by."""


class _Part(NamedTuple):
    """Statements of a function that have to hold the lock."""

    function: int
    statements: Statements


class Repairs:
    def __init__(self, around: Surroundings, symbols: Symbols) -> None:
        self._around = around
        self._symbols = symbols
        self._ties = Ties(symbols)
        self._graphs = self._ties.graphs
        self._spelling = LockSpelling(symbols, self._graphs, around.acquired)
        self._called = CalledFunctions(around, symbols, self._graphs)
        self._waits = Waits(around, symbols, self._graphs, self._called)
        self._switched_by = _switched_by(symbols)
        """What switches greenlets, or tasks that are not asyncio's, if there are any: the name of their lock."""

    def of(self, findings: Sequence[Finding]) -> dict[str, Repair]:
        """By the ids of the findings. Without those whose flow is not known."""
        cases = {finding.id: case for finding in findings if (case := self._case(finding))}
        alike: dict[tuple[object, ...], list[_Case]] = {}
        for finding in findings:
            if (case := cases.get(finding.id)) is not None:
                alike.setdefault(_about(case, finding), []).append(case)
        joined = {key: _joined(same) for key, same in alike.items()}
        return self._with_one_lock(
            {
                finding.id: self._repair(_with_all(case, joined[_about(case, finding)]))
                for finding in findings
                if (case := cases.get(finding.id)) is not None
            }
        )

    def _with_one_lock(self, repairs: Mapping[str, tuple[Repair, list[_Part]]]) -> dict[str, Repair]:
        """A new lock is the same for all repairs that make it at one place: following them all may take it twice."""
        found = {name: repair for name, (repair, _) in repairs.items()}
        alike: dict[tuple[object, ...], list[str]] = {}
        for name, repair in found.items():
            if repair.new is not None and repair.new.made.startswith("threading."):
                alike.setdefault((repair.new[1:], *(one.file for one in repair.sections[:1])), []).append(name)
        for names in alike.values():
            parts = [part for name in names for part in repairs[name][1]]
            below = {function for part in parts for function in self._called.below(*part)}
            is_nested = any("RLock" in str(found[name].new) for name in names)
            if is_nested or not below.isdisjoint(part.function for part in parts):
                for name in names:
                    new = found[name].new
                    found[name] = replace(found[name], new=new and new._replace(made="threading.RLock()"))
        return found

    def _repair(self, case: _Case) -> tuple[Repair, list[_Part]]:
        """With the statements that hold the lock after it."""
        lock = self._best_lock(case)
        repair = self._with_lock(case, lock) if lock is not None else self._with_new_lock(case)
        parts = self._parts(case, lock, repair)
        repair = self._with_reentered(case, lock, repair, parts)
        repair = replace(
            repair,
            is_task=case.is_task,
            waits=self._wait(case),
            waits_held=self._wait_in(lock, parts),
            calls=self._calls(case, repair),
            yields=self._yields(parts),
            idiom=idiom(case.first, case.last, case.unit, self._around.writers, self._graphs),
            is_partial=self._around.is_partial,
        )
        return repair, parts

    def _parts(self, case: _Case, lock: int | None, repair: Repair) -> list[_Part]:
        """The statements that hold the lock after the repair, and did not before."""
        name = None if lock is None else self._symbols.locks[lock]
        unit = [_Part(case.function, case.statements)] if repair.unit else []
        return unit + (list(self._others(case, name)) if repair.others else [])

    # ---- the case

    def _case(self, finding: Finding) -> _Case | None:
        ends = _torn(finding)
        if ends is None or any(step.op not in ("read", "write") or step.holds is None for step in ends):
            return None
        first, last = (Local(site=step.at, around=self._around.activations(step.number)) for step in ends)
        unit = self._ties.unit(first, last)
        if unit is None or unit.activation.function is None:
            return None
        targets = dict.fromkeys(step.target for step in finding.witness if step.op in ("read", "write"))
        accesses = tuple(one for target in targets for one in self._accesses(target, ends))
        pair = Pair(ends[0].number, ends[1].number, ends[0].target)
        nodes = frozenset((unit.first, unit.last, *self._nodes_beside(unit, accesses)))
        for node, inner in ((unit.first, unit.first_inner), (unit.last, unit.last_inner)):
            if inner and self._spelling.is_in_lambda(inner[0]):
                reached = unit.graph.reached(node, explicit=True)
                nodes |= {one for one in reached if unit.graph.nodes[one].kind == "call"}
        if ends[0].at == ends[1].at and ends[0].op == ends[1].op and not unit.common_loops:
            # one place in the code cannot do it twice: one of the sites is not exact
            nodes = frozenset(number for number, node in enumerate(unit.graph.nodes) if node.kind != "param")
        loops = self._advanced(pair, unit)
        found = statements_around(unit.graph, nodes, loops) or self._lines_of_lambda(unit)
        steps = tuple(step for step in finding.witness if step.op in ("read", "write"))
        # a lock of asyncio keeps no other thread out
        runs_alone = all(step.number in self._around.in_tasks for step in steps)
        switched_by = self._switched_by if runs_alone else ""
        if switched_by in (GREENLETS, OF_GEVENT) and unit.graph.is_async:
            switched_by = ""
        if switched_by == GREENLETS:
            return None  # who switches them has locks of its own, and that of a thread would stop them all
        is_task = runs_alone and switched_by != OF_GEVENT
        function = unit.activation.function
        own_lock = _LOCKS.get(switched_by, "asyncio.Lock()") if runs_alone else ""
        return found and _Case(*ends, unit, function, nodes, loops, found, accesses, is_task, own_lock, steps)

    def _lines_of_lambda(self, unit: Unit) -> Statements | None:
        """The lines of a lambda that calls what makes the accesses: it has no statements."""
        sites = [inner[0].called_at for inner in (unit.first_inner, unit.last_inner) if inner]
        lines = [line for site in sites if (line := self._symbols.sites.get(site, "line")) is not None]
        is_known = len(lines) == 2 and not unit.graph.statements
        return Statements(-1, -1, min(lines), max(lines)) if is_known else None

    def _accesses(self, target: int, ends: Sequence[ShownStep]) -> Iterator[Access]:
        """The accesses of a location that have to wait for the two: who waits for an item must not hold a lock."""
        symbols, others = self._around.symbols, at_other_end(ends)
        for access in self._around.accesses.get(target, ()):
            if symbols is None or symbols.sites.get(access.site, "operation") not in others:
                yield access

    def _advanced(self, pair: Pair, unit: Unit) -> frozenset[int]:
        if not unit.common_loops:
            return frozenset()
        events = self._around.own_events(pair, unit.activation, self._graphs)
        return (advanced_loops(unit.graph, events) if events is not None else None) or frozenset()

    def _nodes_beside(self, unit: Unit, accesses: Sequence[Access]) -> Iterator[int]:
        """The nodes of the same data in the unit's own code: a check before the first access belongs to it."""
        loops = unit.graph.nodes[unit.first].loops
        for access in accesses:
            place = self._graphs.place(access.site)
            if place is None or place.function != unit.activation.function or not self._is_shared(access):
                continue
            if unit.graph.nodes[place.node].loops == loops:
                yield place.node

    def _is_shared(self, access: Access) -> bool:
        """Whether an access may come between others: not in a constructor, nor before and after all the work."""
        around = self._around.activations(access.event)
        inner = around[-1].function if around else None
        return inner is not None and not self._name(inner).endswith(("__init__", "__new__", "__post_init__"))

    def _name(self, function: int) -> str:
        return self._symbols.functions[function].partition(" #")[0].partition(":")[2]

    # ---- the lock

    def _best_lock(self, case: _Case) -> int | None:
        """The lock that is held at the most places that use the data."""
        counts: Counter[str] = Counter()
        places = {(one.site, hold.lock) for one in case.accesses for hold in self._around.holds.get(one.event, ())}
        counts.update(lock for _, lock in places)
        counts.update(hold.lock for step in (case.first, case.last) for hold in step.holds or ())
        for name, _ in counts.most_common():
            lock = self._symbols.locks.find(name)
            if name.partition(" (")[0] == own_lock(case.first):
                continue
            if lock is not None and (not case.is_task or self._is_of_tasks(lock)):
                return lock
        return None

    def _is_of_tasks(self, lock: int) -> bool:
        return any(one.is_async for one in self._spelling.acquires(lock))

    def _with_lock(self, case: _Case, lock: int) -> Repair:
        name = self._symbols.locks[lock]
        since = [next((hold.since for hold in step.holds or () if hold.lock == name), None) for step in _ends(case)]
        others = tuple(
            self._section(one.function, one.statements, self._spelling.spelled(lock, one.function))
            for one in self._others(case, name)
        )
        repair = Repair(lock=name, others=others)
        unit = self._section(case.function, case.statements, None)
        if shared := self._under_locks_of_several(case, name):
            return Repair(lock=_kind_of_lock(name), unit=unit, shared=shared)
        if self._is_of_another(case, name):
            return Repair(lock=_kind_of_lock(name), unit=unit, has_two_objects=True)
        if since[0] is not None and since[0] == since[1] and not self._is_left_out(case, name):
            return repair
        chains = (case.unit.first_inner, case.unit.last_inner)
        # no statement can stand in a lambda
        spelled = self._spelling.spelled(lock, case.function, chains) if case.unit.graph.statements else None
        if sites := self._let_go(case, lock):
            return replace(repair, let_go=self._shown(sites[0]), dropped=self._dropped(case, sites))
        return replace(
            repair,
            unit=self._section(case.function, case.statements, spelled),
            blocks=self._blocks(case, lock, is_block=True),
            acquires=self._blocks(case, lock, is_block=False),
            order=self._order(case, name),
        )

    def _is_left_out(self, case: _Case, lock: str) -> bool:
        """Whether the very statements of the unit use the data without the lock at other times."""
        return any(
            all(hold.lock != lock for hold in self._around.holds.get(access.event, ()))
            and self._is_in_statements(case, access, self._around.activations(access.event))
            for access in case.accesses
        )

    def _is_of_another(self, case: _Case, lock: str) -> bool:
        """Whether some use the data under the lock of another object of the same class."""
        for access in case.accesses:
            names = [hold.lock for hold in self._around.holds.get(access.event, ())]
            if lock not in names and _kind_of_lock(lock) in map(_kind_of_lock, names):
                return True
        return False

    def _under_locks_of_several(self, case: _Case, lock: str) -> str | None:
        """The location that several objects use, each under a lock of its own: what is held locks nobody out."""
        for step in case.steps:
            held = [self._around.holds.get(one.event, ()) for one in self._around.accesses.get(step.target, ())]
            held += [one.holds or () for one in case.steps if one.target == step.target]
            alike = [{one.lock for one in holds if _kind_of_lock(one.lock) == _kind_of_lock(lock)} for holds in held]
            locked = [names for names in alike if names]
            if locked and not set.intersection(*locked):
                return step.location
        return None

    def _with_new_lock(self, case: _Case) -> Repair:
        functions = {case.function, *(one.function for one in self._groups(case, None))}
        owner = self._owner(case, functions)
        name = "_lock" if owner is None else "self._lock"
        others = tuple(self._section(one.function, one.statements, name) for one in self._others(case, None))
        unit = self._section(case.function, case.statements, name if case.unit.graph.statements else None)
        is_nested = any(self._is_inside(case, one) for one in self._groups(case, None))
        kind = case.new_lock or ("threading.RLock()" if is_nested else "threading.Lock()")
        return Repair(lock=name, new=NewLock(kind, name, owner), unit=unit, others=others)

    def _owner(self, case: _Case, functions: set[int]) -> str | None:
        """The constructor of the object that has all the data, if only methods of its class use it."""
        data = {step.data for step in _ends(case)}
        of = (data.pop() or "") if len(data) == 1 else ""
        kind = class_of(of) if class_of(of) != of else ""  # the data of a class is nobody's own
        classes = {self._spelling.class_of(function) for function in functions}
        method = f"{classes.pop()}.__init__" if len(classes) == 1 else ""
        is_class = bool(kind) and method.endswith(f"{kind.rpartition('.')[2]}.__init__")
        if not is_class or self._symbols.functions.find(method) is None:
            return None
        return method if all(self._spelling.has_receiver(function) for function in functions) else None

    # ---- statements

    def _section(self, function: int, found: Statements, lock: str | None) -> Section:
        file = self._symbols.sites.get(self._called.sites.get(function, [0])[0], "file") or "?"
        graph = self._graphs.of(function)
        is_async = graph is not None and graph.is_async
        return Section(file, self._name(function), found.first_line, found.last_line, lock, is_async)

    def _groups(self, case: _Case, lock: str | None) -> Iterator[_Group]:
        """By function and loop: what uses the data without the lock, outside the unit's statements."""
        groups: dict[tuple[int, tuple[int, ...]], _Group] = {}
        for access in case.accesses:
            if lock is not None and any(hold.lock == lock for hold in self._around.holds.get(access.event, ())):
                continue
            around = self._around.activations(access.event)
            place = self._graphs.place(access.site)
            if not self._is_shared(access) or place is None or place.function != around[-1].function:
                continue
            graph = self._graphs.of(place.function)
            if graph is None or self._is_in_statements(case, access, around):
                continue
            key = (place.function, graph.nodes[place.node].loops)
            group = groups.setdefault(key, _Group(place.function, [], around))
            group.nodes.append(place.node)
        yield from groups.values()

    def _is_in_statements(self, case: _Case, access: Access, around: Sequence[Activation]) -> bool:
        """Whether the unit's statements lead to an access, whoever executes them."""
        if not around:  # outside of regions
            return False
        sites = [*(one.called_at for one in around[1:]), access.site]
        for activation, site in zip(around, sites, strict=True):
            place = self._graphs.place(site)
            if activation.function == case.function and place and place.function == case.function:
                lines = statements_around(case.unit.graph, [place.node])
                if lines and case.statements.has_line(lines.first_line):
                    return True
        return False

    def _others(self, case: _Case, lock: str | None) -> Iterator[_Part]:
        """The statements of others that use the data without the lock, the outermost of those inside each other."""
        found: list[_Part] = []
        for group in self._groups(case, lock):
            graph = self._graphs.of(group.function)
            statements = statements_around(graph, group.nodes) if graph else None
            if statements:
                found.append(_Part(group.function, statements))
        yield from (one for one in found if not any(_is_part_of(one, other) for other in found))

    def _is_inside(self, case: _Case, group: _Group) -> bool:
        """Whether a function that has to take the lock is called by the unit's statements, or calls the unit."""
        called = {one.function for one in (*case.unit.first_inner, *case.unit.last_inner)}
        return group.function in called | set(self._seen_called(case)) or any(
            one.function == case.function for one in group.around
        )

    # ---- what to mind

    def _rows(self, case: _Case) -> Iterator[tuple[int, int, int]]:
        between = self._around.between.get(Pair(case.first.number, case.last.number, case.first.target))
        return iter(()) if between is None else iter(between.rows())

    def _seen_called(self, case: _Case) -> Iterator[int]:
        """The functions that run between the accesses, and those that the accesses are in, below the unit."""
        yield from (one.function for one in (*case.unit.first_inner, *case.unit.last_inner) if one.function is not None)
        for op, target, _ in self._rows(case):
            function = self._symbols.regions.get(target, "function") if op == Op.BEGIN else None
            if function is not None and function != case.function:
                yield function

    def _line(self, site: int, case: _Case) -> int | None:
        """The line of a site, if it is in the unit's statements."""
        line = self._symbols.sites.get(site, "line")
        place = self._graphs.place(site)
        is_own = place is not None and place.function == case.function and line is not None
        return line if is_own and case.statements.has_line(line) else None

    def _blocks(self, case: _Case, lock: int, *, is_block: bool) -> tuple[int, ...]:
        """The lines in the unit's statements that take the lock, by `with` blocks of it or in other ways."""
        acquires = (one for one in self._spelling.acquires(lock) if one.is_block is is_block)
        lines = (self._line(one.site, case) for one in acquires)
        return tuple(sorted({line for line in lines if line is not None}))

    def _let_go(self, case: _Case, lock: int) -> list[int]:
        """The sites at which the lock is let go and taken again: inside a block that is around both accesses, or by
        statements of their own, between two others that take it and let it go."""
        steps = (Op.RELEASE, Op.ACQUIRE)
        sites = [site for op, target, site in self._rows(case) if op in steps and target == lock]
        first, last = (self._around.lock_blocks(step.number) for step in _ends(case))
        is_inside = bool(first and last) and (first[-1] in last or last[-1] in first)
        return sites if is_inside or self._dropped(case, sites) else []

    def _dropped(self, case: _Case, sites: Sequence[int]) -> tuple[int, ...]:
        """The lines of these sites, if they are statements of one block of the unit's own code."""
        lines: set[int] = set()
        blocks: set[tuple[str, int]] = set()
        for site in sites:
            line, place = self._line(site, case), self._graphs.place(site)
            if line is None or place is None:
                return ()
            statement = case.unit.graph.nodes[place.node].statement
            around, kind = case.unit.graph.statements[statement][2:4] if statement >= 0 else (-1, "")
            lines.add(line)
            blocks.add((str(kind), int(around)))
        return tuple(sorted(lines)) if len(blocks) == 1 and blocks.pop()[0] == "Expr" else ()

    def _shown(self, site: int) -> str:
        known = self._symbols.sites.site(site) if site < len(self._symbols.sites) else None
        return f"{known.file}:{known.line}" if known and known.file else "some point"

    def _with_reentered(self, case: _Case, lock: int | None, repair: Repair, parts: Sequence[_Part]) -> Repair:
        """The repair with what would take the lock while the thread has it already."""
        if repair.shared or (lock is not None and self._symbols.locks.get(lock, "reentrant")):
            return repair
        found = tuple(dict.fromkeys(self._reentered(case, lock, parts)))
        if repair.new is not None and not case.new_lock:
            # what the caller does at a yield may come back here
            made = "threading.RLock()" if found or self._yields(parts) else repair.new.made
            return replace(repair, new=repair.new._replace(made=made))
        return replace(repair, reentered=found)

    def _reentered(self, case: _Case, lock: int | None, parts: Sequence[_Part]) -> Iterator[str]:
        """The functions below the statements that take the lock, and those above them that have it when they call.

        Those that are to take it count too: a function that calls itself takes it again.
        """
        below = {function for part in parts for function in self._called.below(*part)}
        if any(part.function == case.function for part in parts):
            below.update(self._seen_called(case))
        takers = [*self._takers(lock), *(part.function for part in parts)]
        yield from (self._name(function) for function in takers if function in below)
        if lock is not None:
            yield from self._holding_callers(case, self._symbols.locks[lock], {part.function for part in parts})

    def _takers(self, lock: int | None) -> Iterator[int]:
        """The functions that take a lock, or that of another object of the same class."""
        kind = None if lock is None else _kind_of_lock(self._symbols.locks[lock])
        for one, sites in self._around.acquired.items():
            if kind is not None and _kind_of_lock(self._symbols.locks[one]) == kind:
                places = (self._graphs.place(site) for site in sorted(sites) if site < len(self._symbols.sites))
                yield from (place.function for place in places if place is not None)

    def _holding_callers(self, case: _Case, lock: str, functions: set[int]) -> Iterator[str]:
        for access in case.accesses:
            around = self._around.activations(access.event)
            own = next((one for one in around if one.function in functions), None)
            held = next((hold.since for hold in self._around.holds.get(access.event, ()) if hold.lock == lock), None)
            if own is None or held is None or held > own.since:
                continue
            callers = [one for one in around if one.since < held and one.function is not None]
            if callers and callers[-1].function is not None:
                yield self._name(callers[-1].function)

    def _order(self, case: _Case, lock: str) -> str | None:
        """A lock that is acquired inside the statements, and held around this one elsewhere."""
        inside = {self._symbols.locks[target] for op, target, _ in self._rows(case) if op == Op.ACQUIRE} - {lock}
        return min(inside & self._held_before.get(lock, set()), default=None)

    @cached_property
    def _held_before(self) -> dict[str, set[str]]:
        """By lock: those that are held where it is acquired."""
        found: dict[str, set[str]] = {}
        for names in {tuple(hold.lock for hold in holds) for holds in self._around.holds.values()}:
            for place, name in enumerate(names):
                found.setdefault(name, set()).update(names[:place])
        return found

    def _wait(self, case: _Case) -> str | None:
        """Where the unit waited for another thread between the accesses."""
        is_wait = self._symbols.is_wait
        return next((self._shown(site) for op, target, site in self._rows(case) if is_wait(op, target)), None)

    def _wait_in(self, lock: int | None, parts: Sequence[_Part]) -> str | None:
        """Where another thread is waited for with the lock held, in these statements or in what they call."""
        acquires = self._spelling.acquires(lock) if lock is not None else ()
        return next((at for part in parts for at in self._waits.inside(*part, acquires)), None)

    def _yields(self, parts: Sequence[_Part]) -> tuple[int, ...]:
        """The lines of the statements in which a generator gives a value, and its caller goes on."""
        found: set[int] = set()
        for function, statements in parts:
            graph = self._graphs.of(function)
            for number, node in enumerate(graph.nodes if graph else ()):
                lines = statements_around(graph, [number]) if graph and node.kind == "yield" else None
                if lines and statements.has_line(lines.first_line):
                    found.add(lines.first_line)
        return tuple(sorted(found))

    def _calls(self, case: _Case, repair: Repair) -> tuple[str, ...]:
        """The calls in the statements that may take long or do anything; not the locked calls themselves."""
        if repair.unit is None:
            return ()
        found: dict[str, None] = {}
        # those that take the lock are named for that
        known = _QUICK | {one.rpartition(".")[2] for one in repair.reentered}
        for number, node in enumerate(case.unit.graph.nodes):
            name = str(node.facts.get("name", ""))
            if node.kind != "call" or node.passes_on or name in known or not name.isidentifier():
                continue
            if case.unit.graph.is_statement(node):
                continue
            is_end = number in (case.unit.first, case.unit.last)
            if is_end and not self._is_given_in(Place(case.function, number), name):
                continue
            lines = statements_around(case.unit.graph, [number])
            if lines is None or _is_in_block(case.unit.graph, lines.first_line, repair.blocks):
                continue
            if case.statements.has_line(lines.first_line) and lines.first_line >= repair.unit.first:
                found[f"{name}() (line {lines.first_line})"] = None
        return tuple(found)[:_MOST_CALLS]

    def _is_given_in(self, place: Place, name: str) -> bool:
        """Whether what is called at a place has another name there: the function was handed it and cannot know it."""
        called = self._called.at(place)
        return bool(called) and all(self._name(one).rpartition(".")[2] != name for one in called)


def _is_in_block(graph: FlowGraph, line: int, blocks: Sequence[int]) -> bool:
    """Whether a line is inside a `with` statement that begins in one of these lines."""
    rows = (row for row in graph.statements if row[0] in blocks and row[3] in ("With", "AsyncWith"))
    return any(row[0] < line <= row[1] for row in rows)


def _about(case: _Case, finding: Finding) -> tuple[object, ...]:
    """The same for the cases of one function that are about data of the same objects: one lock mends all of them."""
    return case.function, finding.level, case.first.data, case.last.data


def _joined(same: Sequence[_Case]) -> _Case:
    """Several cases as one."""
    nodes = frozenset[int]().union(*(one.nodes for one in same))
    loops = frozenset[int]().union(*(one.loops for one in same))
    accesses = tuple(dict.fromkeys(access for one in same for access in one.accesses))
    found = statements_around(same[0].unit.graph, nodes, loops)
    return replace(same[0], nodes=nodes, loops=loops, statements=found, accesses=accesses) if found else same[0]


def _with_all(case: _Case, joined: _Case) -> _Case:
    """The case with the others like it. A round of a loop may do several things, and is taken by itself."""
    if case.unit.activation.is_iteration or not joined.nodes >= case.nodes:
        return case
    return replace(case, nodes=joined.nodes, loops=joined.loops, statements=joined.statements, accesses=joined.accesses)


def _kind_of_lock(name: str) -> str:
    """`Account.lock` of `Account.lock (Account #2)`."""
    return name.partition(" (")[0].partition(" #")[0]


def _torn(finding: Finding) -> tuple[ShownStep, ShownStep] | None:
    """The two accesses that others come between: of the unit to blame, or else of another one in the cycle."""
    found = turns(finding)
    if finding.span is not None:
        blamed = {finding.witness[i].number for i in finding.span}
        found.sort(key=lambda turn: not blamed >= {step.number for step in turn.ends})
    for turn in found:
        first, last = turn.ends
        if any(first.number < step.number < last.number for step in (turn.before, turn.after)):
            return first, last
    return found[0].ends if found else None


@dataclass(frozen=True)
class _Group:
    function: int
    nodes: list[int]
    around: Sequence[Activation]


def _is_part_of(one: _Part, other: _Part) -> bool:
    """Whether some statements are inside others of the same function, and not all of them."""
    is_inside = other.statements.has_line(one.statements.first_line) and other.statements.has_line(
        one.statements.last_line
    )
    return one.function == other.function and one.statements != other.statements and is_inside


def _ends(case: _Case) -> tuple[ShownStep, ShownStep]:
    return case.first, case.last


def _switched_by(symbols: Symbols) -> str:
    locks = symbols.locks
    names = (name.partition(" #")[0] for i, name in enumerate(locks) if locks.get(i, "kind") == "loop")
    return next((name for name in names if name in (GREENLETS, OF_GEVENT, OF_TRIO)), "")
