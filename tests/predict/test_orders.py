"""Publication, spinning and first use: orders of a recorded program that no event shows; and what comes close to each.

Each is switched off by `unordered`, and then the same run has a data race, or one more.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import textwrap
from pathlib import Path

import pytest

import atomsan
from atomsan import Report

START = """
import threading, time

def start(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def recorded(directory: Path, name: str, code: str, unordered: tuple[str, ...] = (), **modules: str) -> Report:
    for module, text in {name: START + textwrap.dedent(code), **modules}.items():
        (directory / f"{module}.py").write_text(textwrap.dedent(text))
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        with contextlib.redirect_stdout(io.StringIO()), atomsan.recording(include=[f"{directory}/*"]) as tape:
            importlib.import_module(name)
        return atomsan.predict(tape, unordered=unordered)
    finally:
        sys.path.remove(str(directory))
        for module in (name, *modules):
            sys.modules.pop(module, None)


def races(report: Report, field: str) -> int:
    """How many data races there are on a field."""
    return sum(
        (finding.kind == "race" and any(step.location.rpartition(" (")[0].endswith(field) for step in finding.witness))
        or (finding.kind == "race" and any(step.location.endswith(field) for step in finding.witness))
        for finding in (*report.findings, *report.suspects, *report.notes)
    )


PUBLISHED = """
class Node:
    def __init__(self, value, shelf):
        self.value = value
        {constructor}

class Shelf:
    def __init__(self):
        self.lock = threading.Lock()
        self.top = None

shelf = Shelf()
spare = []

def make():
    for value in range(3):
        node = Node(value, shelf)
        {before}
        with shelf.lock:
            shelf.top = node
        {after}

def look():
    time.sleep(0.02)
    for _ in range(3):
        with shelf.lock:
            node = shelf.top
        if node is not None:
            node.value += 1

start(make, look)
"""


@pytest.mark.parametrize(
    ("constructor", "before", "after", "is_published"),
    [
        ("pass", "pass", "pass", True),
        ("pass", "node.value += 5", "pass", True),
        ("self.value = value + 1", "pass", "pass", True),
        # the nearest that are not covered
        ("pass", "pass", "node.value = 5", False),
        ("with shelf.lock: shelf.top = self\\n        self.value = 7", "pass", "pass", False),
        ("pass", "spare.append(node); shelf.top = node; node.value = 5", "pass", False),
        ("pass", "threading.Thread(target=print).start(); node.value = 5", "pass", None),
    ],
)
def test_creator_comes_first_until_others_can_have_the_object(
    tmp_path: Path, constructor: str, before: str, after: str, is_published: bool | None
) -> None:
    code = PUBLISHED.format(constructor=constructor.replace("\\n", "\n"), before=before, after=after)
    ordered = races(recorded(tmp_path, "published_one", code), ".value")
    unordered = races(recorded(tmp_path, "published_two", code, ("publication",)), ".value")
    assert unordered
    if is_published is None:  # the start of any thread ends it: others may have the object then, as far as is known
        assert ordered
    else:
        assert (ordered == 0) == is_published


@pytest.mark.parametrize(
    "loop",
    [
        "while not box.is_ready: time.sleep(0.001)",
        "while True:\n        if box.is_ready: break\n        time.sleep(0.001)",
        "while not box.is_ready: pass",
    ],
)
def test_spinning_follows_the_write_that_ends_it(tmp_path: Path, loop: str) -> None:
    code = f"""
class Box:
    def __init__(self):
        self.is_ready = False
        self.answer = 0
box = Box()
def answer():
    time.sleep(0.02)
    box.answer = box.answer + 1
    box.is_ready = True
def wait():
    {loop}
    box.answer = box.answer + 1
start(wait, answer)
"""
    report = recorded(tmp_path, "spinning_one", code)
    assert (races(report, ".answer"), races(report, ".is_ready")) == (0, 1)  # the looks before it race, as they must
    assert not report.findings
    assert races(recorded(tmp_path, "spinning_two", code, ("spinning",)), ".answer")


@pytest.mark.parametrize(
    "loop",
    [
        "if not box.is_ready: time.sleep(0.1)",  # looks once
        "while not box.is_ready: box.polls = box.polls + 1; time.sleep(0.001)",  # does something else
        "while not box.is_ready and box.polls < 9: time.sleep(0.1)",  # looks at something else
        "for _ in range(40): _ = box.is_ready; time.sleep(0.001)",  # does not end when it sees a change
    ],
)
def test_other_loops_are_no_spinning(tmp_path: Path, loop: str) -> None:
    code = f"""
class Box:
    def __init__(self):
        self.is_ready = False
        self.answer = self.polls = 0
box = Box()
def answer():
    time.sleep(0.02)
    box.answer = box.answer + 1
    box.is_ready = True
def wait():
    {loop}
    box.answer = box.answer + 1
def poll():
    box.polls = 0
start(wait, answer, poll)
"""
    assert races(recorded(tmp_path, "spinning_three", code), ".answer")


def test_spinning_on_what_one_wrote_oneself_orders_nothing(tmp_path: Path) -> None:
    code = """
class Box:
    def __init__(self):
        self.state = 0
        self.answer = 0
box = Box()
def answer():
    box.answer = 1
    box.state = 1
def look():
    for _ in range(4):
        if box.state > 5: break
    box.answer = 2
start(look, answer)
"""
    assert races(recorded(tmp_path, "spinning_four", code), ".answer")


LAZY = """
table = {}
for number in range(3):
    table[number] = number
"""


def test_body_of_a_module_comes_before_those_who_import_it(tmp_path: Path) -> None:
    code = """
def work():
    import lazily_made
    table = lazily_made.table
    for number in range(3):
        table[number] = 5
start(work, work)
"""
    with_order = recorded(tmp_path, "importing_one", code, lazily_made=LAZY)
    without = recorded(tmp_path, "importing_two", code, ("first-use",), lazily_made=LAZY)
    in_body = [
        any(
            finding.kind == "race" and any((step.site and step.site.function) == "<module>" for step in finding.witness)
            for finding in report.notes
        )
        for report in (with_order, without)
    ]
    assert in_body == [False, True]
    assert races(with_order, "]")  # among those who use it


def test_body_of_the_main_module_is_no_first_use(tmp_path: Path) -> None:
    code = """
table = {}
def work():
    time.sleep(0.01)
    table[1] = table.get(1, 0) + 1
thread = threading.Thread(target=work)
thread.start()
for number in range(3):
    table[number] = number
thread.join()
"""
    assert races(recorded(tmp_path, "importing_three", code), "]")
