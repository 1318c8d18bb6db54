"""Code that was defined before the recording, in the script, cell or prompt that asks for it: in a subprocess."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cli.running import environment

BANK = """
    import functools, threading, time
    import atomsan

    def logged(function):
        @functools.wraps(function)
        def around(*args, **kwargs):
            return function(*args, **kwargs)
        return around

    class Base:
        def __init__(self):
            self.balance = 0

    class Account(Base):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        @logged
        def deposit(self, amount=1, *, pause=0.01):
            value = self.balance
            time.sleep(pause)
            self.balance = value + amount

    def work(account):
        for _ in range(3):
            account.deposit()

    def both(account):
        threads = [threading.Thread(target=work, args=(account,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
"""

RECORD = """
    account = Account()
    before = [one.__code__ for one in (work, both, Account.deposit.__wrapped__, Base.__init__)]
    with atomsan.recording() as tape:
        both(account)
    report = atomsan.check(tape)
    print(*sorted({f"{one.region} {one.pattern}" for one in report.findings}))
    print(before == [one.__code__ for one in (work, both, Account.deposit.__wrapped__, Base.__init__)])
    print(*report.warnings, sep="\\n")
"""


def run(directory: Path, source: str, *options: str, typed: str | None = None) -> str:
    (directory / "script.py").write_text(textwrap.dedent(source))
    command = [sys.executable, *options, *([] if typed else ["script.py"])]
    ran = subprocess.run(
        command, cwd=directory, input=typed, capture_output=True, text=True, timeout=60, env=environment()
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_script_that_records_itself_is_watched(tmp_path: Path) -> None:
    source = textwrap.dedent(BANK) + textwrap.dedent(RECORD)
    assert run(tmp_path, source) == "script:Account.deposit lost update\nTrue\n\n"


def test_script_that_records_itself_in_a_function_is_watched(tmp_path: Path) -> None:
    source = textwrap.dedent(BANK) + "\ndef main():\n" + textwrap.indent(textwrap.dedent(RECORD), "    ") + "\nmain()\n"
    assert run(tmp_path, source) == "script:Account.deposit lost update\nTrue\n\n"


CELLS = """
    import linecache

    names = {"__name__": "__main__"}
    for number, text in enumerate(CELLS):
        file = f"<cell {number}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), names)
"""


def test_cells_of_a_notebook_are_watched(tmp_path: Path) -> None:
    cells = f"CELLS = {[textwrap.dedent(BANK), textwrap.dedent(RECORD)]!r}\n"
    assert run(tmp_path, cells + textwrap.dedent(CELLS)) == "__main__:Account.deposit lost update\nTrue\n\n"


TYPED = """\
import atomsan
class Box:
    def __init__(self):
        self.n = 0
    def add(self):
        self.n += 1

box = Box()
with atomsan.recording() as tape:
    box.add()

print(*atomsan.check(tape).warnings, sep="\\n")
"""

NOT_KNOWN = (
    "not watched: Box.__init__, Box.add of __main__, because the source is not known (it was typed at a prompt, was"
    " changed, or another tool rewrote it): put it into a module and import that inside the recording, or into a script"
    " and use atomsan run SCRIPT"
)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python keeps what was typed")
@pytest.mark.parametrize("options", [["-i", "-q"], ["-c", "import code; code.interact(banner='', exitmsg='')"]])
def test_prompt_says_that_nothing_was_watched(options: list[str], tmp_path: Path) -> None:
    shown = run(tmp_path, "", *options, typed=TYPED)
    assert "nothing was watched: no function of the code that asked for the recording ran inside it" in shown
    assert NOT_KNOWN in shown.replace("__console__", "__main__")


def test_every_kind_of_function_does_what_it_did(tmp_path: Path) -> None:
    source = """
        import asyncio, atomsan, dataclasses
        class Kinds:
            n = 0
            @property
            def value(self): return self.n
            @value.setter
            def value(self, given): self.n = given
            @classmethod
            def make(cls, *args, key=5, **rest): return cls, args, key, rest
            @staticmethod
            def twice(x, /, y=2): return x * y
            def each(self):
                got = yield self.n
                yield got
            async def later(self): return self.value
            async def stream(self):
                yield self.n
            def __repr__(self): return f"{super().__repr__()[:1]}{__class__.__name__}"
            def counter(self):
                count = 0
                def inner():
                    nonlocal count
                    count += 1
                    return count
                return inner
        @dataclasses.dataclass
        class Point:
            x: int
        async def all_of(kinds): return await kinds.later(), [one async for one in kinds.stream()]
        def tried(kinds):
            kinds.value = 7
            steps = kinds.each()
            inner = kinds.counter()
            return [
                kinds.value, Kinds.make(1, a=2), Kinds.twice(3), next(steps), steps.send(4), asyncio.run(all_of(kinds)),
                repr(kinds), inner(), inner(), Point(1), sorted([2, 1], key=lambda one: -one),
            ]
        plain = tried(Kinds())
        with atomsan.recording() as tape:
            watched = tried(Kinds())
            assert tried.__code__ is not plain
        print(plain == watched == tried(Kinds()), tape.events > 20)
        names = {tape.symbols.regions[n] for n in range(len(tape.symbols.regions))}
        print(*sorted(name.removeprefix("script:") for name in names))
        print(*atomsan.check(tape).warnings)
    """
    made = run(tmp_path, source).splitlines()
    assert made[0] == "True True"
    assert {"Kinds.make", "Kinds.twice", "Kinds.each", "Kinds.later", "Kinds.stream", "Kinds.counter", "tried"} <= {
        *made[1].split()
    }
    assert "not watched" not in made[2]


def test_closure_that_exists_is_not_watched_and_said(tmp_path: Path) -> None:
    source = """
        import atomsan
        def counter():
            count = 0
            def inner():
                nonlocal count
                count += 1
                return count
            return inner
        inner, pair = counter(), (lambda x: x.n, lambda x: x.n + 1)
        with atomsan.recording() as tape:
            print(inner(), counter()())
        print(inner())
        print(*atomsan.check(tape).warnings, sep="\\n")
    """
    assert run(tmp_path, source).splitlines()[:4] == [
        "1 1",
        "2",
        "not watched: counter.<locals>.inner of script, because it uses variables of a function around it that was not"
        " watched: define it inside the recording",
        "not watched: <lambda> of script, because several functions of one name are in its line: put each into a line"
        " of its own",
    ]


def test_changed_source_is_not_used(tmp_path: Path) -> None:
    source = """
        import atomsan, pathlib
        class Box: n = 1
        def f(box): box.n = 3; return box.n
        def g(box): return box.n
        path = pathlib.Path("script.py")
        path.write_text(path.read_text().replace("box): return box.n", "box): return box.m"))
        with atomsan.recording() as tape:
            print(f(Box()), g(Box()))
        regions = tape.symbols.regions
        print(*regions)
        print(*(one[:30] for one in tape.meta.warnings))
    """
    assert run(tmp_path, source) == "3 1\nscript:f\nnot watched: g of script, beca\n"


def test_omitted_script_is_left_alone(tmp_path: Path) -> None:
    source = """
        import atomsan
        def f(): return 1
        with atomsan.recording(omit=["script"]) as tape:
            f()
        print(len(tape.symbols.regions), *tape.meta.warnings)
    """
    assert run(tmp_path, source).startswith("0 nothing was watched")


def test_globs_of_a_recording_that_match_nothing_warn(tmp_path: Path) -> None:
    source = """
        import atomsan
        with atomsan.recording(include=["json", "shop"], omit=["bank"]) as tape:
            import json.tool
        print(*tape.meta.warnings[1:], sep="\\n")
    """
    assert run(tmp_path, source).splitlines() == [
        "--include shop matched no module that was imported while recording",
        "--omit bank matched no module that was imported while recording",
    ]


def test_functions_have_their_code_back_after_an_error(tmp_path: Path) -> None:
    source = """
        import atomsan, threading
        def f():
            for _ in range(2): 1 / 0
        def g(): pass
        before = f.__code__, g.__code__
        try:
            with atomsan.recording():
                thread = threading.Thread(target=g)
                thread.start()
                thread.join()
                f()
        except ZeroDivisionError as error:
            print(error.__traceback__.tb_next.tb_lineno)
        print(before == (f.__code__, g.__code__))
    """
    assert run(tmp_path, source) == "4\nTrue\n"
