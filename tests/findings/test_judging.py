"""Judging: which violations are findings, suspects or notes.

Most tests record a small program: one thread does `unit`, and where that says `turn()`, another does `other`.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from atomsan.findings import reasons
from atomsan.findings.access_facts import commuting
from atomsan.findings.judging import Evidence, Violations, judge, with_marked
from atomsan.findings.reasons import LEVELS, Reason
from findings.made import made, step
from findings.staged import staged


class Case(NamedTuple):
    unit: str
    other: str
    more: str = ""


FOUND = Reason("finding", "")


def strongest(directory: Path, case: Case) -> set[Reason]:
    """The reasons of the surest level among the violations of a program."""
    report = staged(directory, *case)
    judged = {Reason(one.level, one.why or "") for one in (*report.findings, *report.suspects, *report.notes)}
    surest = min((LEVELS.index(reason.level) for reason in judged), default=None)
    return {reason for reason in judged if LEVELS.index(reason.level) == surest}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMSAN_CACHE", str(tmp_path_factory.getbasetemp() / "atomsan-cache"))


# ---- notes, each with a racy neighbour

CHECK_UNDER_LOCK = "with box.lock:\n    if box.made is None:\n        box.made = object()"
DOUBLE_CHECK = "if box.made is None:\n    turn()\n    with box.lock:\n"
CHECK_IN_CALLS = """
def is_missing():
    return box.made is None
def make():
    with box.lock:
        if box.made is None:
            box.made = object()
"""


def loop(body: str) -> str:
    """A function with a loop. A thread does not begin with it, so that the loop is no sequence of units by itself."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"def work(n):\n    last, found = 0, []\n    for i in range(2):\n{lines}    other_box.made = found, last\n"


ITEMS = """
box.items.append(0)
def is_any():
    with box.lock:
        return len(box.items) > 0
"""
TWO = "box.items += [1, 2]"
SHOW_IF_ANY = "if box.x > 0:\n    turn()\n    other_box.y = box.x"
IN_LOOP = "n = 1\nwork(n)\nother_box.items = n"

JOBS = "import queue\njobs = queue.Queue()\nfor n in range(5): jobs.put(n)"
STACK = JOBS.replace(".Queue", ".LifoQueue")
PAIR = "a = jobs.get_nowait()\nturn()\nb = jobs.get_nowait()\nother_box.made = a, b"
SOME = """
def some():
    found = [jobs.get_nowait()]
    for _ in range(2):
        turn()
        found.append(jobs.get_nowait())
    return found
"""
PUTS = "jobs.put(1)\nturn()\njobs.put(2)"

ENTER = "def enter(k):\n    is_new = k not in box.names\n    turn()\n    if is_new: box.names.add(k)"

NOTES = {
    "commutes: other keys come and go": (
        Case("box.table[1] = 1\nturn()\ndel box.table[1]", "box.table[2] = 2\ndel box.table[2]"),
        reasons.COMMUTES,
    ),
    "commutes: who looked first comes first": (
        Case("if len(box.table) < 1:\n    turn()\n    box.table[1] = 1", "box.table[2] = 2"),
        reasons.COMMUTES,
    ),
    "commutes: put at one end of a queue, taken at the other": (Case(PAIR, "jobs.put(9)", JOBS), reasons.COMMUTES),
    "commutes: taken at one end of a queue, put at the other": (
        Case(PUTS, "box.x = jobs.get_nowait()", JOBS),
        reasons.COMMUTES,
    ),
    "handed out: an item, and something else": (
        Case("n = jobs.get_nowait()\nturn()\nbox.x = n", "n = jobs.get_nowait()\nbox.x = n", JOBS),
        reasons.HANDED_OUT,
    ),
    "sums: each step is whole": (
        Case("with box.lock: box.x += 1\nturn()\nwith box.lock: box.x -= 1", "with box.lock: box.x += 1"),
        reasons.SUMS,
    ),
    "unused: nothing is made of what was read": (
        Case("box.x\nturn()\nbox.y = 1", "box.x = 1\nn = box.y\nother_box.y = n"),
        reasons.UNUSED,
    ),
    "same literal: a flag is set once more": (
        Case("if not box.x:\n    turn()\n    box.x = True", "box.x = True"),
        reasons.SAME_LITERAL,
    ),
    "same literal: an element is added once more": (
        Case("is_new = 'a' not in box.names\nturn()\nif is_new: box.names.add('a')", "box.names.add('a')"),
        reasons.SAME_LITERAL,
    ),
    "same literal: an element is added once more, by a function": (
        Case("enter('a')", "enter('a')", ENTER),
        reasons.SAME_LITERAL,
    ),
    "same literal: written twice": (Case("box.x = 1\nturn()\nbox.x = 1", "other_box.y = box.x"), reasons.SAME_LITERAL),
    "overwritten: the last write decides": (Case("box.x = 1\nturn()\nbox.x = 2", "box.x = 3"), reasons.OVERWRITTEN),
    "checked again under the lock": (
        Case(DOUBLE_CHECK + "        if box.made is None:\n            box.made = object()", CHECK_UNDER_LOCK),
        reasons.CHECKED_AGAIN,
    ),
    "checked again in other functions": (
        Case("if is_missing():\n    turn()\n    make()", "make()", CHECK_IN_CALLS),
        reasons.CHECKED_AGAIN,
    ),
    "iterations: nothing is carried": (
        Case(IN_LOOP, "other_box.y = box.get()", loop("box.set(i)\nturn()")),
        reasons.ITERATIONS,
    ),
    "kept: there are still items": (
        Case("if box.items:\n    turn()\n    box.items.pop()", "box.items.append(1)", ITEMS),
        reasons.KEPT,
    ),
    "kept: there are still items, in a loop": (
        Case("while box.items:\n    turn()\n    box.items.pop()", "box.items.append(1)", ITEMS),
        reasons.KEPT,
    ),
    "kept: the number of items in a local": (
        Case("n = len(box.items)\nif n > 1: return\nturn()\nbox.items.append(1)", "box.items.pop()", ITEMS),
        reasons.KEPT,
    ),
    "kept: there are still items, says a function": (
        Case("if not is_any(): return\nturn()\nbox.items.pop()", "box.items.append(1)", ITEMS),
        reasons.KEPT,
    ),
    "kept: still above zero": (Case(SHOW_IF_ANY, "box.x += 2", "box.x = 1"), reasons.KEPT),
    "kept: still no flag": (
        Case("if not box.x:\n    turn()\n    box.x = True", "box.x = False"),
        reasons.KEPT,
    ),
    "kept: the key is still there": (
        Case("if 'a' in box.table:\n    turn()\n    box.table['a'] = 3", "box.table['a'] = 2", "box.table['a'] = 1"),
        reasons.KEPT,
    ),
    "order: two locked calls": (Case("box.get()\nturn()\nbox.get()", "box.get()"), reasons.ORDER_ONLY),
}


@pytest.mark.parametrize("name", NOTES)
def test_proof_makes_a_note(name: str, tmp_path: Path) -> None:
    case, reason = NOTES[name]
    assert reason.level == "note"
    assert strongest(tmp_path, case) == {reason}


NEIGHBOURS = {
    "commutes: both looked at the size": Case(
        "if len(box.table) < 1:\n    turn()\n    box.table[1] = 1", "if len(box.table) < 1:\n    box.table[2] = 2"
    ),
    "commutes: the same key is seen": Case("box.table[1] = 1\nturn()\ndel box.table[1]", "box.y = box.table.get(1)"),
    "commutes: others take from the same queue": Case(PAIR, "box.x = jobs.get_nowait()", JOBS),
    "commutes: a look at the queue": Case(
        "if not jobs.empty():\n    turn()\n    box.x = jobs.get()", "other_box.x = jobs.get_nowait()", JOBS
    ),
    "handed out: two items": Case(PAIR, PAIR, JOBS),
    "sums: a step is torn apart": Case(
        "with box.lock: n = box.x\nturn()\nwith box.lock: box.x = n + 1", "with box.lock: box.x += 1"
    ),
    "sums: of text": Case(
        "with box.lock: box.made += 'a'\nturn()\nwith box.lock: box.made += 'b'",
        "with box.lock: box.made += 'c'",
        "box.made = ''",
    ),
    "sums: what is read is added to something else": Case(
        "with box.lock: here = box.x\nturn()\nwith box.lock: other_box.y += box.x != here", "with box.lock: box.x += 1"
    ),
    "sums: what is read is added to something else, spelled out": Case(
        "with box.lock: here = box.x\nturn()\nwith box.lock: other_box.y = other_box.y + (box.x != here)",
        "with box.lock: box.x = box.x + 1",
    ),
    "unused: what was read is kept": Case("n = box.x\nturn()\nbox.y = n", "box.x = 1\nn = box.y\nother_box.y = n"),
    "same literal: both do more than to set the flag": Case(
        "if not box.x:\n    turn()\n    box.x = True\n    box.y += 1", "if not box.x:\n    box.x = True\n    box.y += 1"
    ),
    "same literal: more than an element is added": Case("enter('a')", "enter('a')", ENTER + "; box.y = k"),
    "same literal: whether an element was added is told": Case(
        "other_box.y = enter('a')", "other_box.x = enter('a')", ENTER + "; return True"
    ),
    "same literal: two literals": Case("box.x = 1\nturn()\nbox.x = 2", "other_box.y = box.x"),
    "overwritten: by what was read before": Case("n = box.x\nturn()\nbox.x = n", "box.x = 3"),
    "checked again: not checked": Case(DOUBLE_CHECK + "        box.made = object()", CHECK_UNDER_LOCK),
    "checked again: the first value is kept": Case(
        "n = box.made\nif n is None:\n    turn()\n    with box.lock:\n        if box.made is None:\n"
        "            box.made = object()\nother_box.made = n",
        CHECK_UNDER_LOCK,
    ),
    "checked again: by another condition": Case(
        "if box.x < 5:\n    turn()\n    with box.lock:\n        if box.x < 9:\n            box.x = 7",
        "with box.lock:\n    box.x = 8",
    ),
    "iterations: a value is carried": Case(
        IN_LOOP, "box.set(9)", loop("if i: box.set(last)\nlast = box.get() + 1\nturn()")
    ),
    "kept: no item may be left": Case("if box.items:\n    turn()\n    box.items.append(3)", "box.items.clear()", TWO),
    "kept: no item may be left, in a loop": Case(
        "while box.items:\n    turn()\n    box.items.pop()", "box.items.pop()", TWO
    ),
    "kept: there are more items": Case(
        "n = len(box.items)\nif n > 1: return\nturn()\nbox.items.append(1)", "box.items.append(2)", ITEMS
    ),
    "kept: not as many items as before": Case(
        "if len(box.items) == 1:\n    turn()\n    box.items.pop()", "box.items.append(1)", ITEMS
    ),
    "kept: a slice is emptied": Case("if box.items:\n    turn()\n    box.items.pop()", "box.items[:1] = []", TWO),
    "kept: the number is used for more": Case(
        "n = len(box.items)\nif n:\n    turn()\n    box.items.append(n)", "box.items.append(1)", ITEMS
    ),
    "kept: below zero": Case(SHOW_IF_ANY, "box.x -= 1", "box.x = 1"),
    "kept: nobody knows how much is added": Case(SHOW_IF_ANY, "box.x += step", "box.x, step = 1, -1"),
    "kept: above what another value is": Case(
        "if box.x > box.y:\n    turn()\n    other_box.y = box.x", "box.x += 1\nbox.y += 9", "box.x = 1"
    ),
    "kept: the flag is set": Case("if not box.x:\n    turn()\n    box.x = 5", "box.x = True"),
    "kept: the key is gone": Case(
        "if 'a' in box.table:\n    turn()\n    box.table['a'] = 3", "del box.table['a']", "box.table['a'] = 1"
    ),
    "kept: another value is there now": Case(
        "if 'a' in box.items:\n    turn()\n    box.items[0] = 'c'", "box.items[0] = 'b'", "box.items = ['a']"
    ),
    "order: the second call gets what the first gave": Case("n = box.get()\nturn()\nbox.set(n + 2)", "box.set(3)"),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_racy_neighbour_of_a_note_is_a_finding(name: str, tmp_path: Path) -> None:
    assert strongest(tmp_path, NEIGHBOURS[name]) == {FOUND}


def test_every_rule_that_makes_a_note_has_a_racy_neighbour() -> None:
    assert {name.partition(":")[0].split()[0] for name in NOTES} == {
        name.partition(":")[0].split()[0] for name in NEIGHBOURS
    }


# ---- suspects, each with a neighbour that counts

KEY = """
class Key:
    def __hash__(self): return 1
    def __eq__(self, other): return True
"""
LET_GO = "    box.lock.release()\n    turn()\n    box.lock.acquire()\n"

SUSPECTS = {
    "no flow": (
        Case("box.set(1)\nturn()\nbox.set(2)", "other_box.y = box.get()"),
        reasons.NO_FLOW,
        Case("box.x = 1\nturn()\nbox.y = 2", "other_box.made = box.x, box.y"),
    ),
    "no flow: results that go into one": (
        Case("n = box.get()\nturn()\nbox.set(2)\nother_box.y = n", "box.set(3)"),
        reasons.NO_FLOW,
        Case("other_box.y = box.get() + (turn() or 0) + box.show()", "box.x, box.y = 1, 2"),
    ),
    "whole container": (
        Case("n = box.table.get(Key())\nturn()\nbox.table[Key()] = n", "box.table[Key()] = 7", KEY),
        reasons.WHOLE,
        Case("n = box.table.get(1)\nturn()\nbox.table[1] = n", "box.table[1] = 7"),
    ),
    "two objects": (
        Case("box.x = 1\nturn()\nother_box.y = 2", "n = box.x\nm = other_box.y\nbox.made = n + m"),
        reasons.ACROSS,
        Case("n = box.x\nturn()\nother_box.y = n", "box.x = 1\nother_box.y = 2"),
    ),
    "collected": (
        Case(IN_LOOP, "box.set(5)", loop("found.append(box.get())\nturn()")),
        reasons.COLLECTED,
        Case(IN_LOOP, "box.set(5)", loop("last += box.get()\nturn()")),
    ),
    "let in": (
        Case(
            f"with box.lock:\n    box.x = 1\n{LET_GO}    box.y = 2",
            "with box.lock:\n    n = box.x, box.y\nother_box.made = n",
        ),
        reasons.LET_IN,
        Case(f"with box.lock:\n    n = box.x\n{LET_GO}    box.x = n + 1", "with box.lock:\n    box.x = 7"),
    ),
    "phases": (
        Case("box.x = 'loading'\nturn()\nbox.x = 'done'", "if box.x == 'loading':\n    other_box.y = 1"),
        reasons.PHASES,
        Case("box.x = 'loading'\nturn()\nbox.x = 'done'", "other_box.y = box.x"),
    ),
    "validated by a mark": (
        Case(
            "box.x = 'busy'\nturn()\nwith box.lock:\n    if box.x == 'busy': box.y = 1",
            "with box.lock: box.x = 'free'",
        ),
        reasons.VALIDATED,
        Case(
            "box.x = 'busy'\nturn()\nwith box.lock:\n    if box.x == 'free': box.y = 1",
            "with box.lock: box.x = 'free'",
        ),
    ),
    "validated by what was read": (
        Case(
            "n = box.x\nturn()\nwith box.lock:\n    if box.x == n: box.x = n + 1",
            "with box.lock: box.x = 7",
        ),
        reasons.VALIDATED,
        Case(
            "n = box.x\nturn()\nwith box.lock:\n    if box.x == box.y: box.x = n + 1",
            "with box.lock: box.x = 7",
            "box.y = 7",
        ),
    ),
    "validated by which is larger": (
        Case(
            "n = box.x + 5\nturn()\nwith box.lock:\n    if n > box.x: box.x = n",
            "with box.lock: box.x = 2",
        ),
        reasons.VALIDATED,
        Case(
            "n = len(box.items) - 1\nturn()\nwith box.lock:\n"
            "    other_box.y = box.items[n] if n < len(box.items) else 0",
            "with box.lock: box.items.append(2)",
            "box.items.append(1)",
        ),
    ),
    "checked again in other words": (
        Case(
            DOUBLE_CHECK + "        if not box.made:\n            box.made = object()",
            "with box.lock:\n    box.made = object()",
        ),
        reasons.CHECKED_OTHERWISE,
        Case(
            DOUBLE_CHECK + "        if box.made != 1:\n            box.made = object()",
            "with box.lock:\n    box.made = object()",
        ),
    ),
    "appends": (
        Case("box.items.append(1)\nturn()\nbox.items.append(2)", "box.items.append(3)"),
        reasons.APPENDS,
        Case("box.items.append(1)\nturn()\nbox.items.append(2)", "other_box.made = list(box.items)"),
    ),
    "puts": (
        Case(PUTS, "jobs.put(3)", JOBS),
        reasons.APPENDS,
        Case(PUTS, "jobs.put(3)\na, b = jobs.get(), jobs.get()\nother_box.made = a, b", JOBS),
    ),
    "one by one": (
        Case("box.x = jobs.get_nowait()\nturn()\nother_box.y = jobs.get_nowait()", "n = jobs.get_nowait()", JOBS),
        reasons.ONE_BY_ONE,
        Case(PAIR, "n = jobs.get_nowait()", JOBS),
    ),
    "one by one: as many as there are": (
        Case("other_box.made = some()", "n = jobs.get_nowait()", JOBS + SOME),
        reasons.ONE_BY_ONE,
        Case(PAIR.replace("_nowait()", "(False)"), "n = jobs.get_nowait()", JOBS),
    ),
    "picked": (Case(PAIR, "jobs.put(9)", STACK), reasons.PICKED, Case(PAIR, "n = jobs.get_nowait()", STACK)),
    "taken out of a queue": (
        Case("n = jobs.get_nowait()\nturn()\njobs.put(n + 1)", "n = jobs.get_nowait()\njobs.put(n + 1)", JOBS),
        reasons.TAKEN,
        Case(PAIR, "n = jobs.get_nowait()\njobs.put(n + 1)", JOBS),
    ),
    "taken out": (
        Case("n = box.items.pop()\nturn()\nbox.items.append(n)", "other_box.y = len(box.items)", "box.items = [1]"),
        reasons.TAKEN,
        Case(
            "n = box.items.pop()\nif n:\n    turn()\n    box.items.append(n)",
            "other_box.y = len(box.items)",
            "box.items = [1]",
        ),
    ),
    "iteration of an entry loop": (
        Case("for _ in range(2):\n    box.x = 1\n    turn()\n    box.y = 1", "other_box.y = box.x + box.y"),
        reasons.ENTRY_LOOP,
        Case("for _ in range(2):\n    n = box.x\n    turn()\n    box.y = n", "box.x = 1\nbox.y = 1"),
    ),
    "unknown operands": (
        Case(
            "with box.lock: box.made += value\nturn()\nwith box.lock: box.made += value",
            "with box.lock: box.made += value",
            "import decimal\nvalue = decimal.Decimal(1)\nbox.made = decimal.Decimal(0)",
        ),
        reasons.OPERANDS,
        Case(
            "with box.lock: n = box.made\nturn()\nwith box.lock: box.made = n + value",
            "with box.lock: box.made += value",
            "import decimal\nvalue = decimal.Decimal(1)\nbox.made = decimal.Decimal(0)",
        ),
    ),
    "checked again without the lock": (
        Case(DOUBLE_CHECK + "        if box.made is None:\n            box.made = object()", "box.made = object()"),
        reasons.CHECKED_UNLOCKED,
        Case(DOUBLE_CHECK + "        box.made = object()", "box.made = object()"),
    ),
}


@pytest.mark.parametrize("name", SUSPECTS)
def test_doubt_makes_a_suspect(name: str, tmp_path: Path) -> None:
    case, reason, _ = SUSPECTS[name]
    assert reason.level == "suspect"
    assert strongest(tmp_path, case) == {reason}


@pytest.mark.parametrize("name", SUSPECTS)
def test_neighbour_of_a_suspect_is_a_finding(name: str, tmp_path: Path) -> None:
    assert strongest(tmp_path, SUSPECTS[name][2]) == {FOUND}


# ---- calls that no value ties, and that belong together all the same

EMPTYING = """
def reset():
    with box.lock: box.x = 0
def everything():
    with box.lock: return list(box.items)
def drop():
    with box.lock: box.items.clear()
def is_any():
    with box.lock: return len(box.items) > 0
box.items.append(1)
box.x = 1
"""


@pytest.mark.parametrize(
    ("unit", "other", "reason"),
    [
        # what is there is taken and emptied
        ("n = box.get()\nturn()\nreset()\nother_box.y = n", "box.add()", FOUND),
        ("n = everything()\nturn()\ndrop()\nreturn n", "with box.lock: box.items.append(2)", FOUND),
        ("print(*everything())\nturn()\ndrop()", "with box.lock: box.items.append(2)", FOUND),
        ("n = is_any()\nturn()\nother_box.y = n\ndrop()", "with box.lock: box.items.append(2)", FOUND),
        # a value is changed, and the new one is taken
        ("box.add()\nturn()\nother_box.y = box.get()", "box.add()\nother_box.x = box.get()", FOUND),
        ("box.add()\nturn()\nreturn box.get()", "box.add()\nreturn box.get()", FOUND),
        # what was written is taken as it is now
        ("box.set(1)\nturn()\nother_box.y = box.get()", "box.set(7)", FOUND),
        ("if box.get() == 1: box.set(2)\nturn()\nreturn box.get()", "reset()", FOUND),
        # the new one only decides, or is of other data; something is stored, and not thrown away
        ("box.add()\nturn()\nif box.get() > 3: other_box.y = 1", "box.add()\nbox.x = 1", reasons.NO_FLOW),
        ("box.set(1)\nturn()\nif box.get() > 3: other_box.y = 1", "box.set(7)", reasons.NO_FLOW),
        ("box.set(1)\nturn()\nother_box.y = box.show()", "box.y = box.x", reasons.NO_FLOW),
        ("n = box.get()\nturn()\nbox.set(0)\nother_box.y = n", "box.set(7)", reasons.NO_FLOW),
        ("n = box.show()\nturn()\nreset()\nother_box.y = n", "box.x += 1\nbox.y = box.x", reasons.NO_FLOW),
    ],
)
def test_what_is_taken_and_replaced_belongs_together(unit: str, other: str, reason: Reason, tmp_path: Path) -> None:
    assert strongest(tmp_path, Case(unit, other, EMPTYING)) == {reason}


# ---- recursion: each call asks by itself

RECURSION = """
def is_any():
    with box.lock: return box.x > 0
def take(left, more=True):
    {}
"""
ASKED_AGAIN = "if left and is_any(): turn(); return take(left - 1)\n    return left and (turn() or take(left - 1))"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (ASKED_AGAIN, reasons.RECURSIVE),
        (
            "if not left: return 0\n    if is_any(): print(end='')\n    turn()\n    return take(left - 1)",
            reasons.RECURSIVE,
        ),
        # the call does something else by the answer
        ("if more and not is_any(): turn(); take(left, False)\n    elif not more: box.set(9)", FOUND),
        # what both read goes into one value
        ("if not left: return 0\n    n = box.get()\n    turn()\n    return n + take(left - 1)", FOUND),
        # the answer goes into the call, and what is written there is made of it
        ("n = box.get()\n    box.set(more + 1)\n    turn()\n    if left: take(left - 1, n)", FOUND),
    ],
)
def test_recursive_call_asks_by_itself(body: str, reason: Reason, tmp_path: Path) -> None:
    assert strongest(tmp_path, Case("other_box.y = take(2)", "box.set(5)", RECURSION.format(body))) == {reason}


DELEGATING = """
def step(factor):
    there = box.x
    yield there
    {}
    box.x = there * factor
def steps():
    for factor in (2, 3):
        yield from step(factor)
        turn()
"""


@pytest.mark.parametrize(("inside", "reason"), [("pass", reasons.ITERATIONS), ("turn()", FOUND)])
def test_generators_that_another_one_runs_are_its_rounds(inside: str, reason: Reason, tmp_path: Path) -> None:
    case = Case("other_box.y = list(steps())", "box.x = 7", DELEGATING.format(inside))
    assert strongest(tmp_path, case) == {reason}


# ---- something that stands in for what is taken out: it is put in though it was not there

POOL = """
box.items += [5, 6]
def take():
    with box.lock:
        {}
def put(value):
    with box.lock:
        box.items.append(value)
def make():
    return 7
"""
TAKES = "try:\n            return box.items.pop()\n        except IndexError:\n            "
CALLS = "n = take()\nturn()\nput(n)"
INLINE = "try:\n    n = box.items.pop()\nexcept IndexError:\n    {}\nturn()\nbox.items.append(n)"


@pytest.mark.parametrize(
    ("unit", "takes", "reason"),
    [
        (CALLS, TAKES + "return 0", FOUND),
        (INLINE.format("n = 0"), "pass", FOUND),
        # nothing is put back, a new one is made, or it is refused
        (INLINE.format("return"), "pass", reasons.TAKEN),
        (INLINE.format("n = make()"), "pass", reasons.TAKEN),
        (
            "try:\n    n = box.items.pop()\nexcept IndexError:\n    pass\nelse:\n    turn()\n    put(n)",
            "pass",
            reasons.TAKEN,
        ),
        (CALLS, TAKES + "return make()", reasons.TAKEN),
        (CALLS, TAKES + "raise LookupError('none') from None", reasons.TAKEN),
        ("n = take() or make()\nturn()\nput(n)", TAKES + "return None", reasons.TAKEN),
        ("n = take()\nif n is not None:\n    turn()\n    put(n)", TAKES + "return None", reasons.TAKEN),
        (
            "n = take()\nif n is None: n = make()\nturn()\nput(n)",
            "return box.items.pop() if box.items else None",
            reasons.TAKEN,
        ),
    ],
)
def test_literal_in_the_place_of_what_is_taken(unit: str, takes: str, reason: Reason, tmp_path: Path) -> None:
    assert strongest(tmp_path, Case(unit, "other_box.y = len(box.items)", POOL.format(takes))) == {reason}


@pytest.mark.parametrize(("default", "reason"), [(", 0", FOUND), (", None", reasons.TAKEN), ("", reasons.TAKEN)])
def test_default_in_the_place_of_what_is_taken(default: str, reason: Reason, tmp_path: Path) -> None:
    more = f"""
    box.table[1] = 5
    def take():
        with box.lock: return box.table.pop(1{default})
    def put(value):
        with box.lock: box.table[1] = value
    """
    case = Case("n = take()\nturn()\nput(n + 1)", "other_box.y = box.table.get(1)", textwrap.dedent(more))
    assert strongest(tmp_path, case) == {reason}


# ---- optimistic: computed without the lock, and stored if nobody came in between

OPTIMISTIC = """
box.items = [0, 0]
def load():
    with box.lock: return box.x, box.y
def store(value, version):
    with box.lock:
        {}
"""
RETRY = "value, version = load()\nturn()\nstore(value + 1, version)"
OTHERS = "value, version = load()\nwith box.lock:\n    box.x = value + 5\n    box.y += 1"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if box.y == version:\n            box.x = value\n            box.y += 1", reasons.VALIDATED),
        ("if box.y != version: return False\n        box.x, box.y = value, version + 1", reasons.VALIDATED),
        ("if box.y is version:\n            box.x = value", reasons.VALIDATED),
        # asked for something else, or only told
        ("if box.y < 100:\n            box.x = value", FOUND),
        ("if value == version or version >= 0: box.x = value", FOUND),
        ("box.x = value\n        box.made = box.y == version", FOUND),
    ],
)
def test_store_if_nobody_came_in_between(body: str, reason: Reason, tmp_path: Path) -> None:
    assert strongest(tmp_path, Case(RETRY, OTHERS, OPTIMISTIC.format(body))) == {reason}


@pytest.mark.parametrize(
    ("condition", "reason"), [("box.y == version", reasons.VALIDATED), ("box.y >= 0 and version >= 0", FOUND)]
)
def test_store_in_own_code_if_nobody_came_in_between(condition: str, reason: Reason, tmp_path: Path) -> None:
    unit = f"with box.lock: n, version = box.x, box.y\nturn()\nwith box.lock:\n    if {condition}: box.x = n + 1"
    assert strongest(tmp_path, Case(unit, "with box.lock:\n    box.x += 5\n    box.y += 1")) == {reason}


# ---- what is claimed decides nothing


@pytest.mark.parametrize(("claim", "reason"), [("assert n >= 0", reasons.NO_FLOW), ("if n < 0: return", FOUND)])
def test_assertion_ties_nothing(claim: str, reason: Reason, tmp_path: Path) -> None:
    unit = f"n = box.get()\n{claim}\nturn()\nbox.set(5)"
    assert strongest(tmp_path, Case(unit, "box.set(7)")) == {reason}


# ---- a gauge: up, something else, and down again


@pytest.mark.parametrize(("down", "reason"), [("1", reasons.BALANCED), ("2", FOUND)])
def test_number_that_goes_up_and_down(down: str, reason: Reason, tmp_path: Path) -> None:
    unit = f"with box.lock: box.x += 1\nturn()\nwith box.lock: box.x -= {down}"
    assert strongest(tmp_path, Case(unit, "with box.lock: other_box.y = box.x")) == {reason}


NUMBER = """
class Number(int):
    def __add__(self, other):
        return Number(int(self) + other)
    def __sub__(self, other):
        turn()
        return int(self) - other
box.x = Number()
"""


@pytest.mark.parametrize("down", ["box.x -= 1", "box.x = box.x - 1", "n = box.x\nbox.x = n - 1"])
def test_step_down_of_a_gauge_that_is_torn_counts(down: str, tmp_path: Path) -> None:
    unit = f"box.x += 1\nother_box.show()\n{down}"
    assert strongest(tmp_path, Case(unit, "box.x += 1", NUMBER)) == {FOUND}


SAVING = """
class Saving:
    def __enter__(self): return self
    def __exit__(self, *_): box.set(self.n)
"""


def test_end_of_a_block_is_in_the_same_iteration(tmp_path: Path) -> None:
    work = loop("with Saving() as saving:\n    saving.n = box.x + i\n    turn()")
    assert strongest(tmp_path, Case(IN_LOOP, "box.set(9)", SAVING + work)) == {reasons.NO_FLOW}


# ---- context managers: what stands before and after a block is tied by values only

AROUND = """
from contextlib import contextmanager
@contextmanager
def around():
    with box.lock: {}
    yield
    with box.lock: {}
"""


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("box.x, box.y = 1, 1", "box.x, box.y = 2, 2", reasons.NO_FLOW),
        ("n = box.x", "box.x = n + 1", FOUND),
        ("n = box.x", "box.y = n > 0", FOUND),
    ],
)
def test_context_manager_is_tied_by_values(before: str, after: str, reason: Reason, tmp_path: Path) -> None:
    others = "with box.lock:\n    other_box.y = box.x + box.y\n    box.x = box.y = 3"
    more = "box.x = 1" + AROUND.format(before, after)
    assert strongest(tmp_path, Case("with around():\n    turn()", others, more)) == {reason}


# ---- locations that others use together, and what each call does to both

BOTH = """
def up():
    with box.lock:
        box.x += 1
        {}
def down():
    with box.lock: box.x -= 1
def fill():
    with box.lock: box.y = 9
"""


@pytest.mark.parametrize(
    ("inside", "reason"),
    [("box.y = max(box.y, box.x)", reasons.NO_FLOW), ("pass", FOUND)],
)
def test_step_on_both_locations_is_whole(inside: str, reason: Reason, tmp_path: Path) -> None:
    """A peak that is kept with a gauge is right whenever the lock is free; a total that is set later is not."""
    unit = f"up()\nturn()\n{'down' if 'max' in inside else 'fill'}()"
    case = Case(unit, "with box.lock: other_box.x = box.x + box.y", BOTH.format(inside))
    assert strongest(tmp_path, case) == {reason}


# ---- a call reads for the next change what one before it wrote


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ("with box.lock: box.x += 1\nturn()\nn = box.get()\nwith box.lock: box.x = n + 1", FOUND),
        ("change(1)\nturn()\nchange(2)", reasons.NO_FLOW),
        ("change(1)\nturn()\nreturn box.get()", FOUND),
    ],
)
def test_two_changes_in_a_row_are_two_steps(unit: str, reason: Reason, tmp_path: Path) -> None:
    more = """
    box.lock = threading.RLock()
    def change(n):
        with box.lock: box.set(box.get() * 2 + n)
    """
    assert strongest(tmp_path, Case(unit, "change(7)", textwrap.dedent(more))) == {reason}


# ---- values of several calls that go into one

EACH = """
boxes = [box, other_box]
def one(i):
    with box.lock: return box.table[i]
def put(i, value):
    with box.lock: box.table[i] = value
def look(i):
    turn() if i else None
    return one(i)
box.table.update({0: 1, 1: 1})
"""


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ("return sum(look(i) for i in range(2))", FOUND),
        ("return any([look(i) > 5 for i in range(2)])", FOUND),
        ("return [look(i) for i in range(2)]", reasons.COLLECTED),
    ],
)
def test_values_of_a_comprehension_go_into_one(unit: str, reason: Reason, tmp_path: Path) -> None:
    assert strongest(tmp_path, Case(unit, "put(0, 0)\nput(1, 2)", EACH)) == {reason}


@pytest.mark.parametrize(("call", "reason"), [("divmod", FOUND), ("show", reasons.SHOWN)])
def test_two_values_that_one_call_computes_with(call: str, reason: Reason, tmp_path: Path) -> None:
    more = "box.y = 2\ndef show(*numbers): print(*numbers, end='')"
    unit = f"{call}(box.get(), (turn(), box.show())[1])"
    assert strongest(tmp_path, Case(unit, "box.set(7)\nwith box.lock: box.y = 3", more)) == {reason}


# ---- whether something is there is known by what it raises


@pytest.mark.parametrize("read", ["box.table[1]", "n = box.table[1]"])
def test_exception_decides(read: str, tmp_path: Path) -> None:
    more = f"def find():\n    with box.lock: {read}"
    unit = "try:\n    find()\nexcept KeyError:\n    turn()\n    with box.lock: box.table[1] = 1"
    assert strongest(tmp_path, Case(unit, "with box.lock: box.table[1] = 2", more)) == {FOUND}


# ---- None after a value, and before the next one, is no phase


@pytest.mark.parametrize(("first", "reason"), [("'old'", reasons.PHASES), ("None", FOUND)])
def test_nothing_is_no_phase(first: str, reason: Reason, tmp_path: Path) -> None:
    unit = f"box.made = {first}\nturn()\nbox.made = 'new'"
    assert strongest(tmp_path, Case(unit, "if box.made == 'old': other_box.y = 1")) == {reason}


# ---- operations that commute


@pytest.mark.parametrize(
    ("one", "other", "is_commuting"),
    [
        ("add A.s#", "add A.s#", True),
        ("add A.s#", "discard A.s#", True),
        ("__setitem__ A.d#", "pop A.d#", True),
        ("setdefault A.d#", "__delitem__ A.d#", True),
        # not of the same key or element, nor by position, nor beside a read of the size
        ("__setitem__ A.d[", "__setitem__ A.d[", False),
        ("add A.s[", "discard A.s[", False),
        ("__delitem__ A.l#", "pop A.l#", False),
        ("len A.d#", "__setitem__ A.d#", False),
        # in which order things are appended is seen by whoever reads the list
        ("append A.l#", "append A.l#", False),
    ],
)
def test_operations_that_commute(one: str, other: str, is_commuting: bool) -> None:
    for first, second in ((one, other), (other, one)):
        found = commuting(step(f"T {first}", 0), step(f"U {second}", 1))
        assert found == (reasons.COMMUTES if is_commuting else None)


def test_deletions_commute_in_what_is_known_to_be_a_mapping() -> None:
    deleted = step("T __delitem__ A.d#", 0), step("U __delitem__ A.d#", 1)
    assert commuting(*deleted, ["append", None]) is None
    assert commuting(*deleted, ["__setitem__", "__delitem__"]) == reasons.COMMUTES


def test_adding_one_element_twice_is_no_proof() -> None:
    """Whoever adds it first changes the size, which a third may see."""
    assert commuting(step("T add A.s[", 0), step("U add A.s[", 1)) == reasons.ADDED


# ---- what is known without the flow of the program


def levels(violations: Violations, **evidence: object) -> list[Reason]:
    judged = judge(violations, Evidence(is_ours=lambda name: True, **evidence))  # type: ignore[arg-type]
    return [Reason(one.level, one.why or "") for one in judged]


LOST = "T read A.x > U write A.x > T write A.x"
BY_LOCKS = "T release m > U acquire m > T acquire m"


def test_violation_of_a_marked_region_is_always_a_finding() -> None:
    violation = made(BY_LOCKS)
    for is_ours in (lambda name: False, None):
        assert judge(Violations(of_transactions=[violation]), Evidence(is_ours=is_ours)) == [violation]


def test_violation_without_known_flow_is_a_suspect() -> None:
    assert levels(Violations(of_data=[made(LOST)])) == [reasons.UNSEEN]


def test_order_of_locks_is_a_note_where_all_data_was_checked() -> None:
    by_locks = Violations(of_transactions=[made(BY_LOCKS)])
    assert levels(by_locks) == [reasons.ORDER_ONLY]
    assert levels(by_locks, is_settled=False) == [reasons.UNDECIDED]


def test_order_of_locks_is_not_shown_beside_data_of_the_same_region() -> None:
    both = Violations(of_transactions=[made(BY_LOCKS)], of_data=[made(LOST)])
    assert levels(both) == [reasons.UNSEEN]


def test_cycle_of_locks_that_nobody_is_to_blame_for_is_a_suspect() -> None:
    cycle = made("T@0 release m > U@3 acquire m > U@2 read A.y > T@4 write A.y", "cycle")
    other = replace(made(LOST), region="app:other")
    assert reasons.NOBODY in levels(Violations(of_transactions=[cycle], of_data=[other]))
    # where all data is serializable without the order of locks, that alone closes it
    assert levels(Violations(of_transactions=[cycle])) == [reasons.ORDER_ONLY]


def test_marked_findings_come_first_and_once() -> None:
    marked, other = made(LOST), made(BY_LOCKS)
    note = replace(other, level="note", why=reasons.ORDER_ONLY.why)
    judged = with_marked([marked], [replace(marked, level="suspect", why="an idiom"), note])
    assert judged == [marked, note]
