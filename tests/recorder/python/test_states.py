"""The state of events, futures, locks and threads: who asks for it reads it, who changes it writes it."""

from __future__ import annotations

import threading
from concurrent.futures import Future, InvalidStateError
from pathlib import Path

import pytest

import atomsan
from atomsan.recorder.python import primitives
from atomsan.trace.events import Op
from recorder.probing import prepared, recording
from recorder.running import recorded
from recorder.watching import logged

HEAD = """
import asyncio, threading
from concurrent.futures import Future, ThreadPoolExecutor
"""


def states(source: str) -> list[str]:
    """The accesses of states, without what else is logged."""
    lines = (line.partition(" ")[2] for line in logged(HEAD + source))
    return [line.removesuffix(" state") for line in lines if line.endswith(" state")]


def test_event() -> None:
    program = "event = threading.Event()\nevent.is_set()\nevent.set()\nevent.set()\nevent.clear()\nevent.wait(0)"
    assert states(program) == ["read event", "write event", "write event", "write event"]


def test_event_is_posted_behind_its_write() -> None:
    program = HEAD + "event = threading.Event()\nevent.set()\nevent.wait()"
    assert [line.split()[1] for line in logged(program)] == ["thread", "write", "post", "take"]


def test_events_of_libraries_have_no_state() -> None:
    program = "t = threading.Thread(target=int)\nt.start()\nt.join()\nt = threading.Timer(0, int)\nt.start()\nt.join()"
    assert states(program) == []


def test_future() -> None:
    program = """
f, g = Future(), Future()
f.done(), f.running(), f.cancelled()
f.set_result(1)
g.cancel()
"""
    assert states(program) == ["read f", "read f", "read f", "write f", "write g"]


@pytest.mark.parametrize("refused", ["f.set_result(2)", "f.set_exception(ValueError())", "f.cancel()"])
def test_what_a_future_refuses_is_a_write_and_no_post(refused: str) -> None:
    program = f"f = Future()\nf.set_result(1)\ntry: {refused}\nexcept Exception: pass\n"
    assert states(program) == ["write f", "write f"]
    assert sum("post" in line for line in logged(HEAD + program)) == 1


def test_futures_of_executors_are_not_set_by_the_program() -> None:
    program = "with ThreadPoolExecutor(1) as pool:\n  f = pool.submit(int)\n  f.result()\n  f.done()\n  f.cancel()\n"
    assert states(program) == ["read f", "write f"]


def test_lock_has_a_state_from_the_first_question_on() -> None:
    program = """
lock = threading.Lock()
with lock: pass
lock.locked()
with lock: pass
lock.acquire(False)
lock.acquire(False)
lock.release()
"""
    assert states(program) == ["read lock", "write lock", "write lock"]


def test_thread_is_asked_and_started() -> None:
    program = "t = threading.Thread(target=int)\nt.is_alive()\nt.start()\nt.is_alive()\nt.join()\nt.is_alive()"
    assert states(program) == ["read t", "write t", "read t", "read t"]


def test_primitives_of_asyncio() -> None:
    program = """
async def main():
    global event, lock, future, task
    event, lock = asyncio.Event(), asyncio.Lock()
    event.is_set(); event.set(); event.clear()
    async with lock:
        lock.locked()
    async with lock:
        pass
    future = asyncio.get_running_loop().create_future()
    future.done(); future.set_result(1); future.cancelled(); future.cancel()
    task = asyncio.create_task(asyncio.sleep(0))
    task.done(); task.cancel()
asyncio.run(main())
"""
    assert states(program) == [
        *("read event", "write event", "write event"),
        *("read lock", "write lock"),
        *("read future", "write future", "read future", "write future"),
    ]


PROGRAM = """
    import asyncio, ctypes, threading
    from concurrent.futures import Future
    import library

    class Box:
        def __init__(self):
            self.ready = threading.Event()
            self.answer = Future()

    box, lock, later = Box(), threading.Lock(), asyncio.Event()

    def use():
        if not box.ready.is_set():
            box.ready.set()
        library.call(box.ready.is_set)
        box.ready.clear()
        box.answer.done()
        box.answer.set_result(
            lock.locked())
        with lock:
            later.set()

    use()
    # what one thread alone used, and what is gone before its log was read, may be left out
    for one in (box.ready, box.answer, lock, later):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
"""
EXPECTED = {
    "Box.ready (state) (Box #1)": [
        (14, "read", None),
        (15, "write", "set"),
        (16, "read", None),
        (17, "write", "clear"),
    ],
    "Box.answer (state) (Box #1)": [(18, "read", None), (19, "write", "set_result")],
    "program.lock (state)": [(20, "read", None), (21, "write", None)],
    "program.later (state)": [(22, "write", "set")],
}


def test_states_have_names_and_the_sites_of_the_calls(tmp_path: Path) -> None:
    trace = atomsan.load(recorded(tmp_path, PROGRAM))
    symbols, seen = trace.symbols, dict[str, list[tuple[int, str, str | None]]]()
    for batch in trace.batches():
        for op, target, site in zip(batch.op.tolist(), batch.target.tolist(), batch.site.tolist(), strict=True):
            if op in (Op.READ, Op.WRITE) and symbols.locations.get(target, "field") == "<state>":
                row = symbols.sites.get(site, "line"), Op(op).name.lower(), symbols.sites.get(site, "operation")
                seen.setdefault(symbols.locations[target], []).append(row)
    assert seen == EXPECTED


def test_log_has_the_order_of_the_event() -> None:
    """What readers really saw is what the log says that they saw, however the threads are switched."""
    source = """
def write(event, rounds):
    for _ in range(rounds):
        event.set()
        event.clear()

def look(event, rounds, seen):
    for _ in range(rounds):
        seen.append(event.is_set())
"""
    with recording() as log, primitives.watching():
        names = prepared("import threading\nevent = threading.Event()" + source)
        seen: list[list[bool]] = [[], []]
        threads = [
            threading.Thread(target=names["write"], args=(names["event"], 2000)),
            *(threading.Thread(target=names["look"], args=(names["event"], 4000, one)) for one in seen),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writes, told = 0, dict[int, list[bool]]()
        for record in log.read():
            if record.object != id(names["event"]) or record.op > Op.WRITE:
                continue
            if record.op == Op.WRITE:
                writes += 1
            else:
                told.setdefault(record.thread, []).append(writes % 2 == 1)
    assert writes == 4000
    assert sorted(told.values()) == sorted(seen)


def test_answers_and_exceptions_are_the_same() -> None:
    with recording(), primitives.watching():
        event, future, lock = threading.Event(), Future[int](), threading.Lock()
        names = prepared("def use(one, name, *given): return getattr(one, name)(*given)")
        use = names["use"]
        assert [use(event, name) for name in ("is_set", "set", "is_set", "clear", "is_set")] == [
            *(False, None, True, None, False)
        ]
        assert [use(future, name) for name in ("done", "running", "cancelled")] == [False] * 3
        assert use(future, "set_result", 1) is None
        assert [use(future, name) for name in ("done", "running", "cancelled", "cancel")] == [True, *[False] * 3]
        with pytest.raises(InvalidStateError, match=r"FINISHED: <Future at .* state=finished returned int>"):
            use(future, "set_result", 2)
        assert future.result() == 1
        assert use(lock, "locked") is False
        with lock:
            assert use(lock, "locked") is True
        with pytest.raises(TypeError):
            use(lock, "locked", 1)
        with pytest.raises(TypeError):
            use(event, "is_set", 1)
        assert use(threading.current_thread(), "is_alive") is True
        unmade = threading.Thread.__new__(threading.Thread)
        with pytest.raises((AssertionError, AttributeError)):
            use(unmade, "is_alive")
