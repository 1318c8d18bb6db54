"""Pickled probes: tools such as cloudpickle send the constants of a function's code."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any

import pytest

from atomsan.recorder.python import _probes
from atomsan.source.plan import KINDS
from recorder.probing import function, prepared, recording

FREE = 10
TESTS = Path(__file__).parents[2]
SOURCE = """
def f(obj, items, table):
    del «begin»[obj]
    total = «load_attr balance»[obj].balance
    «store_attr balance»[obj].balance = total + 1
    «aug_attr balance»[obj] += 1
    step = «aug_attr balance +1»
    if obj not in step: step[obj] += 1
    if not step(obj, 1): step[obj] += 1
    «item»(table, 'a')
    «item»[table, 'b'] = 2
    del «item»[table, 'b']
    «aug_item»[table, 'a'] += 1
    «load_name COUNT»[COUNT]
    «method append»[items].append(1)
    got = «keyed_method get»[table, 'z'].get('z', 5)
    «late_method append»[items](got)
    size = len(«argument len»[items])
    order = «call sorted»(sorted, items, reverse=True)
    for x in «iterate»[items]:
        size += x
    a, *rest = «unpack»[items]
    flag = bool(items) if «truth»[items] else None
    found = 'a' in «contains»[table, 'a'], «late_contains»['q', table]
    mine = «cells»[None]
    n = «load_cell n»[7, mine]
    with «with»[manager]:
        pass
    del «end»[None]
    return obj.balance, table, items, size, order, a, rest, flag, found, n, «source exec»['1 + 1']
"""


class Account:
    def __init__(self) -> None:
        self.balance = 10


class Manager:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def work() -> FunctionType:
    return function(SOURCE, COUNT=1, manager=Manager(), shared=("COUNT",))


def result_of(function: Any) -> Any:
    return function(Account(), [3, 1], {"a": 1})


def with_constants(function: FunctionType, constants: tuple[Any, ...]) -> FunctionType:
    return FunctionType(function.__code__.replace(co_consts=constants), function.__globals__)


def elsewhere(pickled: bytes, recorded: bool) -> bytes:
    """What another process makes of a pickle, pickled again there."""
    program = """
import pickle, sys
from recorder.probing import recording
def again():
    return pickle.dumps(pickle.load(sys.stdin.buffer))
if sys.argv[1] == "True":
    with recording():
        made = again()
else:
    made = again()
sys.stdout.buffer.write(made)
"""
    command = [sys.executable, "-c", program, str(recorded)]
    return subprocess.run(command, input=pickled, capture_output=True, check=True, cwd=TESTS).stdout


def test_probe_unpickled_in_its_process_is_the_same() -> None:
    constants = work().__code__.co_consts
    loaded = pickle.loads(pickle.dumps(constants))
    assert [a is b for a, b in zip(constants, loaded, strict=True) if isinstance(a, _probes.Probe)].count(False) == 0
    assert sum(isinstance(one, _probes.Probe) for one in loaded) > 20


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copy_of_a_probe_is_the_probe(copied: Any) -> None:
    probes = [one for one in work().__code__.co_consts if isinstance(one, _probes.Probe)]
    assert all(copied(probe) is probe for probe in probes)


@pytest.mark.parametrize("recorded", [False, True])
def test_probe_in_another_process_logs_nothing(recorded: bool) -> None:
    original = work()
    # from another process, because there is none here whose probes are not known: pickled there, loaded here
    strange = with_constants(original, pickle.loads(elsewhere(pickle.dumps(original.__code__.co_consts), recorded)))
    assert not set(map(id, probes_of(original))) & set(map(id, probes_of(strange)))
    with recording() as log:
        expected = result_of(original)
        assert log.read()
        assert result_of(strange) == expected
        assert {record.op for record in log.read()} <= {FREE}


def probes_of(function: FunctionType) -> list[Any]:
    return [one for one in function.__code__.co_consts if isinstance(one, _probes.Probe)]


def test_every_kind_has_an_inert_probe() -> None:
    for kind in KINDS:
        quiet: Any = _probes._unpickled(("nobody", 0, 0), kind, "real")
        assert repr(quiet) == f"<atomsan {kind} real>"
        assert pickle.loads(pickle.dumps(quiet)) is quiet
        if kind in ("begin", "end"):
            del quiet[3]
        elif kind not in ("item", "aug_item", "call", "load_cell", "store_cell", "keyed_method", "contains"):
            assert quiet[(1, (1, 2))] if kind == "late_contains" else quiet[3] == 3


def test_pickled_function_gets_new_closure_variables() -> None:
    source = """
def f():
    cells = «cells»[None]
    n = 0
    def g():
        nonlocal n
        n = «store_cell n»[n + 1, cells]
        return n
    return g
"""
    g = prepared(source)["f"]()
    g()
    contents = [cell.cell_contents for cell in g.__closure__]
    code: CodeType = g.__code__
    constants, loaded = pickle.loads(pickle.dumps((code.co_consts, contents)))
    again = FunctionType(code.replace(co_consts=constants), {}, "g", None, tuple(map(CellType, loaded)))
    assert (g(), g(), again()) == (2, 3, 2)
