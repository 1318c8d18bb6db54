"""A live check of a program whose objects die: their names leave memory, and the report is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import atomsan
from atomsan.errors import OutputError
from atomsan.flow import latest_events
from atomsan.recorder.log import live
from atomsan.trace import bundle, symbols, temporary_symbols

# Each order is made by one thread and taken apart by another, which loses an update of the stock now and then.
SHOP = """
import queue, threading
class Order:
    def __init__(self, number):
        self.number = number
        self.parts = [number, number + 1]
class Stock:
    def __init__(self):
        self.left = 1000
        self.lock = threading.Lock()
    def get(self):
        with self.lock:
            return self.left
    def put(self, left):
        with self.lock:
            self.left = left
def take(stock, order):
    order.seen = order.parts[0] + order.number
    stock.put(stock.get() - 1)
def work(orders, stock):
    while (order := orders.get()) is not None:
        take(stock, order)
def main():
    queues, stock = [queue.Queue(3), queue.Queue(3)], Stock()
    threads = [threading.Thread(target=work, args=(orders, stock)) for orders in queues]
    for thread in threads:
        thread.start()
    for number in range(120):
        queues[number % 2].put(Order(number % 3))
    for orders in queues:
        orders.put(None)
    for thread in threads:
        thread.join()
main()
"""


def told(report: atomsan.Report) -> dict[str, Any]:
    document = report.to_dict()
    return {key: document[key] for key in ("findings", "suspects", "notes", "verdict", "serializable", "violations")}


def forgetful(patch: pytest.MonkeyPatch) -> list[int]:
    """Let names leave memory soon, and note how many did."""
    dropped: list[int] = []
    leave = symbols.SymbolTable.leave_memory

    def leave_memory(table: symbols.SymbolTable, latest: int) -> None:
        leave(table, latest)
        dropped.append(table.names.dropped)

    patch.setattr(symbols.SymbolTable, "leave_memory", leave_memory)
    patch.setattr(live, "MOST_SYMBOLS", 8)
    patch.setattr(bundle, "MOST_SYMBOLS", 8)
    patch.setattr(latest_events, "MOST_LOCATIONS", 8)
    return dropped


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(SHOP)
    return path


def test_live_check_names_what_left_memory(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = forgetful(monkeypatch)
    report = atomsan.run(shop, live=True)
    assert max(dropped) > 100
    assert report.trace.variables > 200
    assert "shop:take" in {one.region for one in report.findings}
    assert {step.location for one in report.findings for step in one.witness} <= {"Stock.left", "Stock.lock"}


def test_live_check_goes_on_without_room_for_names(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay in memory."""

    def full(*_: object) -> None:
        tries.append(1)
        raise OutputError("no space left")

    tries: list[int] = []
    dropped = forgetful(monkeypatch)
    monkeypatch.setattr(temporary_symbols.TemporarySymbols, "write", full)
    report = atomsan.run(shop, live=True)
    assert (len(tries), dropped) == (1, [])
    assert "shop:take" in {one.region for one in report.findings}
    assert {step.location for one in report.findings for step in one.witness} <= {"Stock.left", "Stock.lock"}


def test_check_of_a_stored_trace_reads_names_when_asked(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = shop.with_suffix(".atomtrace")
    ran = atomsan.run(shop, keep=trace)
    expected = [told(one) for one in (atomsan.check(trace), atomsan.predict(trace))]
    assert expected[1]["findings"] or expected[0]["findings"]
    dropped = forgetful(monkeypatch)
    assert [told(one) for one in (atomsan.check(trace), atomsan.predict(trace))] == expected
    assert min(dropped) > 100
    assert ran.trace.variables > 200


def test_dead_locations_are_stored(shop: Path) -> None:
    """Most parts of orders are dead long before the end, and no later event accesses them."""
    trace = shop.with_suffix(".atomtrace")
    atomsan.run(shop, keep=trace, predict=False)
    dead: set[int] = set()
    for batch in atomsan.open_trace(trace).batches():
        assert dead.isdisjoint(batch.target[batch.op <= 1].tolist())
        if batch.dead is not None:
            dead.update(batch.dead.tolist())
    assert len(dead) > 200
