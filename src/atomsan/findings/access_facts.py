"""Facts of accesses that judging rests on: what commutes, what is only compared, what is checked again.

Everything comes from the flow graph of the function that an access stands in, and from the operation at its site.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from atomsan.findings.decisions import Part
from atomsan.findings.flow_graph import KEY, LEAVING, VALUE, FlowGraph, FlowGraphs, Node
from atomsan.findings.reasons import ADDED, COMMUTES, OPERANDS, PICKED, SUMS, Reason
from atomsan.findings.rechecks import exits
from atomsan.source.effects import MAKES_KEY, commute, commute_on_element

if TYPE_CHECKING:
    from atomsan.findings.cycles import Turn
    from atomsan.findings.finding import ShownStep
    from atomsan.findings.flow_graph import Place
    from atomsan.findings.ties import Unit

# Names of fields that the recorder gives to what is not one element of a container.
STRUCTURE = "<structure>"
QUEUE = "<queue>"
PICKED_QUEUE = "<items>"  # of a queue that does not give its items in the order in which it got them
STATE = "<state>"  # of an event, a future, a lock or a thread
SELF = "<self>"  # who a thread is, and what it has for itself
ANY_KEY = "<any key>"
ELEMENT = "[...]"
GATHERING = frozenset({STRUCTURE, QUEUE, PICKED_QUEUE})
"""Those that have what all writes before have left, not only the last one."""

# Operations that put something at an end of a sequence: in which order, is seen by whoever reads it.
_APPENDING = frozenset({"append", "extend", "appendleft", "extendleft", "__iadd__", "put", "put_nowait"})
_PUTS = frozenset({"put", "put_nowait"})
_GETS = frozenset({"get", "get_nowait"})
_QUEUES = frozenset({QUEUE, PICKED_QUEUE})
# What of a primitive is a location: its own methods access it, each in one step.
OF_PRIMITIVES = _QUEUES | {STATE}
# What an event has after a method, whatever it had before.
_SETTING = {"set": "True", "clear": "False"}
_GIVING = _GETS | {"pop", "popleft", "popitem", "setdefault"}
_TAKING = frozenset({"pop", "popleft", "popitem", "remove", "discard", "__delitem__"})
_BY_VALUE = frozenset({"remove", "discard"})
_EMPTY = frozenset({"0", "0.0", "[]", "{}", "()", "''", "list()", "dict()", "set()"})
_BOXES = frozenset({"SimpleNamespace", "list", "dict", "tuple", "set"})
_PUTTING = frozenset({"append", "appendleft", "add", "__setitem__", "setdefault"})


def part(step: ShownStep) -> Part:
    """Which part of its object a step accesses."""
    if step.field == STRUCTURE:
        return "structure"
    name = (step.object or "").partition(" (")[0]
    rest = step.location.removeprefix(name)
    # a list has no elements but numbered ones
    is_named = step.field == ELEMENT and rest.startswith("[") and not rest[1:].lstrip("-")[:1].isdigit()
    return "value of a mapping" if is_named else "other"


class _Known(NamedTuple):
    graph: FlowGraph
    number: int

    @property
    def node(self) -> Node:
        return self.graph.nodes[self.number]


def _known(step: ShownStep, graphs: FlowGraphs) -> _Known | None:
    place = graphs.place(step.at)
    graph = graphs.of(place.function) if place else None
    return _Known(graph, place.node) if graph is not None and place is not None else None


# ---- operations that commute


def commuting(one: ShownStep, other: ShownStep, writers: Iterable[str | None] = ()) -> Reason | None:
    """Why the order of two operations on one container tells nothing, if it does not.

    `writers` are the operations that write to the location: those that make keys tell a mapping from a list.
    """
    names = one.operation or "", other.operation or ""
    if one.field == STRUCTURE:
        if not _APPENDING.isdisjoint(names):
            return None
        is_mapping = bool(MAKES_KEY.intersection({*names, *writers}))
        return COMMUTES if commute(*names, is_mapping=is_mapping) else None
    if one.field in _QUEUES and any(map(puts_in_queue, (one, other))) and any(map(gets, (one, other))):
        return COMMUTES if one.field == QUEUE else PICKED
    return ADDED if one.field == ELEMENT and commute_on_element(*names) else None


def is_unused(step: ShownStep, graphs: FlowGraphs) -> bool:
    """Whether nothing is made of what is read there, not even of whether it is there."""
    known = _known(step, graphs)
    if known is None or step.op != "read" or step.field == ELEMENT:
        return False
    return _is_read(known, step) and not known.graph.is_used(known.number)


def _is_read(known: _Known, step: ShownStep) -> bool:
    """Whether a node is a read, and nothing else: to ask a primitive for its state is a call."""
    return known.node.kind == "read" or (step.op == "read" and step.field == STATE)


def looks(site: int, graphs: FlowGraphs) -> bool:
    """Whether a value is read there to be used, and not only to be changed."""
    place = graphs.place(site)
    graph = graphs.of(place.function) if place else None
    if graph is None or place is None or graph.nodes[place.node].kind not in ("read", "call"):
        return False
    return any(not _changes(graph.nodes[use], place.node) for use in graph.uses(place.node))


def _is_update(node: Node) -> bool:
    return node.kind == "update" or (node.kind == "write" and node.facts.get("value") == "update")


def _changes(node: Node, read: int) -> bool:
    """Whether a node writes back what another one read there, changed by an operator: `n = n + 1`."""
    return node.kind == "write" and node.facts.get("value") == "update" and node.facts.get("read") == read


def sum_of(one: ShownStep, other: ShownStep, graphs: FlowGraphs, writers: Iterable[int] = ()) -> Reason | None:
    """Whether both are steps of updates that add or subtract, and if so of numbers.

    `writers` are the sites that write to the location: where one of them writes a number down, what is added to it is
    one too, or adding it would have raised.
    """
    nodes = [node for step in (one, other) if (node := _update(step, graphs))]
    if len(nodes) < 2 or any(node.facts.get("operator") not in ("+", "-") for node in nodes):
        return None
    kinds = {node.facts.get("operand", "unknown") for node in nodes}
    if "unknown" in kinds:
        kinds = (kinds | {_literal_kind(graphs.node(graphs.place(site))) for site in writers}) - {"unknown"}
    return SUMS if kinds == {"number"} else None if kinds else OPERANDS


def _literal_kind(node: Node | None) -> str:
    """What kind of literal a write writes down, if it does."""
    if node is None or node.facts.get("value") != "literal":
        return "unknown"
    try:
        value = ast.literal_eval(str(node.facts.get("literal", "")))
    except (ValueError, SyntaxError):
        return "unknown"
    if isinstance(value, int | float | complex) and not isinstance(value, bool):
        return "number"
    return "unknown" if value is None else "other"


def _update(step: ShownStep, graphs: FlowGraphs) -> Node | None:
    """The update of its location by one operator that an access is a part of, and of nothing else."""
    known = _known(step, graphs)
    number = update_of(*known) if known else None
    return known.graph.nodes[number] if known and number is not None else None


def update_of(graph: FlowGraph, number: int) -> int | None:
    """The node that writes the update which a node is a part of, and of nothing else.

    A read whose value is only added to another location, or compared in what is added, is no part of an update.
    """
    if _is_update(graph.nodes[number]):
        return number
    uses = graph.uses(number) if graph.nodes[number].kind == "read" else set()
    target = uses.pop() if len(uses) == 1 else None
    return target if target is not None and _changes(graph.nodes[target], number) else None


def is_torn(turn: Turn, graphs: FlowGraphs) -> bool:
    """Whether the turn is inside one update: another wrote between its read and its write."""
    first, last = (_known(step, graphs) for step in turn.ends)
    if turn.leaves.op != "read" or turn.enters.op != "write" or first is None or last is None:
        return False
    is_one = first.graph is last.graph and _update(turn.enters, graphs) is not None
    is_fed = first.node.kind == "read" and last.number in first.graph.uses(first.number)
    feeds = is_one and (first == last or is_fed)
    between = (step for step in (turn.before, turn.after) if step.op == "write")
    return feeds and any(turn.leaves.when < step.when < turn.enters.when for step in between)


_OPPOSITES = {"+": "-", "-": "+"}


def is_gauge(graph: FlowGraph, one: int, other: int) -> bool:
    """Whether a number is added at one node, calls are made, and it is subtracted at the other, or the other way."""
    first, last = graph.nodes[one], graph.nodes[other]
    is_back = _OPPOSITES.get(str(first.facts.get("operator"))) == last.facts.get("operator")
    if not is_back or "literal" not in first.facts or first.facts["literal"] != last.facts.get("literal"):
        return False
    between = (node for node in graph.nodes if first.statement < node.statement < last.statement)
    return any(node.kind == "call" and not node.passes_on and node.facts.get("name") != "with" for node in between)


# ---- literals


def writes_are_equal(one: ShownStep, other: ShownStep, graphs: FlowGraphs) -> bool:
    """Whether two accesses write the same literal, so that their order does not matter."""
    first, second = (_constant(step, graphs) for step in (one, other))
    return bool(first) and first == second and _overwrites(one) and _overwrites(other)


def _literal(step: ShownStep, graphs: FlowGraphs) -> str | None:
    known = _known(step, graphs)
    if step.op == "write" and step.field == STATE:
        return _SETTING.get(step.operation or "")
    if known is None or step.op != "write" or known.node.facts.get("value") != "literal":
        return None
    return str(known.node.facts.get("literal", ""))


def _constant(step: ShownStep, graphs: FlowGraphs) -> str | None:
    """The literal that a step writes, if it is the same value each time: a list is a new one, and is seen to be."""
    literal = _literal(step, graphs)
    return None if literal is None or literal.startswith(("[", "{")) or literal.endswith("()") else literal


def writes_same_literal(turn: Turn, graphs: FlowGraphs) -> bool:
    """Whether one value is written twice, and others only read in between."""
    first, last = (_constant(step, graphs) for step in (turn.leaves, turn.enters))
    is_one = turn.leaves.target == turn.enters.target and all(map(_overwrites, turn.ends))
    return is_one and bool(first) and first == last and turn.before.op == turn.after.op == "read"


def is_idempotent(turn: Turn, graphs: FlowGraphs, locking: Container[Place]) -> bool:
    """Whether a look only decides to write what the others wrote too: `if not done: done = True`.

    `locking` are the places where locks are acquired, which do nothing else.
    """
    known = _known(turn.leaves, graphs)
    written = _what_is_there_then(turn.enters, graphs)
    if known is None or not written or not _is_read(known, turn.leaves):
        return False
    writes = [step for step in (turn.before, turn.after) if step.op == "write"]
    if not writes or any(_what_is_there_then(step, graphs) != written for step in writes):
        return False
    is_one = len({step.target for step in (*turn.ends, *writes)}) == 1
    place = graphs.place(turn.leaves.at)
    return is_one and all(
        _is_harmless(known.graph, one) or (place is not None and place._replace(node=one) in locking)
        for one in known.graph.reached(known.number)
    )


def _what_is_there_then(step: ShownStep, graphs: FlowGraphs) -> str | None:
    """What a location has after a write, whatever it had before: a literal, or an element that was added to a set."""
    if step.op == "write" and step.operation == "add" and step.field == ELEMENT:
        return "added"
    return _constant(step, graphs) if _overwrites(step) else None


def _is_harmless(graph: FlowGraph, number: int) -> bool:
    """Whether a node that rests on a look does nothing but to write something, always the same and to the same place.

    Whether others write something else there is a question of its own.
    """
    node = graph.nodes[number]
    given = (graph.nodes[edge.to] for edge in graph.into[number] if edge.how in (KEY, VALUE))
    is_fixed = all(one.kind == "param" for one in given)
    is_same = node.facts.get("value") == "literal" or node.facts.get("op") == "add"
    return (node.kind == "write" and is_same and is_fixed) or node.kind == "cond" or node.passes_on


def is_phase(turn: Turn, graphs: FlowGraphs) -> bool:
    """Whether one literal is written after the other, and another only compares what it sees.

    None is no phase: nothing is there for a while.
    """
    is_one = turn.leaves.target == turn.enters.target == turn.after.target == turn.before.target
    literals = {_literal(step, graphs) for step in (turn.leaves, turn.enters)}
    are_literals = literals.isdisjoint({None, "None"})
    return is_one and are_literals and all(_only_decides(step, graphs) for step in (turn.before, turn.after))


def _only_decides(step: ShownStep, graphs: FlowGraphs) -> bool:
    known = _known(step, graphs)
    if known is None or step.op != "read" or not _is_read(known, step):
        return False
    uses = known.graph.uses(known.number)
    return bool(uses) and all(known.graph.nodes[one].kind == "cond" for one in uses)


def empties(step: ShownStep, graphs: FlowGraphs) -> bool:
    """Whether a step throws away what was there: it clears a container, or writes zero or something empty."""
    if step.op == "write" and step.operation == "clear":
        return True
    literal = _literal(step, graphs)
    return literal in _EMPTY and _overwrites(step)


def writes_value(step: ShownStep, graphs: FlowGraphs) -> bool:
    """Whether a step gives a location a new value: `n = 1`, or one made of the old: `n += 1`."""
    if step.op != "write" or step.field == STRUCTURE:
        return False
    return _overwrites(step) or _update(step, graphs) is not None


def counts(step: ShownStep, graphs: FlowGraphs) -> bool:
    """Whether a step makes a number another one by adding or subtracting a literal number."""
    update = _update(step, graphs) if step.op == "write" else None
    return update is not None and update.facts.get("operator") in ("+", "-") and update.facts.get("operand") == "number"


def is_overwritten(turn: Turn) -> bool:
    """Whether all that happens is that one value after the other is written to one location.

    Then the unit's last write decides, whoever wrote before it. Whoever reads a value in between has a turn of its own.
    """
    steps = (*turn.ends, turn.before, turn.after)
    return len({step.target for step in steps}) == 1 and all(_overwrites(step) for step in steps)


def _overwrites(step: ShownStep) -> bool:
    """Whether a step puts a new value in the place of the old one, and does not change a container."""
    if step.field == STATE:
        return step.op == "write" and step.operation in _SETTING
    is_cell = step.field not in (STRUCTURE, QUEUE, PICKED_QUEUE, ANY_KEY)
    return step.op == "write" and is_cell and step.operation in (None, "__setitem__", "setattr", "__setattr__")


# ---- appended, taken out and put back


def appends(turn: Turn, *, is_written: bool) -> bool:
    """Whether others append or put between two appends or puts, or between a write of something else and one of these.

    Then all that others can tell is in which order the entries are. `is_written`: the unit itself writes what it
    accesses first before it goes on, as it does to take out all that is there.
    """
    if not (_appends(turn.before) and _appends(turn.enters)):
        return False
    if _appends(turn.leaves):
        return _appends(turn.after)
    return (turn.leaves.op == "write" or is_written) and turn.leaves.target != turn.enters.target


def takes(operation: str | None) -> bool:
    """Whether an operation takes an element out of a container."""
    return operation in _TAKING


def gives_content(operation: str | None) -> bool:
    """Whether an operation that changes a container gives something that was in it."""
    return operation in _GIVING


def puts(step: ShownStep) -> bool:
    """Whether an element is put into a container."""
    return step.op == "write" and step.operation in _PUTTING


def _appends(step: ShownStep) -> bool:
    is_put = step.field in _QUEUES and not gets(step)
    return step.op == "write" and (is_put or (step.operation or "") in _APPENDING)


# ---- queues: what is put goes to one end, what is taken comes from the other


def puts_in_queue(step: ShownStep) -> bool:
    return step.op == "write" and step.field in _QUEUES and step.operation in _PUTS


def gets(step: ShownStep) -> bool:
    """Whether a step takes an item out of a queue."""
    return step.op == "write" and step.field in _QUEUES and step.operation in _GETS


def own_lock(step: ShownStep) -> str | None:
    """The lock whose state a step accesses, as locks are called: to hold it would answer the question."""
    return step.location.partition(" (")[0] if step.field == STATE else None


def is_beside_primitive(turn: Turn) -> bool:
    """Whether one access is of a primitive and the other of something else: it is no part of what holds it."""
    is_other = turn.enters.target != turn.leaves.target
    is_beside_state = is_other and STATE in (turn.enters.field, turn.leaves.field)
    return is_beside_state or (turn.enters.field in _QUEUES) != (turn.leaves.field in _QUEUES)


def asks_itself(turn: Turn, graphs: FlowGraphs) -> bool:
    """Whether a look only decides to do what looks by itself whether it still can: a future that is done stays so."""
    is_one = turn.leaves.target == turn.enters.target and turn.enters.field == STATE
    return is_one and turn.enters.operation == "cancel" and _only_decides(turn.leaves, graphs)


def at_other_end(steps: Sequence[ShownStep]) -> frozenset[str]:
    """The operations that do not get in the way of these because they are at the other end of a queue."""
    if all(map(puts_in_queue, steps)):
        return _GETS
    return _PUTS if all(map(gets, steps)) else frozenset()


def are_taken_in_pairs(sites: Iterable[int], operation: Callable[[int], str | None], graphs: FlowGraphs) -> bool:
    """Whether somebody takes two items one after the other, and makes one thing of them. `sites` are of a queue."""
    places = [place for site in sites if operation(site) in _GETS and (place := graphs.place(site)) is not None]
    pairs = ((one, other) for one in places for other in places if one.function == other.function)
    return any(one.node < other.node and is_pair(graphs.of(one.function), one.node, other.node) for one, other in pairs)


def is_pair(graph: FlowGraph | None, first: int, last: int) -> bool:
    """Whether two values go into one value, condition or result, and not as two of any number of them."""
    if graph is None or first == last or graph.nodes[first].loops != graph.nodes[last].loops:
        return False
    return graph.joins(first, last)


def is_taken_and_put_back(turn: Turn, unit: Unit, graphs: FlowGraphs) -> bool:
    """Whether an element is taken out of a container and put back, or put in and removed, by one unit.

    Whoever has it may change it, for nobody else has it; unless something stands in for it where there is none.
    """
    first, last = turn.leaves, turn.enters
    if gets(first) and puts_in_queue(last) and first.target == last.target:
        return True
    if (first.operation or "") in _PUTTING and (last.operation or "") in _BY_VALUE:
        return first.object == last.object
    if (first.operation or "") not in _TAKING or (last.operation or "") not in _PUTTING or first.object != last.object:
        return False
    one, other = _known(first, graphs), _known(last, graphs)
    if one is not None and _has_default(one, None if unit.first_inner else unit.last):
        return False
    if one is None or other is None or one.graph is not other.graph:
        return True  # by way of what one call returns and another takes
    is_same = any(edge.to == other.number for edge in one.graph.edges[one.number])
    uses = (one.graph.nodes[use] for use in one.graph.uses(one.number))
    return is_same and all(use.kind != "cond" or _is_whether_any(one.graph, use, other.node) for use in uses)


def _has_default(taken: _Known, put: int | None) -> bool:
    """Whether a literal stands in for what is taken out if there is nothing, and is put in then: it was not there.

    `put` is the node by which the same function puts it in; None: the function gives it to its caller.
    """
    graph = taken.graph
    if taken.node.facts.get("op") == "pop" and taken.node.facts.get("literal", "None") != "None":
        return True  # `pop(key, 0)`
    ends = [put]
    if put is None:
        if any("literal" in one.facts for one in graph.nodes if one.kind == "return"):
            return True
        ends = [one for one in graph.reached(taken.number, explicit=True) if graph.nodes[one].kind in LEAVING]
    for number, node in enumerate(graph.nodes):
        branch = node.facts.get("branch", -1)
        if "caught" in node.facts and taken.node.arms.get(branch) == 0:
            after = [end for end in ends if end is not None and branch not in graph.nodes[end].arms]
            # a handler that leaves decides on what comes after it
            come_to = [end for end in after if not any(edge.to == end for edge in graph.edges[number])]
            if any(not _is_made_by_handler(graph, branch, end) for end in come_to):
                return True
    return False


def _is_made_by_handler(graph: FlowGraph, branch: int, end: int) -> bool:
    """Whether a handler makes something that goes there: a new element in the place of one that is not there."""
    made = (number for number, node in enumerate(graph.nodes) if node.arms.get(branch, 0) > 0 and not _is_box(node))
    return any(end in graph.reached(number, explicit=True) for number in made)


def _is_box(node: Node) -> bool:
    """Whether a literal is only put into something, or something is only made for it."""
    is_empty = node.kind == "call" and node.facts.get("name") in _BOXES and "given" not in node.facts
    return "wraps" in node.facts or node.facts.get("value") == "literal" or is_empty


def _is_whether_any(graph: FlowGraph, condition: Node, put: Node) -> bool:
    """Whether a condition is that something was taken at all, and nothing is put back if not."""
    branch, shape = condition.facts.get("branch", -1), condition.facts.get("shape")
    if shape == "? is None":
        return put.arms.get(branch) == 1 or (put.arms.get(branch) is None and exits(graph, branch, 0))
    return shape == "? is not None" and put.arms.get(branch) == 0
