"""The background worker: order of calls, small calls, errors, and leaving the block."""

from __future__ import annotations

import threading

import pytest

from atomsan.trace.worker import SMALL, Worker


def test_results_come_in_the_order_of_the_calls() -> None:
    taken = []
    with Worker(lambda n: n * n, "squares", ahead=2) as worker:
        for n in range(10):
            if worker.is_full:
                taken.append(worker.result())
            worker.start(n, SMALL if n % 3 else 0)
        while worker.calls:
            taken.append(worker.result())
    assert taken == [n * n for n in range(10)]


def test_small_call_runs_at_once_and_fills_the_worker() -> None:
    with Worker(lambda _: threading.current_thread(), "never", ahead=2) as worker:
        worker.start(0, SMALL - 1)
        assert worker.is_full
        assert worker.result() is threading.current_thread()
        assert not worker.is_full


def test_small_call_waits_for_a_large_one() -> None:
    may_go = threading.Event()
    done: list[int] = []

    def wait(n: int) -> None:
        may_go.wait(10)
        done.append(n)

    with Worker(wait, "waits", ahead=2) as worker:
        worker.start(1, SMALL)
        worker.start(2, 0)
        assert worker.is_full
        may_go.set()
        worker.result()
        worker.result()
    assert done == [1, 2]


def test_result_raises_the_error_of_its_call() -> None:
    with Worker(lambda n: 1 // n, "divides", ahead=2) as worker:
        worker.start(0, SMALL)
        worker.start(1, SMALL)
        with pytest.raises(ZeroDivisionError):
            worker.result()
        assert worker.result() == 1


def test_exit_waits_for_the_running_call_and_drops_queued_ones() -> None:
    begun, may_go = threading.Event(), threading.Event()
    done: list[int] = []

    def wait(n: int) -> None:
        begun.set()
        may_go.wait(10)
        done.append(n)

    with Worker(wait, "waits", ahead=2) as worker:
        worker.start(1, SMALL)
        begun.wait(10)
        worker.start(2, SMALL)
        threading.Timer(0.05, may_go.set).start()
    assert done == [1]
