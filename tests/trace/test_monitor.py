"""The monitor of passes: when it says stop, why, and whom it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager

import pytest

import atomsan
from atomsan.trace.monitor import INTERRUPTED, OUT_OF_TIME, Monitor

TRACE = atomsan.parse("T:r(x) T:w(x)")


def test_without_a_timeout_it_never_stops() -> None:
    monitor = Monitor()
    assert not monitor.is_over()
    assert monitor.stopped is None


def test_the_deadline_is_noted_when_somebody_asks() -> None:
    monitor = Monitor(timeout=0)
    assert monitor.stopped is None
    assert monitor.is_over()
    assert monitor.stopped == OUT_OF_TIME


@pytest.mark.parametrize(("timeout", "why"), [(None, INTERRUPTED), (1000.0, INTERRUPTED), (0.0, OUT_OF_TIME)])
def test_an_interrupt_is_the_alarm_if_the_time_is_up(timeout: float | None, why: str) -> None:
    monitor = Monitor(timeout)
    with monitor.stopping():
        raise KeyboardInterrupt
    assert (monitor.stopped, monitor.is_over()) == (why, True)


def test_only_an_interrupt_is_caught() -> None:
    with pytest.raises(ValueError, match="no"), Monitor().stopping():
        raise ValueError("no")


class Closable:
    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_a_pass_tells_of_its_batches_and_closes_the_source(error: type[BaseException] | None) -> None:
    told: list[object] = []

    @contextmanager
    def progress(source: object) -> Iterator[Callable[[Sized], None]]:
        told.append(source)
        yield lambda batch: told.append(len(batch))
        told.append("end")

    monitor, source = Monitor(progress=progress), Closable()
    with monitor.stopping(), monitor.over(source) as done:  # type: ignore[arg-type]
        done([1, 2])
        if error:
            raise error
    assert told == [source, 2, *([] if error else ["end"])]
    assert source.is_closed
    assert (monitor.stopped == INTERRUPTED) == bool(error)


def test_a_source_need_not_be_closable() -> None:
    with Monitor().over(TRACE) as done:
        done([])
