"""Source that the program gives to `exec` and `eval`."""

from __future__ import annotations

import ast
import marshal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from atomsan.recorder.python import dynamic_code, session
from atomsan.recorder.python.options import RecordingOptions
from recorder.probing import Log, prepared


@pytest.fixture
def log() -> Iterator[Log]:
    log = Log()
    with session.Session(RecordingOptions(cache=None), log.memory, log.definitions.append):
        # but for the modules that earlier recordings of this process have loaded
        log.definitions[:] = [message for message in log.definitions if message[0] != "module"]
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
    monkeypatch.setattr(dynamic_code, "DYNAMIC_TEXTS", 3)
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


# Code that `compile` made


COMPILED = """
def made(*args, **named): return «call compile»(compile, *args, **named)
def run(code, *names): exec(«source exec»[code], *names)
def value(code, *names): return eval(«source eval»[code], *names)
"""


class Compiled:
    """A program that compiles texts and runs the code, and what that did to `account`."""

    def __init__(self, log: Log, before: str = "") -> None:
        self.account = Account()
        self.names = prepared(before + COMPILED, account=self.account)
        self.made, self.run, self.value = (self.names[name] for name in ("made", "run", "value"))
        self._log = log

    def events(self) -> list[str]:
        return self._log.events({id(self.account): "account"})


COUNT = "account.balance += 1"
COUNTED = ["read account.balance", "write account.balance"]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((COUNT, "rule", "exec"), {}),
        ((COUNT.encode(), b"rule", "exec"), {}),
        ((COUNT, "rule", "single"), {"optimize": 1}),
        ((COUNT,), {"filename": "rule", "mode": "exec", "dont_inherit": True}),
        ((COUNT, "rule", "exec", 0, False, -1), {}),
    ],
)
def test_compiled_code_is_recorded_where_it_runs(args: Any, named: Any, log: Log) -> None:
    program = Compiled(log)
    code = program.made(*args, **named)
    plain = compile(*args, **named)
    assert code == plain  # nothing is to be seen in it
    assert marshal.dumps(code) == marshal.dumps(plain)
    assert program.events() == []
    program.run(code)
    program.run(code, {"account": program.account})
    assert program.account.balance == 2
    assert program.events() == 2 * COUNTED
    assert [message[1]["plan"]["file"] for message in log.definitions_of("module")] == ["rule"]


def test_values_of_compiled_expressions_are_the_same(log: Log) -> None:
    program = Compiled(log)
    code = program.made("account.balance + 1", "formula", "eval")
    assert [program.value(code), program.value(code, {"account": program.account})] == [1, 1]
    assert program.events() == ["read account.balance"]  # the second one follows the first, and tells no more


def test_same_code_is_asked_about_once(log: Log) -> None:
    program = Compiled(log)
    codes = [program.made(COUNT, "rule", "exec") for _ in range(3)]
    for _ in range(20):
        for code in codes:
            program.run(code)
    assert program.account.balance == 60
    assert program.events() == 60 * COUNTED
    assert len(log.definitions_of("module")) == 1


def test_code_that_compile_did_not_make_of_a_text_is_left_alone(log: Log) -> None:
    program = Compiled(log)
    tree = program.made(COUNT, "rule", "exec", ast.PyCF_ONLY_AST)
    assert isinstance(tree, ast.Module)
    marshalled = marshal.loads(marshal.dumps(program.made(COUNT, "rule", "exec")))
    for code in (
        program.made(tree, "rule", "exec"),
        compile(COUNT, "rule", "exec"),
        marshalled,
        program.made(COUNT, "rule", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT),
    ):
        program.run(code)
    assert program.account.balance == 4
    assert program.events() == []


def test_code_at_the_address_of_code_that_died_is_not_confused(log: Log) -> None:
    program = Compiled(log)
    for _ in range(50):
        program.run(program.made(COUNT, "rule", "exec"))
        program.run(compile("account.balance = 5", "rule", "exec"))
    assert program.events() == 50 * COUNTED


def test_errors_of_compiled_code_are_shown_as_ever(log: Log) -> None:
    program = Compiled(log)
    with pytest.raises(SyntaxError) as caught:
        program.made("account.", "rule", "exec")
    assert caught.value.filename == "rule"
    with pytest.raises(TypeError):
        program.made("account")
    with pytest.raises(ValueError, match="mode"):
        program.made("account", "rule", "wrong")
    code = program.made("\n\naccount.missing.more", "rule", "exec")
    with pytest.raises(AttributeError) as missing:
        program.run(code)
    last = traceback.extract_tb(missing.tb)[-1]
    assert (last.filename, last.lineno, last.name) == ("rule", 3, "<module>")


def test_functions_in_compiled_code_look_as_ever(log: Log) -> None:
    program = Compiled(log)
    text = (
        '"""Rules."""\n\n\ndef rule(account, by=1):\n    """Counts."""\n    account.balance += by\n    return account'
    )
    names: dict[str, Any] = {}
    program.run(program.made(text, "rules", "exec"), names)
    rule = names["rule"]
    assert (names["__doc__"], rule.__doc__, rule.__code__.co_filename) == ("Rules.", "Counts.", "rules")
    assert (rule.__code__.co_firstlineno, rule.__code__.co_varnames) == (4, ("account", "by"))
    assert rule(program.account, 3).balance == 3
    assert program.events() == COUNTED


def test_optimization_and_features_are_those_of_the_call(log: Log) -> None:
    program = Compiled(log, "from __future__ import annotations\n")
    text = 'def rule(account: nowhere):\n    "Counts."\n    assert False'
    names: dict[str, Any] = {}
    program.run(program.made(text, "rules", "exec", 0, False, 2), names)
    assert (names["rule"].__annotations__, names["rule"].__doc__) == ({"account": "nowhere"}, None)
    names["rule"](1)
    own = program.made(text, "rules", "exec", dont_inherit=True)
    with pytest.raises(NameError):
        program.run(own, {})


def test_warnings_are_shown_once(log: Log) -> None:
    program = Compiled(log)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program.run(program.made("account.balance is 5", "rule", "exec"))
    assert [one.filename for one in caught] == ["rule"]


def test_number_of_compiled_codes_is_limited(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic_code, "DYNAMIC_TEXTS", 3)
    program = Compiled(log)
    kept = [program.made(COUNT, f"rule {number}", "exec") for number in range(5)]
    for code in kept:
        program.run(code)
    assert program.account.balance == 5
    assert program.events() == 3 * COUNTED
    del kept, code
    program.run(program.made(COUNT, "rule 0", "exec"))  # those that died make room
    assert program.events() == COUNTED
