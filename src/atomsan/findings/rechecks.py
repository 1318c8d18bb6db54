"""Checked again: recognizes that a value which was read only decides whether the same condition is checked again.

    if self.value is None:                  the first read, which only decides
        with self.lock:
            if self.value is None:          the later read: the same condition
                self.value = make()

What is done then rests on the later read, so it does not matter what others did in between. The two reads and their
conditions may be in different functions, as long as the value is passed between them unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from atomsan.findings.flow_graph import CONTROL, EXPLICIT, LEAVING, VALUE

if TYPE_CHECKING:
    from atomsan.findings.activations import Activation
    from atomsan.findings.flow_graph import FlowGraph, FlowGraphs, Node, Place
    from atomsan.findings.ties import Local

_EXITS = frozenset({"Return", "Raise", "Continue", "Break"})
_ANSWERS = frozenset({"True", "False", "None"})
_HOLE = "?"


class _Shape(NamedTuple):
    """A condition on one value, which is written as `?`, and its opposite. Empty: nothing is known of the value."""

    holds: str
    opposite: str

    def of(self, value: _Shape) -> _Shape:
        """The same condition on what another one gives."""
        if self == _VALUE:
            return value
        if self == _VALUE.negated():
            return value.negated()
        inner = _HOLE if value == _VALUE else f"({value.holds})"
        return _Shape(self.holds.replace(_HOLE, inner), self.opposite.replace(_HOLE, inner))

    def negated(self) -> _Shape:
        return _Shape(self.opposite, self.holds)


# The value itself: whether it is true.
_VALUE = _Shape(_HOLE, f"not {_HOLE}")


class _Level(NamedTuple):
    """An activation, the node of a value in it, and the node that leads to the later read, if that is in it too."""

    activation: Activation
    graph: FlowGraph
    node: int
    later: int | None
    depth: int = 0
    """How deep the value is in what the node gives: a generator was given, and yields it."""
    parts: Sequence[str] = ()
    """If an exception comes out of the node: which parts of that are the value."""


_Place = tuple[int, int]
"""A function and a node of it."""


class _Check(NamedTuple):
    """A condition on the later read, such that something is done only if it holds."""

    acting: str
    function: int
    node: int


class Rechecks:
    """With `may_count`, whichever check it rests on, a number may be added to something, or an answer be given: that is
    no proof any more."""

    def __init__(self, graphs: FlowGraphs, *, may_count: bool = False) -> None:
        self._graphs = graphs
        self._may_count = may_count
        self._is_change = _is_more_than_a_count if may_count else _is_change

    def is_checked_again(self, first: Local, later: Local) -> bool:
        """Whether what was read first only decides, by a condition that the later read of the location decides too."""
        checks = list(self._checks(later))
        wanted = {check.acting for check in checks if check.acting}
        decided = self._decided(first, later, {(check.function, check.node) for check in checks}) if wanted else None
        if decided is None:
            return False
        # nothing was made of it: the function went on, so the read has raised in place of being returned
        is_failed = not decided
        if (self._operation(first), self._operation(later)) == (("read", "get"), ("read", "__contains__")):
            # a key that is not there gives None
            return is_failed or decided <= {"? is None" if one == "not ?" else one for one in wanted}
        return is_failed or (decided <= wanted and self._operation(first) == self._operation(later))

    def is_checked_in_other_words(self, first: Local, later: Local) -> bool:
        """Whether the first check is for None, and the later one for anything that is as good as nothing."""
        checks = list(self._checks(later))
        decided = self._decided(first, later, {(check.function, check.node) for check in checks})
        return decided == {"? is None"} and "not ?" in {check.acting for check in checks}

    def is_part_checked_again(self, first: Local, later: Local) -> bool:
        """Whether a part of what was read first is asked the same as that part of what is read later, in one function.

        That it is the same part is known by how the condition is written only.
        """
        place, end = self._graphs.place(first.site), self._graphs.place(later.site)
        graph = self._graphs.of(place.function) if place else None
        if graph is None or place is None or end is None or place.function != end.function:
            return False
        if not first.around[-1].goes_on_in(later.around[-1]):
            return False
        level = _Level(first.around[-1], graph, place.node, end.node)
        uses = [
            use
            for use in graph.uses(place.node)
            if not _is_passed_over(graph, use, end.node) and not _is_replaced(graph, use, end.node)
        ]
        later_uses = [use for use in graph.uses(end.node) if _is_on_part(graph, use, end.node)]
        forms = {graph.nodes[use].facts.get("form") for use in later_uses}
        checks = {(end.function, use) for use in later_uses}
        return bool(uses) and all(
            _is_on_part(graph, use, place.node)
            and graph.nodes[use].facts.get("form") in forms
            and not self._does_more(level, use, checks)
            for use in uses
        )

    def is_written_again(self, first: Local, later: Local) -> bool:
        """Whether what was read first only decides by a condition of several parts, which the later read is in again.

        That it is the same condition is known by how it is written only. The parts may be in a function that is called.
        """
        common = next((one for one in reversed(first.around) if any(map(one.goes_on_in, later.around))), None)
        graph = self._graphs.of(common.function) if common else None
        if common is None or graph is None or not self._is_only_given(first, common):
            return False
        node, end = (self._lead(common, one.around, one.site) for one in (first, later))
        if node is None or end is None or node == end:
            return False
        level = _Level(common, graph, node, end)
        uses = [use for use in graph.uses(node) if not _is_passed_over(graph, use, end)]
        is_called = not common.goes_on_in(first.around[-1])
        again = {use for use in graph.uses(end) if _is_whole(graph.nodes[use], is_joined=not is_called)}
        checks = {(common.function or 0, use) for use in again}
        forms = {graph.nodes[use].facts.get("form") for use in again}
        whole = [use for use in uses if "joins" not in graph.nodes[use].facts]
        return bool(whole) and all(
            _is_whole(graph.nodes[use], is_joined=not is_called)
            and graph.nodes[use].facts["form"] in forms
            and not self._does_more(level, use, checks)
            and not self._tells(level, use, later, checks)
            for use in whole
        )

    def is_given_and_checked_again(self, first: Local, later: Local) -> bool:
        """Whether what was read first is only given to a call in which everything rests on the later read.

        Which variable it is there is not known: it may be captured, kept for a generator, or passed on by a library. So
        all that decides there has to ask the same.
        """
        common = next((one for one in reversed(first.around) if any(map(one.goes_on_in, later.around))), None)
        inner = later.around[-1] if later.around else None
        graph, called = (self._graphs.of(one.function) if one else None for one in (common, inner))
        if common is None or inner is None or graph is None or called is None or common.goes_on_in(inner):
            return False
        node, end = (self._lead(common, one.around, one.site) for one in (first, later))
        lead = self._lead(inner, later.around, later.site)
        if node is None or end is None or lead is None or not self._is_only_given(first, common):
            return False
        if not all(use == end or graph.goes_to(use) == {end} for use in graph.uses(node)):
            return False
        checks = list(self._checks(later))
        wanted = {check.acting for check in checks if check.acting}
        places = {(check.function, check.node) for check in checks}
        # what is not used itself is an object that something is read from
        given = [one for one in called.parameters if any(called.nodes[to].kind != "read" for to in called.goes_to(one))]
        decided = [self._decided_at(_Level(inner, called, one, lead), _VALUE, later, places) for one in given]
        return any(decided) and all(one is not None and one <= wanted for one in decided)

    def _is_only_given(self, access: Local, outermost: Activation) -> bool:
        """Whether what is read does nothing but come out of the calls inside an activation."""
        place = self._graphs.place(access.site)
        for activation in reversed(access.around):
            if activation.goes_on_in(outermost) or outermost.goes_on_in(activation):
                return True
            graph = self._graphs.of(activation.function)
            if graph is None or place is None or place.function != activation.function:
                return False
            uses = [graph.nodes[use] for use in graph.uses(place.node)]
            if not all(node.kind in LEAVING or "joins" in node.facts for node in uses):
                return False
            place = self._graphs.place(activation.called_at)
        return False

    def conditions(self, first: Local, later: Local) -> list[str]:
        """The conditions on what was read first under which the later access is come to, if it only decides that."""
        return sorted(self._decided(first, later, None) or ())

    def only_decides(self, first: Local, later: Local) -> bool:
        """Whether what was read first only decides whether the later access is come to."""
        return self._decided(first, later, frozenset()) is not None

    def _operation(self, access: Local) -> tuple[object, object]:
        node = self._graphs.node(self._graphs.place(access.site))
        operation = node.facts.get("op") if node else None
        return (node.kind if node else None), (None if operation == "bool" else operation)

    def _checks(self, later: Local) -> Iterator[_Check]:
        """The conditions that decide on what is done, by the later read. Nothing is done if they do not hold."""
        for level, hole in self._levels(later, ()):
            for use in level.graph.uses(level.node):
                shape = _condition(level, use, hole)
                condition = level.graph.nodes[use]
                if shape is None or level.activation.function is None or "joins" in condition.facts:
                    continue
                if self._only_leaves(level.graph, condition):
                    yield _Check(shape.opposite, level.activation.function, use)
                elif not self._changes(level.graph, condition.facts.get("branch", -1), 1):
                    yield _Check(shape.holds, level.activation.function, use)

    def _decided(self, first: Local, later: Local, checks: Set[_Place] | None) -> set[str] | None:
        """The conditions on what was read first that lead to the later read. None: it is used for more than that.

        Without `checks` they may decide on more than whether it is checked again.
        """
        found: set[str] = set()
        is_followed = False
        for level, hole in self._levels(first, later.around, later.site):
            is_followed = level.later is not None
            decided = self._decided_at(level, hole, later, checks)
            if decided is None:
                return None
            found |= decided
        return found if is_followed else None

    def _decided_at(self, level: _Level, hole: _Shape, later: Local, checks: Set[_Place] | None) -> set[str] | None:
        """The same for the uses of a value in one activation, and where that passes it on to the later read."""
        found: set[str] = set()
        for use in level.graph.uses(level.node):
            if level.later is None:
                if level.graph.nodes[use].kind not in LEAVING and not self._only_counts(level.graph, use):
                    return None
                continue  # followed by the next level
            if _is_passed_over(level.graph, use, level.later) or _is_replaced(level.graph, use, level.later):
                continue
            if use == level.later:
                inside = self._decided_inside(level, hole, later, checks)
                if not inside:
                    return None
                found |= inside
                continue
            if checks is not None and (self._does_more(level, use, checks) or self._tells(level, use, later, checks)):
                return None
            if _is_part_of_test(level, use):
                continue  # the whole test comes too
            shape = _leading(level, use, hole)
            if not shape:
                return None
            found.add(shape)
        return found

    def _only_counts(self, graph: FlowGraph, condition: int) -> bool:
        """Whether nothing that counts rests on a condition: the check is told, or hits and misses are counted."""
        if graph.nodes[condition].kind != "cond":
            return False
        decided = [graph.nodes[edge.to] for edge in graph.edges[condition] if edge.how == CONTROL]
        return all(
            node.passes_on or (node.kind in ("write", "update") and not self._is_change(node))
            for node in decided
            if node.kind != "cond"
        )

    def _does_more(self, level: _Level, condition: int, checks: Set[_Place]) -> bool:
        """Whether a condition alone decides on something, besides whether it is checked again."""
        graph, function = level.graph, level.activation.function or 0
        for number, node in enumerate(graph.nodes):
            deciding = {edge.to for edge in graph.into[number] if edge.how == CONTROL}
            if condition not in deciding or any((function, one) in checks for one in deciding) or number == level.later:
                continue
            if self._is_change(node) and not _is_passed_over(graph, number, level.later or 0):
                return True
        return False

    def _tells(self, level: _Level, condition: int, later: Local, checks: Set[_Place]) -> bool:
        """Whether what is returned tells that the later check has failed, and not the first one."""
        graph = level.graph
        acting = self._acting(graph, level.activation, checks)
        answers: list[set[str]] = []
        is_split = False
        for number, node in enumerate(graph.nodes):
            if node.kind != "return" or number in acting or node.statement < graph.nodes[condition].statement:
                continue
            parts = _parts(graph, number, {level.node, level.later}) - acting
            if _is_passed_over(graph, number, level.later or 0) or _is_behind(level, condition, number):
                is_split = True
            elif any(_is_behind(level, condition, part) for part in parts - {level.later}):
                return not self._may_count
            if parts == {level.later} and node.facts.get("shape") == _HOLE:
                answers += self._answers_inside(level, later, checks)
            else:
                is_value = _answer(node) == _looked_at(graph.nodes[condition])
                answers.append(_answers(node, parts, {level.node, level.later}) | ({_HOLE} if is_value else set()))
        checked = [graph.nodes[one] for function, one in checks if function == level.activation.function]
        if graph.falls_through and not self._falls_by(level, condition, checked):
            answers.append({"None"})
        is_same = not is_split or not answers or bool(set.intersection(*answers))
        if is_same or not self._may_count:
            return not is_same
        return any(one not in _ANSWERS and _is_literal(one) for known in answers for one in known)

    def _answers_inside(self, level: _Level, later: Local, checks: Set[_Place]) -> list[set[str]]:
        """What comes out of the call to the later read if the check there fails; of that read itself, its value."""
        depth = next((i for i, one in enumerate(later.around) if level.activation.goes_on_in(one)), len(later.around))
        inner = later.around[depth + 1] if depth + 1 < len(later.around) else None
        if inner is None:
            return [{_HOLE}]
        graph, lead = self._graphs.of(inner.function), self._lead(inner, later.around, later.site)
        if graph is None or lead is None:
            return [set()]
        acting = self._acting(graph, inner, checks)
        found: list[set[str]] = []
        for number, node in enumerate(graph.nodes):
            if node.kind != "return" or number in acting or _is_passed_over(graph, number, lead):
                continue
            parts = _parts(graph, number, {lead}) - acting
            if parts == {lead} and node.facts.get("shape") == _HOLE:
                found += self._answers_inside(_Level(inner, graph, lead, lead), later, checks)
            else:
                # a form names what is known in there only
                found.append({one for one in _answers(node, parts, {lead}) if _is_literal(one)})
        own = [graph.nodes[one] for function, one in checks if function == inner.function]
        has_left = any(self._only_leaves(graph, one) and not one.arms for one in own)
        return [*found, {"None"}] if graph.falls_through and not has_left else found

    def _acting(self, graph: FlowGraph, activation: Activation, checks: Set[_Place]) -> set[int]:
        """The nodes that are come to only if a check says that something is to be done."""
        own = [graph.nodes[node] for function, node in checks if function == activation.function]
        return {
            number for number, node in enumerate(graph.nodes) if any(self._rests_on(graph, node, one) for one in own)
        }

    def _rests_on(self, graph: FlowGraph, node: Node, check: Node) -> bool:
        """Whether a node is come to only if a check says that something is to be done."""
        branch = check.facts.get("branch", -1)
        if self._only_leaves(graph, check):
            return node.statement > branch and branch not in node.arms and check.arms.items() <= node.arms.items()
        return node.arms.get(branch) == 0

    def _falls_by(self, level: _Level, condition: int, checks: Sequence[Node]) -> bool:
        """Whether the end of the function is come to only if a check says that something is to be done."""
        first = level.graph.nodes[condition]
        has_left = first.facts.get("branch", -1) not in level.graph.nodes[level.later or 0].arms
        return has_left and any(check.arms.items() <= first.arms.items() for check in checks)

    def _only_leaves(self, graph: FlowGraph, condition: Node) -> bool:
        """Whether nothing but leaving is done if a condition holds, so that it decides on what is behind it."""
        branch = condition.facts.get("branch", -1)
        if not exits(graph, branch, 0) or self._acts(graph, branch, 0):
            return False
        behind = (node for node in graph.nodes if node.statement > branch and node.arms.get(branch) != 0)
        return any(
            node.kind in ("write", "update", "call", "return", "yield", "raise")
            and not node.passes_on
            and all(node.arms.get(one, arm) == arm for one, arm in condition.arms.items())
            for node in behind
        )

    def _acts(self, graph: FlowGraph, branch: int, arm: int) -> bool:
        """Whether anything is written or called in an arm of a branch."""
        nodes = (node for node in graph.nodes if node.arms.get(branch) == arm and not node.passes_on)
        return any(self._is_change(node) or "wraps" in node.facts or node.kind == "call" for node in nodes)

    def _changes(self, graph: FlowGraph, branch: int, arm: int) -> bool:
        return any(self._is_change(node) for node in graph.nodes if node.arms.get(branch) == arm)

    def _decided_inside(self, level: _Level, hole: _Shape, later: Local, checks: Set[_Place] | None) -> set[str] | None:
        """The same for a value that is passed to the function that the later read is in."""
        depth = next((i for i, one in enumerate(later.around) if level.activation.goes_on_in(one)), len(later.around))
        callee = later.around[depth + 1] if depth + 1 < len(later.around) else None
        graph = self._graphs.of(callee.function) if callee else None
        passed = _passed(level, hole)
        lead = self._lead(callee, later.around, later.site) if callee else None
        if callee is None or graph is None or lead is None or passed is None:
            return None
        found: set[str] = set()
        for at, shape in passed:
            parameter = parameter_at(graph, at, is_method=self._graphs.is_method(callee.function))
            if parameter is None:
                return None
            decided = self._decided_at(_Level(callee, graph, parameter, lead), shape, later, checks)
            if decided is None:
                return None
            found |= decided
        return found

    def _levels(
        self, access: Local, later: Sequence[Activation], later_site: int = 0
    ) -> Iterator[tuple[_Level, _Shape]]:
        """The activations that a value goes up through unchanged, from that of the access on, and what became of it."""
        place = self._graphs.place(access.site)
        hole: _Shape = _VALUE
        depth: int | None = 0
        parts: Sequence[str] = ()
        for activation in reversed(access.around):
            graph = self._graphs.of(activation.function)
            if graph is None or place is None or place.function != activation.function or depth is None:
                return
            lead = self._lead(activation, later, later_site)
            level = _Level(activation, graph, place.node, lead, depth, parts)
            yield level, hole
            leaving = [use for use in graph.uses(place.node) if graph.nodes[use].kind in LEAVING]
            kinds = {graph.nodes[use].kind for use in leaving}
            shapes = {_shape(level, use, hole) for use in leaving}
            shape = shapes.pop() if len(shapes) == len(kinds) == 1 else None
            if lead is not None or shape is None:
                return
            hole = shape
            place = self._graphs.place(activation.called_at)
            depth, parts = self._depth(place) if kinds == {"yield"} else 0, ()
            if kinds == {"raise"}:
                parts = graph.nodes[leaving[0]].facts.get("parts", ()) if len(leaving) == 1 else ()
                depth = 0 if parts else None

    def _depth(self, place: Place | None) -> int | None:
        """How deep in what a node gives are the values of a generator that runs there."""
        graph = self._graphs.of(place.function) if place else None
        return graph.depth_of_yielded(place.node) if graph and place else None

    def _lead(self, activation: Activation, around: Sequence[Activation], site: int) -> int | None:
        """The node in an activation's own code that is an access, or that leads to it, if the access is inside."""
        for depth, one in enumerate(around):
            if activation.goes_on_in(one):
                place = self._graphs.place(around[depth + 1].called_at if depth + 1 < len(around) else site)
                return place.node if place is not None and place.function == activation.function else None
        return None


def _shape(level: _Level, use: int, hole: _Shape) -> _Shape | None:
    """What a condition or result is, if it is exactly on the value at this level."""
    facts = level.graph.nodes[use].facts
    if "shape" not in facts or "of" not in facts or not _is_exactly(level, facts["of"], use):
        return None
    return _Shape(*(_in_activation(level, str(facts[fact])) for fact in ("shape", "opposite"))).of(hole)


def _is_exactly(level: _Level, giving: int, use: int) -> bool:
    if level.parts:
        part = level.graph.nodes[use].facts.get("part", "")
        return part in level.parts and level.graph.gives(giving, level.node, 2 if part.endswith("]") else 1)
    if level.graph.gives(giving, level.node, level.depth):
        return True
    # the truth of a value is a read of its own, of what is in it
    sources = {edge.to for edge in level.graph.into[level.node] if edge.how in EXPLICIT}
    is_truth = any(edge.to == use for edge in level.graph.edges[level.node])
    return is_truth and sources == {giving} and "op" not in level.graph.nodes[level.node].facts


def _condition(level: _Level, use: int, hole: _Shape) -> _Shape | None:
    facts = level.graph.nodes[use].facts
    if level.graph.nodes[use].kind != "cond":
        return None
    if "views" not in facts:
        return _shape(level, use, hole)
    reached = level.graph.reached(level.node, explicit=True) | {level.node}
    found = [view for view in facts["views"] if view[0] in reached or _is_exactly(level, view[0], use)]
    if len(found) != 1 or not _is_exactly(level, found[0][0], use):
        return None
    return _Shape(*(_in_activation(level, shape or "") for shape in found[0][1:])).of(hole)


def _in_activation(level: _Level, shape: str) -> str:
    """A condition with the parameters that it names: they are the same in one activation only."""
    return shape.replace("#", f"#{level.activation.since}:")


def _passed(level: _Level, hole: _Shape) -> list[tuple[int | str, _Shape]] | None:
    """The arguments of the call to the later read that are the value, by position or name, or conditions on it.

    None: it may be passed in other ways too.
    """
    graph, call = level.graph, level.later or 0
    reached = graph.reached(level.node, explicit=True) | {level.node}
    found: list[tuple[int | str, _Shape]] = []
    exact: set[int] = set()
    for at, giving, *shape in graph.nodes[call].facts.get("given", ()):
        if any("#" in one for one in shape):
            return None  # a condition on a parameter too
        if giving in reached and _is_exactly(level, giving, call):
            found.append((at, (_Shape(*shape) if shape else _VALUE).of(hole)))
            exact.add(giving)
    for source in {edge.to for edge in graph.into[call] if edge.how in EXPLICIT} & reached - exact:
        facts = graph.nodes[source].facts
        is_truth = "keys" in facts and "op" not in facts
        if not is_truth and "wraps" not in facts:
            return None
    return found


def parameter_at(graph: FlowGraph, at: int | str, *, is_method: bool) -> int | None:
    """The parameter that an argument is passed as: a method has the object that it is called on first."""
    parameters = [number for number in graph.parameters if "index" in graph.nodes[number].facts]
    facts = [graph.nodes[number].facts for number in parameters]
    if any("many" in one for one in facts):
        return None
    if isinstance(at, int):
        at += is_method and not any("static" in one for one in facts)
    matching = (number for number, one in zip(parameters, facts, strict=True) if at in (one["index"], one["name"]))
    return next(matching, None)


def _is_whole(node: Node, *, is_joined: bool) -> bool:
    """Whether it is a condition, and no part of one; with `is_joined`, one of several parts."""
    form = str(node.facts.get("form", ""))
    return node.kind == "cond" and "joins" not in node.facts and (not is_joined or form.startswith("("))


def _is_on_part(graph: FlowGraph, condition: int, value: int) -> bool:
    """Whether a condition is on parts of a value: what was unpacked from it, or is at an index of it."""
    facts = graph.nodes[condition].facts
    giving = [facts["of"]] if "of" in facts else [view[0] for view in facts.get("views", ())]
    parts = [one for one in giving if one != value and graph.nodes[one].kind == "read"]
    are_of_it = all(any(edge.to == value for edge in graph.into[one]) for one in parts)
    return graph.nodes[condition].kind == "cond" and bool(parts) and are_of_it


def _leading(level: _Level, use: int, hole: _Shape) -> str | None:
    """A condition, such that it holds where the later read is come to. None or empty: it is no condition for that."""
    shape = _condition(level, use, hole)
    if shape is None or level.later is None:
        return None
    facts = level.graph.nodes[use].facts
    branch = facts.get("branch", -1)
    arm = level.graph.nodes[level.later].arms.get(branch)
    if arm is None:
        return shape.opposite if exits(level.graph, branch, 0) else None
    return shape.holds if facts.get("joins", "or" if arm else "and") == "and" else shape.opposite


def _is_part_of_test(level: _Level, use: int) -> bool:
    """Whether a condition is a part of one that is tested as a whole, before the later read."""
    facts = level.graph.nodes[use].facts
    return bool(facts.get("tested")) and facts["branch"] not in level.graph.nodes[level.later or 0].arms


def _parts(graph: FlowGraph, number: int, values: Set[int | None]) -> set[int]:
    """The nodes that a result is made of, beyond what only passes a value on, and not beyond these values."""
    found: set[int] = set()
    seen = {number}
    waiting = [number]
    while waiting:
        sources = {edge.to for edge in graph.into[waiting.pop()] if edge.how == VALUE} - seen
        seen |= sources
        for source in sources:
            node = graph.nodes[source]
            if source not in values and (node.passes_on or "wraps" in node.facts):
                waiting.append(source)
                if node.kind == "read" and "wraps" not in node.facts:
                    found.add(source)
            else:
                found.add(source)
    return found


def _answer(result: Node) -> str:
    """What is returned there, as it is written."""
    return str(result.facts.get("literal", result.facts.get("form")))


def _answers(result: Node, parts: Set[int], values: Set[int | None]) -> set[str]:
    """What is returned there: as it is written, and `?` if it is one of these values."""
    is_value = bool(parts) and parts <= values and result.facts.get("shape") == _HOLE
    return {_answer(result), *([_HOLE] if is_value else [])}


def _is_literal(answer: str) -> bool:
    return answer in _ANSWERS or answer[:1] in "'\"-0123456789b"


def _looked_at(condition: Node) -> str | None:
    """What the one value of a condition is, as it is written."""
    before, hole, after = str(condition.facts.get("shape", "")).partition(_HOLE)
    form = str(condition.facts.get("form"))
    is_so = bool(hole) and form.startswith(before) and form.endswith(after)
    return form[len(before) : len(form) - len(after)] if is_so else None


def _is_behind(level: _Level, condition: int, number: int) -> bool:
    """Whether a node is come to only if a condition leads to the later read."""
    branch = level.graph.nodes[condition].facts.get("branch", -1)
    arm = level.graph.nodes[level.later or 0].arms.get(branch)
    node = level.graph.nodes[number]
    return node.statement > branch if arm is None else node.arms.get(branch) == arm


def _is_passed_over(graph: FlowGraph, use: int, later: int) -> bool:
    """Whether a node was not executed on the way to a later one: it is in another arm, or would have left."""
    node, end = graph.nodes[use], graph.nodes[later]
    if graph.are_exclusive(use, later):
        return True
    if node.statement >= end.statement:
        return False
    if node.kind in ("return", "raise"):
        return True
    return any(branch not in end.arms and exits(graph, branch, arm) for branch, arm in node.arms.items())


def _is_replaced(graph: FlowGraph, use: int, later: int) -> bool:
    """Whether the one value that a node is made of is that of the later read by then."""
    return "shape" in graph.nodes[use].facts and use in graph.uses(later)


def exits(graph: FlowGraph, branch: int, arm: int) -> bool:
    """Whether an arm of a branch ends the pass through the code behind it."""
    exits = {
        number
        for number, row in enumerate(graph.statements)
        if row[3] in _EXITS and (row[2] if row[3] == "Raise" else graph.around(number)) == branch
    }
    arms = {node.arms.get(branch) for node in graph.nodes if node.statement in exits}
    return bool(exits) and (arm in arms if arms - {None} else arm == 0)


def _is_change(node: Node) -> bool:
    return node.kind in ("write", "update") and "wraps" not in node.facts


def _is_more_than_a_count(node: Node) -> bool:
    is_update = node.kind == "update" or node.facts.get("value") == "update"
    is_count = is_update and node.facts.get("operator") in ("+", "-")
    is_count = is_count and node.facts.get("operand") == "number" and "literal" in node.facts
    return _is_change(node) and not is_count
