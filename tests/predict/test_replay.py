"""Predictions from plain runs of programs: a thread that reads another value than in the run may go another way.

Each racy program stands beside the nearest one in which the predicted order cannot happen. They are recorded without
noise; whichever thread comes first, the answer is the same.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import atomsan
from atomsan import Report

HEAD = """
import threading

class Box:
    def __init__(self):
        self.lock = threading.Lock()
        self.n = 1
        self.other = 0
        self.items = [[0], [0]]
        self.is_closed = False
        self.made = None

box = Box()
"""
TAIL = """
threads = [threading.Thread(target=target) for target in ({targets})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def predicted(tmp_path: Path, code: str, targets: str) -> Report:
    """From one plain run of a program."""
    with _imported(tmp_path, HEAD + code + TAIL.format(targets=targets)) as name:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            atomsan.recording(include=[f"{tmp_path}/*"]) as tape,
        ):
            importlib.import_module(name)
        return atomsan.predict(tape)


@contextlib.contextmanager
def _imported(directory: Path, text: str) -> Iterator[str]:
    name = f"replayed_{abs(hash(text))}"
    (directory / f"{name}.py").write_text(text)
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        yield name
    finally:
        sys.path.remove(str(directory))
        sys.modules.pop(name, None)


LAST_TICKET = """
def buy():
    if box.n > 0:
        box.n -= 1
"""
LAST_TICKET_BY_HELPERS = """
def is_left():
    with box.lock:
        return box.n > 0

def take():
    with box.lock:
        box.n -= 1

def buy():
    if is_left():
        take()
"""
LAZY = """
def get():
    if box.made is None:
        box.made = object()
    return box.made
"""


@pytest.mark.parametrize(
    ("code", "target"), [(LAST_TICKET, "buy"), (LAST_TICKET_BY_HELPERS, "buy"), (LAZY, "get")], ids=str.split
)
def test_thread_that_came_too_late_stands_in(tmp_path: Path, code: str, target: str) -> None:
    findings = predicted(tmp_path, code, f"{target}, {target}").findings
    assert findings
    assert any("came later and went another way" in line for one in findings for line in one.explanation)


LATE_IN_A_LONG_UNIT = """
for number in range(40):
    box.items.append([0])

def is_free(place):
    with box.lock:
        return box.items[place] == [0]

def book(row):
    for place in row:
        if is_free(place):
            with box.lock:
                box.items[place] = [1]

def book_all():
    for row in (range(20), range(20, 40)):
        book(row)
"""


def test_first_step_of_a_long_unit_is_tried_first(tmp_path: Path) -> None:
    """What is booked later rests on all that was free before: who comes later finds what the other one found only at
    the first place."""
    findings = predicted(tmp_path, LATE_IN_A_LONG_UNIT, "book_all, book_all").findings
    assert any("came later and went another way" in line for one in findings for line in one.explanation)


def test_stand_in_needs_a_read_that_decides(tmp_path: Path) -> None:
    """One thread writes, and the others only look: they part because of who they are."""
    code = """
def count(is_writer):
    n = box.n
    if is_writer:
        box.n = n + 1
    return n

def write():
    count(True)

def look():
    count(False)
"""
    assert predicted(tmp_path, code, "write, look, look").findings == []


CLOSING = """
def close():
    with box.lock:
        box.is_closed = True
        before = box.n
    with box.lock:
        box.other = box.n - before
        box.is_closed = False

def step():
    with box.lock:
        {look}box.n += 1
"""


def test_look_at_a_mark_keeps_others_out(tmp_path: Path) -> None:
    report = predicted(tmp_path, CLOSING.format(look="if not box.is_closed:\n            "), "step, close")
    assert report.findings == []
    assert any("may go another way" in str(suspect.why) for suspect in report.suspects)


def test_without_the_look_others_come_in_between(tmp_path: Path) -> None:
    assert predicted(tmp_path, CLOSING.format(look=""), "step, close").findings


BORROWING = """
def use():
    with box.lock:
        item = box.items{take}
    item[0] += 1
    with box.lock:
        {put}
"""


def test_object_that_is_taken_out_is_nobody_elses(tmp_path: Path) -> None:
    code = BORROWING.format(take=".pop()", put="box.items.append(item)")
    assert predicted(tmp_path, code, "use, use").findings == []


def test_object_that_stays_there_is_shared(tmp_path: Path) -> None:
    assert predicted(tmp_path, BORROWING.format(take="[0]", put="pass"), "use, use").findings


CHECKED = """
def get():
    if box.made is None:
        with box.lock:
            {again}box.made = object()
    return box.made
"""


def test_double_checked_locking_is_no_finding(tmp_path: Path) -> None:
    code = CHECKED.format(again="if box.made is None:\n                ")
    assert predicted(tmp_path, code, "get, get").findings == []


def test_lock_without_second_check_is_a_finding(tmp_path: Path) -> None:
    assert predicted(tmp_path, CHECKED.format(again=""), "get, get").findings


OWN_ENTRIES = """
def is_left():
    return box.n > 0

def buy():
    if is_left():
        box.n -= 1

def one():
    buy()

def other():
    for _ in range(1):
        {does}
"""


def test_thread_that_was_called_from_elsewhere_stands_in(tmp_path: Path) -> None:
    assert predicted(tmp_path, OWN_ENTRIES.format(does="buy()"), "one, other").findings


def test_thread_that_only_looks_does_not_stand_in(tmp_path: Path) -> None:
    """The code that both are in at the look does not go as far as the act."""
    assert predicted(tmp_path, OWN_ENTRIES.format(does="is_left()"), "one, other").findings == []


HANDED_ON = """
def work():
    with box.lock:
        is_mine = {look}
        box.is_closed = True
    for _ in range(1 if is_mine else 0):
        box.n += 1
        with box.lock:
            box.is_closed = False
"""


def test_what_a_third_thread_handed_on_is_nobody_elses(tmp_path: Path) -> None:
    assert predicted(tmp_path, HANDED_ON.format(look="not box.is_closed"), "work, work, work").findings == []


def test_without_a_look_nothing_is_handed_on(tmp_path: Path) -> None:
    assert predicted(tmp_path, HANDED_ON.format(look="True"), "work, work, work").findings


LEAST = """
def place():
    loads = []
    for at in range(2):
        with box.lock:
            loads.append(box.items[at][0])
    least = loads.index(min(loads))
    with box.lock:
        box.items[least][0] = min(loads) + 1

def work():
    for _ in range(2):
        place()
"""


def test_thread_that_chose_another_object_stands_in(tmp_path: Path) -> None:
    assert predicted(tmp_path, LEAST, "work, work").findings


CHOSEN = """
counts = [0, 0]

class Cursor:
    def __init__(self):
        self.at = 0

cursor = Cursor()

def add(at):
    counts[at] = counts[at] + 1

def step(me):
    {does}

def one():
    for _ in range(1):
        step(0)

def other():
    for _ in range(1):
        step(1)
"""


@pytest.mark.parametrize(
    "does",
    [
        "if any(n < 10 for n in counts): counts[me] = counts[me] + 1",
        "if any(n < 10 for n in counts): add(me)",
        "while any(n < 1 for n in counts): counts[me] = counts[me] + 1; break",
        "{0: add, 1: add}[me](me) if min(counts) < 10 else None",
    ],
)
def test_thread_with_a_key_of_its_own_does_not_stand_in(tmp_path: Path, does: str) -> None:
    """What it reads decides whether it goes on, but its argument says where."""
    found = predicted(tmp_path, CHOSEN.format(does=does), "one, other").findings
    assert not [line for one in found for line in one.explanation if "write is lost" in line]


@pytest.mark.parametrize(
    "does",
    [
        "least = counts.index(min(counts)); counts[least] = counts[least] + 1",
        "add(counts.index(min(counts)))",
        "least = 0 if counts[0] <= counts[1] else 1; add(least)",
        "cursor.at = 0 if counts[0] <= counts[1] else 1; counts[cursor.at] = counts[cursor.at] + 1",
    ],
)
def test_thread_with_a_key_by_what_it_reads_stands_in(tmp_path: Path, does: str) -> None:
    found = predicted(tmp_path, CHOSEN.format(does=does), "one, other").findings
    assert [line for one in found for line in one.explanation if "write is lost" in line]


WAITING = """
import collections

waiting = collections.deque([object(), object()])

def look(me):
    return {looks}

def looking():
    for _ in range(1):
        look(box)

def leaving():
    for _ in range(1):
        with box.lock:
            waiting.popleft()
"""


@pytest.mark.parametrize(
    "looks", ["me in waiting", "me not in waiting", "bool(me in waiting)", "waiting.count(me) > 0"]
)
def test_look_for_an_element_is_one_step(tmp_path: Path, looks: str) -> None:
    report = predicted(tmp_path, WAITING.format(looks=looks), "looking, leaving")
    assert not [one for one in (*report.findings, *report.suspects) if (one.region or "").endswith("look")]


@pytest.mark.parametrize(
    "looks",
    [
        "any(one is me for one in waiting)",
        "me not in waiting and waiting[0]",
        "(me in waiting, me in waiting)",
        "len(waiting) and waiting[0] is me",
    ],
)
def test_several_looks_are_not_one_step(tmp_path: Path, looks: str) -> None:
    report = predicted(tmp_path, WAITING.format(looks=looks), "looking, leaving")
    assert [one for one in (*report.findings, *report.suspects) if "look" in (one.region or "")]


ARGUMENTS = """
stock = {{"tea": 1}}

class Shop:
    def __init__(self):
        self.left = 1

    def is_open(self):
        return self.left > 0

    def take(self):
        self.left -= 1

    def sell(self):
        if self.is_open():
            self.take()

shop = Shop()

def sell(item):
    if stock[item] > 0:
        stock[item] = stock[item] - 1

def take(where, amount):
    where.n -= amount

def sell_from(where, amount):
    if where.n > 0:
        take(where, amount)

def one():
    for _ in range(1):
        {does}

def other():
    for _ in range(1):
        {does}
"""


@pytest.mark.parametrize("does", ["sell('tea')", "shop.sell()", "sell_from(box, 1)", "sell_from(amount=1, where=box)"])
def test_thread_with_the_same_argument_stands_in(tmp_path: Path, does: str) -> None:
    """What it reads is of that argument, too."""
    found = predicted(tmp_path, ARGUMENTS.format(does=does), "one, other").findings
    assert [line for one in found for line in one.explanation if "came later and went another way" in line]


SENDING = """
import queue
pipe = queue.Queue()

def send():
    {lock}:
        pipe.put("head")
        pipe.put("body")

def receive():
    for _ in range(2):
        head = pipe.get()
        body = pipe.get()
        box.items.append((head, body))
"""


def test_others_put_between_two_puts(tmp_path: Path) -> None:
    assert predicted(tmp_path, SENDING.format(lock="if True"), "send, send, receive").findings


def test_nobody_puts_between_two_puts_under_a_lock(tmp_path: Path) -> None:
    assert predicted(tmp_path, SENDING.format(lock="with box.lock"), "send, send, receive").findings == []


REFUSING = """
def run(action):
    return action()

def check(n):
    if n < 1:
        {refuse}

def fill():
    if box.n < 6:
        box.n = 6

def take():
    {look}
    box.n -= 1

def work():
    for _ in range(2):
        try:
            take()
        except ValueError:
            pass

def filling():
    for _ in range(1):
        fill()

box.n = 0
"""
LOOKS = (
    "check(box.n)",
    "n = box.n; check(n)",
    "n = run(lambda: box.n); check(n)",
    "found = {'n': box.n}; check(found['n'])",
    "found = {'n': run(lambda: box.n)}; check(found['n'])",
)


@pytest.mark.parametrize("look", LOOKS)
def test_step_behind_a_check_that_would_refuse_is_not_reached(tmp_path: Path, look: str) -> None:
    code = REFUSING.format(look=look, refuse="raise ValueError")
    assert not predicted(tmp_path, code, "filling, work").findings


@pytest.mark.parametrize("look", [look for look in LOOKS if "lambda" not in look])
def test_step_behind_a_look_that_refuses_nothing_is_reached(tmp_path: Path, look: str) -> None:
    code = REFUSING.format(look=look, refuse="print(n)")
    assert predicted(tmp_path, code, "filling, work").findings


# ---- one function that is called with other arguments: each call is other code

CLAIM = """
box.state = "waiting"

def move(old, new):
    with box.lock:
        if box.state == old:
            box.state = new
            return True
    return False

def run():
    {}
"""
IN_TWO_CALLS = """if move("waiting", "running"):
        box.n = box.n + 1
        move("running", "done")"""
GIVEN_BACK = """if move("waiting", "running"):
        box.n = box.n + 1
        move("running", "waiting")"""
IN_A_LOOP = """for old, new in (("waiting", "running"), ("running", "done")):
        if not move(old, new):
            return
        box.n = box.n + 1"""


@pytest.mark.parametrize("steps", [IN_TWO_CALLS, GIVEN_BACK, IN_A_LOOP])
def test_what_another_call_of_the_same_function_did_is_no_evidence(tmp_path: Path, steps: str) -> None:
    assert predicted(tmp_path, CLAIM.format(steps), "run, run").findings == []


@pytest.mark.parametrize("steps", [IN_TWO_CALLS, GIVEN_BACK, IN_A_LOOP])
def test_claim_that_is_looked_at_before_the_lock_is_taken_is_a_finding(tmp_path: Path, steps: str) -> None:
    code = CLAIM.format(steps).replace(
        "    with box.lock:\n        if box.state == old:\n            box.state = new\n            return True",
        "    if box.state == old:\n        with box.lock:\n            box.state = new\n        return True",
    )
    assert predicted(tmp_path, code, "run, run").findings


# ---- what is taken out has to be there

FORGET = """
box.members = {'x'}

def is_in():
    with box.lock:
        return 'y' in box.members

def enter():
    is_known = is_in()
    with box.lock:
        if not is_known:
            box.members.add('y')

def leave():
    with box.lock:
        box.members.discard('y')
"""


def test_what_is_not_there_yet_is_not_taken_out(tmp_path: Path) -> None:
    """Who leaves came after who has entered; before that, there is nothing to discard."""
    report = predicted(tmp_path, FORGET, "enter, leave")
    assert report.findings == []


def test_what_was_there_before_is_taken_out(tmp_path: Path) -> None:
    """Also where it was put in twice in the run: by who made the set, and by who comes first."""
    code = FORGET.replace("{'x'}", "set(); box.members.add('y')").replace("if not is_known", "if is_known")
    assert predicted(tmp_path, code, "enter, leave").findings
