"""Definitions reach the reader whole, and before what uses them, whichever threads and processes send them."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from atomsan.recorder.log.definitions import DefinitionFile
from atomsan.recorder.log.ring import shared_file
from atomsan.recorder.python import _log
from atomsan.recorder.python.child import Sender
from atomsan.recorder.python.options import RecordingOptions
from atomsan.recorder.python.session import Session
from forking import exit_code, forked
from recorder.probing import FIELD, HASH, OPS, Log, Record, function, prepared, recording


@pytest.fixture
def file() -> Iterator[int]:
    descriptor = shared_file("test")
    yield descriptor
    os.close(descriptor)


# --- the file ------------------------------------------------------------------------------------------------------


def test_line_goes_to_the_end_wherever_the_position_is(file: int) -> None:
    """Two threads that write at once start from one position: the file must not go by it."""
    sender = Sender(file)
    sender.send(["call", 50])
    os.lseek(file, 0, os.SEEK_SET)
    sender.send(["call", 51])
    reader = DefinitionFile(file)
    assert reader.read() == [["call", 50], ["call", 51]]
    assert reader.damaged == 0


def test_threads_that_send_at_once_lose_nothing(file: int) -> None:
    sender, before = Sender(file), sys.getswitchinterval()
    messages = [[["call", thread * 1000 + number] for number in range(1000)] for thread in range(4)]

    def send(mine: list[list[Any]]) -> None:
        for message in mine:
            sender.send(message)

    threads = [threading.Thread(target=send, args=(mine,)) for mine in messages]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    found = DefinitionFile(file).read()
    assert sorted(found) == sorted(message for mine in messages for message in mine)
    for mine in messages:
        assert [message for message in found if message in mine] == mine


def test_forked_process_goes_on_with_all_that_was_sent(file: int) -> None:
    """What the parent sends afterwards is not in the file of the child."""
    sender, other = Sender(file), shared_file("other")
    sender.send(["name", 1])
    read, write = os.pipe()

    def go_on() -> None:
        os.read(read, 1)
        sender.continue_with(other)
        sender.send(["name", 3])

    child = forked(go_on)
    sender.send(["name", 2])
    os.write(write, b"x")
    assert exit_code(child) == 0
    assert DefinitionFile(file).read() == [["name", 1], ["name", 2]]
    assert DefinitionFile(other).read() == [["name", 1], ["name", 3]]
    for descriptor in (read, write, other):
        os.close(descriptor)


def test_forked_process_that_is_not_recorded_sends_nothing(file: int) -> None:
    """It gives out the numbers that its parent gives to something else."""
    sender = Sender(file)
    assert exit_code(forked(lambda: sender.send(["module", {"first_site": 1}]))) == 0
    sender.send(["call", 1])
    assert DefinitionFile(file).read() == [["call", 1]]


def test_nothing_is_written_to_a_file_that_has_taken_the_number(file: int) -> None:
    sender, other = Sender(file), os.open(os.devnull, os.O_RDWR)
    sender.send(["name", 1])
    mine = shared_file("of the program")
    kept = os.dup(file)
    os.dup2(mine, file)
    sender.send(["name", 2])
    assert os.fstat(mine).st_size == 0
    assert DefinitionFile(kept).read() == [["name", 1]]
    for descriptor in (other, mine, kept):
        os.close(descriptor)


def test_definition_is_sent_again_if_a_signal_handler_raises() -> None:
    """What the handler raises goes on in the program, behind all that the recorder still has to do for the access."""
    log, raised = Log(), list[KeyboardInterrupt]()

    def send(message: list[Any]) -> None:
        if message[0] == "type" and not raised:
            raised.append(KeyboardInterrupt("Ctrl-C"))
            raise raised[0]
        log.definitions.append(message)

    # it is raised after the next call, at the latest
    store = function("def f(a, after):\n «store_attr x»[a].x = 1\n after()\n after()")
    _log.attach(log.memory, send)
    try:
        with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
            store(Thing(), int)
    finally:
        _log.detach()
    assert [record.type for record in log.read() if record.op == 1] == list(log.named("type"))
    assert list(log.named("thread").values()) == ["MainThread"]


# --- the order -----------------------------------------------------------------------------------------------------

_numbers = itertools.count(1)
_REGION, _REGION_END = 21, 22
CLASS = 8  # a flag of records


class Thing: ...


def _store_to_new_type() -> Callable[[], object]:
    store, kind = function("def f(a): «store_attr x»[a].x = 1"), type("New", (), {})
    return lambda: store(kind())


def _store_to_new_name() -> Callable[[], object]:
    name = f"x{next(_numbers)}"
    # each thread has loaded the code for itself
    return lambda: function(f"def f(a): «store_attr {name}»[a].{name} = 1")(Thing())


def _store_at_new_key() -> Callable[[], object]:
    store, key = function("def f(a, k): «item»[a, k] = 1"), f"k{next(_numbers)}"
    return lambda: store({}, key)


def _begin_marked() -> Callable[[], object]:
    name = f"region {next(_numbers)}"

    def run() -> None:
        _log.begin_annotated(name)
        _log.end_annotated(name)

    return run


def _store_in_new_module() -> Callable[[], object]:
    names = prepared("def f():\n global G\n v = 1\n G = «store_name G»[v]")
    module: dict[str, Any] = {"__name__": "new"}
    store = type(names["f"])(names["f"].__code__, module)

    def run() -> None:
        _log.register_module(module, "new")
        store()

    return run


# What a thread does that meets something new, the definition that it sends, and what in a record refers to it.
NEW: dict[str, tuple[str, Callable[[], Callable[[], object]], Callable[[list[Any]], int], Callable[[Record], int]]] = {
    "type": ("type", _store_to_new_type, lambda message: message[1], lambda record: record.type),
    "name": (
        "name",
        _store_to_new_name,
        lambda message: message[1],
        lambda record: record.key if record.key_kind == FIELD else 0,
    ),
    "key": (
        "key",
        _store_at_new_key,
        lambda message: message[2],
        lambda record: record.key if record.key_kind == HASH else 0,
    ),
    "region": (
        "region",
        _begin_marked,
        lambda message: message[1],
        lambda record: record.key if record.op in (_REGION, _REGION_END) else 0,
    ),
    "module": (
        "module_name",
        _store_in_new_module,
        lambda message: message[1],
        lambda record: record.object if record.key_kind == FIELD else 0,
    ),
}


@pytest.mark.parametrize("case", NEW)
def test_definition_comes_before_what_another_thread_logs(case: str) -> None:
    """The other thread comes while the first one is about to send what is new to both."""
    kind, make, defined, used = NEW[case]
    log, sent, others = Log(), list[tuple[int, list[Any]]](), list[threading.Thread]()
    run: Callable[[], object] | None = None

    def send(message: list[Any]) -> None:
        if message[0] == kind and run is not None and not others:
            others.append(threading.Thread(target=run))
            others[0].start()
            others[0].join()
        sent.append((log.head["head"], message))

    _log.attach(log.memory, send)
    try:
        action = make()
        run = action
        run()
        run()
    finally:
        _log.detach()
    assert others
    known = [(before, defined(message)) for before, message in sent if message[0] == kind]
    records = log.read()
    references = [(number, used(record)) for number, record in enumerate(records) if used(record)]
    threads = {record.thread for record in records if used(record)}
    assert len(threads) == 2, "both threads have logged it"
    assert [
        (number, OPS.get(records[number].op), what)
        for number, what in references
        if not any(before <= number and what == one for before, one in known)
    ] == []


class Visit:
    """A scheduler: the first time that it is asked, another thread comes by."""

    def __init__(self, visit: Callable[[], object]) -> None:
        self._visit = visit
        self.is_over = False

    def start(self) -> int:
        return 0

    def point(self) -> int:
        if not self.is_over:
            self.is_over = True
            visitor = threading.Thread(target=self._visit)
            visitor.start()
            visitor.join()
        return 1 << 20

    def done(self) -> None: ...


@pytest.mark.parametrize("access", ["«store_attr x»[a].x = 1", "«load_attr x»[a].x"])
def test_record_has_the_class_of_its_object_whoever_else_is_at_the_site(access: str) -> None:
    """The site remembers two classes: others may take their places while a thread waits for its turn."""
    classes = {name: type(name, (), {}) for name in ("First", "Second", "Third", "Fourth")}
    things = [made() for made in classes.values()]
    for thing in things:
        vars(thing)["x"] = 0
    with recording() as log:
        run = function(f"def f(a): {access}")
        run(things[0])
        visit = Visit(lambda: [run(thing) for thing in things[1:]])
        _log.set_scheduler(visit)
        run(things[0])
        _log.set_scheduler(None)
        records = [record for record in log.read() if record.op <= 1 and not record.flags & CLASS]
        named = {message[1]: message[3] for message in log.definitions_of("type")}
    assert visit.is_over
    owners = {id(thing): type(thing).__name__ for thing in things}
    shown = [(owners[record.object], named[record.type]) for record in records if record.object in owners]
    assert set(shown) == {(name, name) for name in classes}


def test_object_that_threads_meet_at_once_is_one_part_of_their_keys() -> None:
    """A tuple is told apart by what is in it: by its class, which is new, and by who it is."""
    log, others = Log(), list[threading.Thread]()
    store, kind = function("def f(a, k): «item»[a, k] = 1"), type("New", (), {})
    key, table = (kind(), "k"), dict[object, int]()

    def send(message: list[Any]) -> None:
        if message[0] == "type" and message[3] == "New" and not others:
            others.append(threading.Thread(target=store, args=(table, key)))
            others[0].start()
            others[0].join()
        log.definitions.append(message)

    _log.attach(log.memory, send)
    try:
        store(table, key)
    finally:
        _log.detach()
    writes = [record for record in log.read() if record.object == id(table) and record.key_kind == HASH]
    assert [OPS[record.op] for record in writes] == ["write", "write"]
    assert len({record.key for record in writes}) == 1


def test_call_has_one_number_for_threads_that_make_it_at_once() -> None:
    sent: list[list[Any]] = []
    numbers: list[int] = []
    others: list[threading.Thread] = []
    code = compile("f()", "app.py", "exec")
    instruction = 2 * next(at for at, place in enumerate(code.co_positions()) if None not in place and place[0])

    def number_it() -> None:
        numbers.append(session._call_site(code, instruction, first))

    def send(message: list[Any]) -> None:
        if message[0] == "call" and not others:
            others.append(threading.Thread(target=number_it))
            others[0].start()
            others[0].join()
        sent.append(message)

    session = Session(RecordingOptions(cache=None), None, send)
    session.rewritten(b"f()", "app", "app.py")
    first = sent[0][1]["first_site"]
    number_it()
    assert len(numbers) == 2
    assert len(set(numbers)) == 1
    assert numbers[0] in {message[1] for message in sent if message[0] == "call"}
