"""Findings made from witnesses: patterns, explanations, fingerprints and merging."""

from __future__ import annotations

from pathlib import Path

import pytest

import atomsan
from atomsan import Trace, TraceBuilder
from atomsan.checkers.results import NO_REGION, Edge, Step, Transaction, Witness
from atomsan.findings.finding import Finding, merge_findings
from atomsan.findings.making import TraceNames, findings_of
from atomsan.findings.patterns import PATTERNS, pattern_of
from atomsan.findings.wording import EDGES, UnexplainedEdgeError, meaning
from atomsan.trace.events import Op
from findings.made import made
from findings.staged import staged


def witness(trace: Trace, path: str, blamed: tuple[str, int] | None, count: int = 1) -> Witness:
    """A witness from a path such as `1 read-write 2 write-write 3 program-order`: events and edges."""
    words = path.split()
    rows = [row for batch in trace.batches() for row in batch.rows()]
    owners = _owners(trace)
    steps = [
        Step(event, *rows[event], *owners[event], Edge(edge))
        for event, edge in zip(map(int, words[::2]), words[1::2], strict=True)
    ]
    name = blamed and Transaction(trace.symbols.threads.find(blamed[0]) or 0, blamed[1])
    return Witness(steps, name, count)


def _owners(trace: Trace) -> list[tuple[int, int]]:
    """(number, outermost region) of the transaction of each event."""
    numbers: dict[str, int] = {}
    open_regions: dict[str, list[str]] = {}
    owners = []
    for event in trace:
        stack = open_regions.setdefault(event.thread, [])
        if event.op is Op.BEGIN:
            numbers[event.thread] = numbers.get(event.thread, 0) + (not stack)
            stack.append(event.target)
        region = trace.symbols.regions.find(stack[0]) if stack else NO_REGION
        owners.append((numbers[event.thread] if stack else 0, region if region is not None else NO_REGION))
        if event.op is Op.END:
            stack.pop()
    return owners


def finding(line: str, path: str, blamed: tuple[str, int] | None = ("T", 1)) -> Finding:
    trace = atomsan.parse(line)
    (found,) = findings_of([witness(trace, path, blamed)], TraceNames(trace), "observed")
    return found


# ---- patterns


@pytest.mark.parametrize(
    ("line", "path", "pattern"),
    [
        ("T:r(x) U:w(x) T:w(x)", "1 read-write 2 write-write 3 program-order", "lost update"),
        ("T:r(x) U:w(x) T:r(x)", "1 read-write 2 write-read 3 program-order", "stale read"),
        ("T:w(x) U:r(x) T:w(x)", "1 write-read 2 read-write 3 program-order", "dirty read"),
        ("T:w(x) U:w(x) T:r(x)", "1 write-write 2 write-read 3 program-order", "overwritten write"),
        ("T:w(x) U:w(x) T:w(x)", "1 write-write 2 write-write 3 program-order", "overwritten write"),
        (
            "T:w(x) U:r(x) U:w(y) T:r(y)",
            "1 write-read 2 program-order 3 write-read 4 program-order",
            "inconsistent view",
        ),
        (
            "T:acq(l) T:rel(l) U:acq(l) U:rel(l) T:acq(l)",
            "2 lock 3 program-order 4 lock 5 program-order",
            "split critical section",
        ),
        (
            "T:fork(U) U:r(x) T:join(U)",
            "1 fork 2 join 3 program-order",
            "wait inside",
        ),
        (
            "T:post(h) U:take(h) U:post(g) T:take(g)",
            "1 hand-over 2 program-order 3 hand-over 4 program-order",
            "wait inside",
        ),
    ],
)
def test_witness_is_matched_to_its_pattern(line: str, path: str, pattern: str) -> None:
    found = finding(f"T:begin(f) {line} T:end(f)", path)
    assert (found.pattern, found.kind, found.status, found.region) == (pattern, "atomicity", "observed", "f")


def test_every_pattern_can_be_matched_and_fills_its_sentence() -> None:
    for row in PATTERNS:
        leaves, between, returns = (next(iter(ops), "write") for ops in (row.leaves, row.between, row.returns))
        words = {"does": "writes", "does_later": "writes", "does_between": "reads"}
        for text in (row.meaning, row.meaning_if_made):
            text.format(thread="T", other="U", location="x", left="l", **words)
        if row is not PATTERNS[-1]:
            assert pattern_of(leaves, frozenset({between}), returns, same_location=row.same_location) is row


# ---- explanations


def test_explanation_hint_and_steps_of_a_lost_update() -> None:
    found = finding("T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)", "1 read-write 2 write-write 3 program-order")
    assert found.explanation == (
        "T reads x (the text: event 1), then U writes it (the text: event 2).",
        "U writes x (the text: event 2), then T writes it again (the text: event 3).",
        "T reads x and later writes it, and U writes it in between: what was read may no longer hold.",
    )
    assert (
        found.hint == "make what T does from its read of x (event 1) to its write of x (event 3) one critical section"
    )
    assert (found.first_event, found.first_place, found.count) == (3, "the text: event 3", 1)
    assert [step.to_dict()["edge"] for step in found.witness] == [
        {"to": 2, "kind": "read-write"},
        {"to": 3, "kind": "write-write"},
        {"to": 1, "kind": "program-order"},
    ]
    assert [(step.thread, step.transaction, step.region) for step in found.witness] == [
        ("T", 1, "f"),
        ("U", None, None),
        ("T", 1, "f"),
    ]


def test_cycle_without_a_blamed_transaction_is_a_mutual_order() -> None:
    found = finding(
        "T:begin(f) U:begin(g) T:w(x) U:w(y) U:r(x) T:r(y)",
        "2 write-read 4 program-order 3 write-read 5 program-order",
        None,
    )
    assert (found.kind, found.pattern, found.region) == ("cycle", "mutual order", "f")
    assert found.hint == (
        "hold one lock over what T does from its write of x (event 2) to its read of y (event 5),"
        " and over what U does from its write of y (event 3) to its read of x (event 4)"
    )
    assert found.explanation[:3] == (
        "T writes x (the text: event 2), then U reads it (the text: event 4).",
        "U came to write y (the text: event 3) already before read x (the text: event 4).",
        "U writes y (the text: event 3), then T reads it (the text: event 5).",
    )
    turned = finding(
        "T:begin(f) U:begin(g) T:w(x) U:w(y) U:r(x) T:r(y)",
        "3 write-read 5 program-order 2 write-read 4 program-order",
        None,
    )
    assert turned.id == found.id, "the id does not depend on the first step"


def test_program_order_between_transactions_is_explained() -> None:
    found = finding(
        "T:begin(f) T:w(x) U:r(x) U:w(y) T:r(y) T:end(f)",
        "1 write-read 2 program-order 3 write-read 4 program-order",
    )
    assert "U comes to write y (the text: event 3) after read x (the text: event 2)." in found.explanation


@pytest.mark.parametrize(
    "path",
    [
        "1 write-read 2 write-write 3 program-order",  # event 1 reads
        "1 read-write 2 lock 3 program-order",
        "1 read-write 4 program-order",  # another variable
        "3 write-write 2 program-order",  # against the order of events
        "1 program-order 2 write-write 3 program-order",  # another thread
        "1 fork 2 write-write 3 program-order",
        "1 read-write 2 join 3 program-order",
    ],
)
def test_an_edge_that_cannot_be_explained_raises(path: str) -> None:
    with pytest.raises(UnexplainedEdgeError):
        finding("T:begin(f) T:r(x) U:w(x) T:w(x) U:w(z) T:end(f)", path)


def test_a_witness_that_does_not_lead_back_raises() -> None:
    with pytest.raises(UnexplainedEdgeError, match="does not lead out of T #1 and back"):
        finding("T:begin(f) T:r(x) T:w(x)", "1 program-order 2 program-order")


def test_every_edge_kind_has_a_wording() -> None:
    assert set(EDGES) == set(Edge)


# ---- names, fingerprints, merging


def accounts(
    first: str, second: str, *, field: str = "balance", line: int = 14, store: str = "self.balance = b + 1"
) -> Finding:
    """A lost update on an object, at lines with a text. The statements in their normal form are always the same."""
    builder = TraceBuilder()
    builder.symbols.locations.intern(first, **{"class": "Account", "field": field})
    lines = (line, "b = self.balance", "b = self.balance"), (line + 2, store, "self.balance = b + 1")
    for at, text, normal in lines:
        place = {"file": "bank.py", "line": at, "column": 4, "function": "deposit"}
        builder.symbols.sites.intern(f"s{at}", text=text, normal=normal, **place)
    builder.add(second, "begin", "bank:Account.deposit")
    builder.add(second, "r", first, f"s{line}").add("other", "w", first, f"s{line + 2}")
    builder.add(second, "w", first, f"s{line + 2}").add(second, "end", "bank:Account.deposit")
    trace = builder.build()
    (found,) = findings_of(
        [witness(trace, "1 read-write 2 write-write 3 program-order", (second, 1), count=3)],
        TraceNames(trace),
        "observed",
    )
    return found


def test_fingerprint_depends_on_class_field_and_source_text() -> None:
    found = accounts("Account#1.balance", "T")
    assert found.id == accounts("Account#2.balance", "T7", line=40).id
    assert found.id != accounts("Account#1.balance", "T", field="limit").id
    assert found.id == accounts("Account#1.balance", "T", store="self.balance = (b +").id, "formatting changes nothing"
    assert found.witness[0].location == "Account.balance"
    assert found.hint == "make lines 14 to 16 of bank.py one critical section"
    assert found.witness[0].to_dict()["site"] == {
        "file": "bank.py",
        "line": 14,
        "column": 4,
        "function": "deposit",
        "text": "b = self.balance",
    }


def test_findings_with_the_same_fingerprint_are_merged() -> None:
    first, second = accounts("Account#1.balance", "T"), accounts("Account#2.balance", "U")
    (both,) = merge_findings([first, second])
    assert (both.count, both.witness) == (6, first.witness)
    (same,) = merge_findings([first, second], counts=max)
    assert same.count == 3


def test_site_with_only_a_name_is_shown_as_text() -> None:
    trace = TraceBuilder().add("T", "begin", "f").add("T", "r", "x", "12").add("U", "w", "x").add("T", "w", "x").build()
    (found,) = findings_of(
        [witness(trace, "1 read-write 2 write-write 3 program-order", ("T", 1))], TraceNames(trace), "observed"
    )
    assert found.witness[0].to_dict()["site"] == {
        "file": None,
        "line": None,
        "column": None,
        "function": None,
        "text": "12",
    }
    assert found.witness[1].to_dict()["site"] is None
    assert found.explanation[0].startswith("T reads x (12), then U writes it (the trace built: event 2)")


# ---- what came of it, in true sentences


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (
            "T get_nowait q$ > U get_nowait q$ > T get_nowait q$",
            "T takes from q$ and later takes from it, and U takes from it in between.",
        ),
        (
            "T put q$ > U put q$ > T put q$",
            "T puts into q$ and later puts into it, and U puts into it in between.",
        ),
        (
            "T write A.n > U write A.n > T write A.n",
            "T writes A.n and later writes it, and U writes it in between.",
        ),
        (
            "T append A.items# > U append A.items# > T len A.items#",
            "T changes A.items# and later reads it, and U changes it in between: it need not find what it left there.",
        ),
        (
            "T len A.items# > U append A.items# > T append A.items#",
            "T reads A.items# and later changes it, and U changes it in between: what was read may no longer hold.",
        ),
    ],
)
def test_what_is_done_is_said_by_the_operation(path: str, words: str) -> None:
    steps = made(path).witness
    pattern = pattern_of(steps[0].op, frozenset({steps[1].op}), steps[2].op, same_location=True)
    assert meaning(pattern, steps, (0, 2)) == words


def test_nothing_is_said_to_be_in_between_that_was_not() -> None:
    """A cycle follows an order and not the time: here the other wrote after all that the one did."""
    steps = made("T@1 read A.x > U@5 write A.x > U@2 read A.x > T@3 write A.x").witness
    pattern = pattern_of("read", frozenset({"read", "write"}), "write", same_location=True)
    assert pattern.name == "lost update"
    assert meaning(pattern, steps, (0, 3)) == (
        "U comes after one part of what T does and before another: no order of the two explains both."
    )


def test_steps_against_the_time_are_said_to_be() -> None:
    found = finding(
        "T:begin(f) U:begin(g) U:w(y) T:r(x) U:w(x) U:end(g) T:r(y) T:end(f)",
        "3 read-write 4 program-order 2 write-read 6 program-order",
    )
    assert found.explanation == (
        "T reads x (the text: event 3), then U writes it (the text: event 4).",
        "U came to write y (the text: event 2) already before write x (the text: event 4).",
        "U writes y (the text: event 2), then T reads it (the text: event 6).",
        "U comes after one part of what T does and before another: no order of the two explains both.",
    )


LOST = "rests on what it read before"
STALE = "what was read may no longer hold."


@pytest.mark.parametrize(
    ("unit", "other", "words"),
    [
        ("value = box.get(); turn(); box.set(value + 1)", "box.set(5)", LOST),
        ("value = box.x; turn(); box.x = value + 1", "box.x = 5", LOST),
        ("box.x = box.x + (turn() or 1)", "box.x = 5", LOST),
        ("box.x += turn() or 1", "box.x = 5", LOST),
        ("table = dict(box.table)\ntable[1] = 2\nturn()\nbox.table = table", "box.table = {3: 4}", LOST),
        # the read only decides
        ("value = box.x\nif value < 3:\n    turn()\n    box.x = 7", "box.x = 5", STALE),
        ("if len(box.items) < 3:\n    turn()\n    box.items.append(1)", "box.items.append(2)", STALE),
        # both calls are given the same thing, and the first one only looks
        ("key = object()\nif box.free(key):\n    turn()\n    box.book(key, 2)", "box.set(5)", STALE),
        # it looks again, and finds what it expects
        ("value = box.get(); turn(); box.swap(value, (value, 1))", "box.set(5); box.set(0)", STALE),
        # another argument is what is written
        ("value = box.get(); turn(); box.replace(value, 3)", "box.set(5)", STALE),
    ],
)
def test_write_is_lost_only_where_it_is_made_of_what_was_read(
    tmp_path: Path, unit: str, other: str, words: str
) -> None:
    more = """
    def replace(self, old, new):
        with self.lock:
            if old is not None:
                self.x = new

    def swap(self, old, new):
        with self.lock:
            if self.x == old:
                self.x = new

    def free(self, key):
        return self.x == 0

    def book(self, key, who):
        self.x = who

    Box.replace, Box.swap, Box.free, Box.book = replace, swap, free, book
    """
    report = staged(tmp_path, unit, other, more)
    found = [one for one in (*report.findings, *report.suspects, *report.notes) if one.pattern == "lost update"]
    assert found
    assert all(words in one.explanation[-1] for one in found), [one.explanation[-1] for one in found]
