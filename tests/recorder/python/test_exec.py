"""Source that the program gives to `exec` and `eval`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from atomsan.recorder.python import session
from atomsan.recorder.python.options import RecordingOptions
from recorder.probing import Log, prepared


@pytest.fixture
def log() -> Iterator[Log]:
    log = Log()
    with session.Session(RecordingOptions(cache=None), log.memory, log.definitions.append):
        yield log


def program(**names: Any) -> dict[str, Any]:
    source = "def run(text): exec(«source exec»[text])\ndef value(text): return eval(«source eval»[text])"
    return prepared(source, **names)


class Account:
    def __init__(self) -> None:
        self.balance = 0


def test_same_text_is_compiled_once(log: Log) -> None:
    account = Account()
    names = program(account=account)
    names["run"]("account.balance += 1")
    log.events({id(account): "account"})
    before = Counter(message[0] for message in log.definitions)
    for _ in range(50):
        names["run"]("account.balance += 1")
    assert Counter(message[0] for message in log.definitions) == before
    assert account.balance == 51
    assert log.events({id(account): "account"}) == 50 * ["read account.balance", "write account.balance"]


def test_different_texts_are_not_confused(log: Log) -> None:
    names = program()
    assert names["value"]("(1, 'exec')") == (1, "exec")
    names["run"]("(1, 'exec')")
    assert names["value"](b"(1, 'exec')") == (1, "exec")
    other = program()
    other["__name__"] = "another"
    other["value"]("(1, 'exec')")
    plans = [message[1]["plan"] for message in log.definitions_of("module")]
    assert Counter(plan["module"] for plan in plans) == {"m": 3, "another": 1}


def test_methods_of_a_str_subclass_are_not_called(log: Log) -> None:
    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise AssertionError

        __eq__ = __hash__ = __str__  # type: ignore[assignment]

    assert program()["value"](Text("1 + 1")) == 2
    assert len(log.definitions_of("module")) == 1


def test_number_of_texts_is_limited(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "DYNAMIC_TEXTS", 3)
    account = Account()
    names = program(account=account)
    for number in range(6):
        names["run"](f"account.balance = {number}")
    assert account.balance == 5
    names["run"]("account.balance = 0")
    assert log.events({id(account): "account"}) == 4 * ["write account.balance"]
    assert len(log.definitions_of("module")) == 3


def test_future_flags_of_the_caller_apply(log: Log) -> None:
    source = "from __future__ import annotations\ndef run(text): exec(«source exec»[text], globals())"
    names = prepared(source)
    names["run"]("def f(x: nowhere) -> None: pass")
    assert names["f"].__annotations__ == {"x": "nowhere", "return": "None"}
