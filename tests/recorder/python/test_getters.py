"""Getters of `operator`: what they read and change is logged at the line in recorded code that calls them."""

from __future__ import annotations

import operator
from pathlib import Path

import pytest

import atomsan
from atomsan.recorder.python import _probes
from atomsan.trace.events import Op
from recorder.running import recorded

PROGRAM = """
    import ctypes, functools, operator
    import library

    class Account:
        def __init__(self, balance):
            self.balance = balance
            self.inner = self

        @property
        def doubled(self):
            return self.balance * 2

    account = Account(1)
    accounts = [account]
    table = {"x": 1, "y": 2}
    balance = operator.attrgetter("balance")

    balance(account)
    operator.attrgetter("inner.balance", "balance")(account)
    operator.attrgetter("doubled")(account)
    operator.itemgetter("x")(table)
    operator.itemgetter("x", "y")(table)
    operator.methodcaller("pop", "x")(table)
    sum(map(balance, accounts))
    sorted(accounts, key=balance)
    list(filter(balance, accounts))
    functools.reduce(max, map(balance, accounts))
    library.call(balance, account)
    for wrong in (balance, operator.itemgetter("none"), operator.attrgetter("balance.none")):
        for arguments in ((), (account, account), ({},), (account,)):
            try:
                wrong(*arguments)
            except (AttributeError, KeyError, TypeError) as error:
                print(type(error).__name__, error)
    for kept in (account, accounts, table):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
"""
BALANCE = "read Account.balance"
EXPECTED = {
    "balance(account)": [BALANCE],
    'operator.attrgetter("inner.balance", "balance")(account)': ["read Account.inner", BALANCE],  # logged once
    "return self.balance * 2": [BALANCE],
    'operator.itemgetter("x")(table)': ["read ['x']"],
    'operator.itemgetter("x", "y")(table)': ["read ['x']", "read ['y']"],
    'operator.methodcaller("pop", "x")(table)': ["write ['x']", "write (structure)"],
    "sum(map(balance, accounts))": [BALANCE],
    "sorted(accounts, key=balance)": [BALANCE],
    "list(filter(balance, accounts))": [BALANCE],
    "functools.reduce(max, map(balance, accounts))": [BALANCE],
    "library.call(balance, account)": [BALANCE],
}


def test_getters_log_at_the_calling_line(tmp_path: Path) -> None:
    trace = atomsan.load(recorded(tmp_path, PROGRAM))
    symbols, seen = trace.symbols, dict[str, list[str]]()
    for batch in trace.batches():
        for op, target, site in zip(batch.op.tolist(), batch.target.tolist(), batch.site.tolist(), strict=True):
            if op not in (Op.READ, Op.WRITE):
                continue
            name, line = symbols.locations[target], symbols.sites.get(site, "text")
            if name.startswith("Account."):
                seen.setdefault(line, []).append(f"{Op(op).name.lower()} {name.partition(' ')[0]}")
            elif "operator." in line:
                place = name[name.index("[") :] if "[" in name else "(structure)"
                seen.setdefault(line, []).append(f"{Op(op).name.lower()} {place}")
    assert {line: events for line, events in seen.items() if line in EXPECTED} == EXPECTED


@pytest.mark.parametrize(
    "getter", [operator.attrgetter("real"), operator.itemgetter(0), operator.methodcaller("bit_count")]
)
def test_getters_are_themselves(getter: operator.attrgetter[object]) -> None:
    before = repr(getter)
    _probes.watch_getters()
    try:
        made = type(getter)(*getter.__reduce__()[1])
        with pytest.raises(TypeError, match="expected 1 argument"):
            made()  # type: ignore[call-arg]
    finally:
        _probes.unwatch_getters()
    assert (repr(made), type(made)) == (before, type(getter))
