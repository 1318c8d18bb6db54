"""Names of a recorded program: whatever they hold, they command no terminal, and can be stored in every format."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import atomsan as api
from cli.running import Atomsan, Ran, command, environment, leftovers, process

# The title of the window, the bell, a red one, the control character that begins a sequence without an escape, a
# carriage return, and the direction of writing turned around.
EVIL = "\x1b]0;owned\x07\x1b[31m\x9b1m\r\u202e\u2066"
# Text that Python can hold and UTF-8 cannot: a lone surrogate.
LONE = "\udc80\ud800"

# Every name that a program can give is `NAME`: attributes, keys, classes, modules, threads, tasks, locks, functions.
PROGRAM = """
import asyncio, json, mmap, queue, sys, threading, time, types
import broken
NAME = json.loads({name!r})
here = mmap.mmap(-1, 2)
def meet(number):
    here[number] = 1
    while not (here[0] and here[1]):
        time.sleep(0.001)
Account = type({class_name!r}, (), dict(balance=0))
account, table = Account(), dict()
setattr(account, NAME, 0)
setattr(account, "lock" + NAME, threading.Lock())
setattr(account, "queue" + NAME, queue.Queue())
module = types.ModuleType({class_name!r} + ".module")
sys.modules[module.__name__] = module
def deposit(number):
    seen = getattr(account, NAME)
    meet(number)
    setattr(account, NAME, seen + 1)
    table["key" + NAME] = table.get("key" + NAME, 0) + 1
    globals()["global" + NAME] = number
    account.__dict__["direct" + NAME] = number
    with getattr(account, "lock" + NAME):
        getattr(account, "queue" + NAME).put(getattr(account, NAME))
        getattr(account, "queue" + NAME).get()
threads = [threading.Thread(target=deposit, args=(n,), name="thread" + NAME) for n in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
async def step():
    seen = account.balance
    await asyncio.sleep(0)
    account.balance = seen + 1
async def main():
    await asyncio.gather(*(asyncio.create_task(step(), name="task" + NAME) for _ in range(2)))
asyncio.run(main())
TEXT = '''
import threading
total = 0
def add():
    global total
    total += 1
thread = threading.Thread(target=add); thread.start(); add(); thread.join()
'''
exec(compile(TEXT, "file" + NAME + ".py", "exec"), dict(__name__="mod" + NAME))
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMSAN_CACHE", str(tmp_path_factory.getbasetemp() / "atomsan-cache"))


def program(name: str, file: str = "app.py") -> str:
    """A program all of whose names are this one; its file."""
    class_name = "Class" + name.encode(errors="ignore").decode()  # Python has no classes with surrogates
    Path(file).write_text(PROGRAM.format(name=json.dumps(name), class_name=class_name))
    # a module that is not recorded: there is a warning
    Path("broken.py").write_text("match = 1\n")
    return file


def assert_harmless(text: str) -> None:
    assert {sign for sign in text if not sign.isprintable()} <= {"\n"}, text


def assert_shown(ran: Ran, *parts: str) -> None:
    """Only harmless signs were printed, and names are there, escaped."""
    assert ran.code in (0, 1), ran
    assert_harmless(ran.out + ran.err)
    for part in parts:
        assert part in ran.out + ran.err, (part, ran)


ESCAPED = r"\x1b]0;owned\x07\x1b[31m\x9b1m\r\u202e\u2066"


@pytest.fixture
def trace(atomsan: Atomsan) -> str:
    file = program(EVIL, f"app{EVIL}.py")
    ran = atomsan("record", "--explain-selection", "--omit", f"no{EVIL}", "-o", f"t{EVIL}.atomtrace", file, EVIL)
    assert_shown(ran, f"app{ESCAPED}", f"--omit no{ESCAPED} matched no module", f"wrote t{ESCAPED}.atomtrace")
    return f"t{EVIL}.atomtrace"


def test_names_of_a_recorded_program_command_no_terminal(trace: str, atomsan: Atomsan) -> None:
    assert_shown(
        atomsan("check", "--all", "-o", "r.txt", "-o", "r.json", trace),
        *(f"t{ESCAPED}.atomtrace: violated", f"lost update in app{ESCAPED}:deposit", f"Class{ESCAPED}.{ESCAPED}"),
        *(f"thread{ESCAPED} #1", f"global{ESCAPED}"),
    )
    assert_harmless(Path("r.txt").read_text())
    assert Path("r.json").read_text().isascii()
    assert_shown(atomsan("sets", "--all", trace), f"set Class{ESCAPED} #1: not serializable")
    assert_shown(atomsan("predict", "--all", "--method", "view", trace), f"app{ESCAPED}:deposit")
    assert_shown(atomsan("stats", trace), f"app{ESCAPED}:")
    assert_shown(atomsan("validate", trace), f"t{ESCAPED}.atomtrace: well-formed")
    assert_shown(atomsan("refine", "-o", f"s{EVIL}.toml", trace), f"app{ESCAPED}:deposit", f"wrote s{ESCAPED}.toml")
    assert_harmless(Path(f"s{EVIL}.toml").read_text())
    assert_shown(atomsan("convert", trace, f"u{EVIL}.std"), f"wrote u{ESCAPED}.std")
    assert_shown(atomsan("check", "--all", f"u{EVIL}.std"), f"Class{ESCAPED}.{ESCAPED}")


@pytest.mark.parametrize("options", [["--all"], ["--live", "--all"], ["--quiet"]])
def test_report_of_a_run_commands_no_terminal(options: list[str], atomsan: Atomsan) -> None:
    file = program(EVIL, f"app{EVIL}.py")
    ran = atomsan("run", *options, file, EVIL)
    assert_shown(ran, f"app{ESCAPED}")
    assert ran.code == 1


def test_errors_about_a_trace_command_no_terminal(trace: str, atomsan: Atomsan) -> None:
    for arguments in (["stats", f"missing{EVIL}.std"], ["check", "--spec", f"no{EVIL}.toml", trace],
                      ["record", "-o", trace, f"app{EVIL}.py"], ["run", f"no{EVIL}.py"],
                      ["check", f"--{EVIL}", trace], [f"verb{EVIL}"], ["run", "-m", f"no{EVIL}", f"--{EVIL}"],
                      ["convert", trace, f"{EVIL}.xyz"], ["stats", "--format", EVIL, trace]):  # fmt: skip
        ran = atomsan(*arguments)
        assert ran.code == 2 or arguments[:2] == ["run", "-m"], ran
        assert_harmless("".join(line for line in ran.err.splitlines(True) if line.startswith("atomsan: ")))
    (Path(trace) / "sites.arrows").write_bytes(b"no stream")
    ran = atomsan("check", trace)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert_harmless(ran.err)


def on_a_terminal(*arguments: str) -> str:
    """What a command writes to a terminal, with both of its outputs."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(*arguments), stderr=theirs, stdout=theirs, env=environment(TERM="xterm", COLUMNS="150")
    ) as running:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 1 << 16):
                said += piece
        except OSError:  # how a terminal says that the other side is gone
            pass
        assert running.wait(30) in (0, 1), said
    os.close(ours)
    return said.decode()


def test_progress_and_traces_on_a_terminal_do_not_command_it(trace: str) -> None:
    for arguments in (
        ["convert", trace, "-"],
        ["convert", trace, "-", "--output-format", "notation"],
        ["refine", trace, "-o", "spec.toml"],
        ["check", trace],
        ["stats", trace],
    ):
        said = on_a_terminal(*arguments)
        assert "owned" in said, arguments
        for part in ("\x1b]0", "\x07", "\x9b", "\u202e", "\u2066"):
            assert part not in said, (part, arguments)


def test_progress_shows_braces_and_brackets_as_they_are() -> None:
    """They are the template of the column, and the mark-up of the library that shows it."""
    name = "t{0}{task.none}[red].std"
    Path(name).write_text("T1|r(x)|1\n")
    assert f"checking {name}" in on_a_terminal("refine", name, "-o", "spec.toml")


def test_trace_in_a_pipe_is_exact(trace: str) -> None:
    ran = process("convert", "--quiet", trace, "-")
    assert f"Class{EVIL}.{EVIL}".replace("\r", "%0D") in ran.out


def test_pytest_commands_no_terminal() -> None:
    program(EVIL, "program.py")
    Path("test_it.py").write_text(
        "import program\ndef test_deposits():\n    program.here[:] = b'\\0\\0'\n    program.again()\n"
    )
    Path("program.py").write_text(
        Path("program.py").read_text() + "\ndef again():\n"
        "    threads = [threading.Thread(target=deposit, args=(n,), name='thread' + NAME) for n in range(2)]\n"
        "    for thread in threads: thread.start()\n    for thread in threads: thread.join()\n"
    )
    options = ["-p", "no:cacheprovider", "--atomsan", "--atomsan-omit", f"no{EVIL}", "-rA"]
    clean = {name: value for name, value in environment().items() if not name.startswith("PYTEST")}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options], capture_output=True, text=True, env=clean, timeout=60, check=False
    )
    assert ran.returncode == 1, ran
    assert f"Class{ESCAPED}.{ESCAPED}" in ran.stdout
    assert f"--atomsan-omit no{ESCAPED} matched no module" in ran.stdout
    assert_harmless(ran.stdout)


# --- names that UTF-8 cannot have


@pytest.mark.parametrize("suffix", ["atomtrace", "std", "parquet", "csv"])
def test_lone_surrogates_are_stored_escaped(suffix: str, atomsan: Atomsan) -> None:
    program(LONE)
    ran = atomsan("record", "-o", f"t.{suffix}", "app.py", LONE[:1])
    assert ran.code == 0, ran
    assert ran.err.count("\n") == 1, "no warning"
    ran = atomsan("check", "--all", "-o", "r.json", "-o", "r.txt", f"t.{suffix}")
    assert ran.code == 1, ran
    assert rf"{LONE}".encode("ascii", "backslashreplace").decode() in ran.out
    assert json.loads(Path("r.json").read_text())["trace"]["events"] > 20
    locations = api.load(f"t.{suffix}").symbols.locations
    names = [locations[number] for number in range(len(locations))]
    assert any(name.startswith("Class.\\udc80\\ud800") for name in names), names
    assert any(name.startswith("table['key\\udc80\\ud800']") for name in names), names
    assert atomsan("convert", f"t.{suffix}", "again.parquet").code == 0


def test_lone_surrogates_in_a_recording_of_the_own_process() -> None:
    Path("script.py").write_text("""
import atomsan
class Box: pass
box = Box()
def store():
    setattr(box, "x\\udc80\\ud800", 1)
    vars(box)["y\\udc80\\ud800"] = 1
with atomsan.recording("t.atomtrace") as tape:
    store()
print(atomsan.check(tape).verdict, tape.events == len(atomsan.load("t.atomtrace")))
""")
    ran = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, env=environment(), timeout=60, check=False
    )
    assert (ran.stdout, ran.stderr) == ("holds True\n", "")
    locations = api.load("t.atomtrace").symbols.locations
    assert [locations.get(number, "field") for number in (0, 1)] == ["x\\udc80\\ud800", "y\\udc80\\ud800"]


def test_lone_surrogates_in_a_trace_made_in_python(tmp_path: Path) -> None:
    builder = api.TraceBuilder()
    builder.symbols.locations.intern("x", **{"class": f"C{LONE}", "field": "x"})
    builder.add("T", "r", "x")
    for name in ("t.atomtrace", "t.parquet"):
        builder.build().save(tmp_path / name)
        assert api.load(tmp_path / name).symbols.locations.get(0, "class") == "C\\udc80\\ud800"


def test_outputs_and_programs_may_have_any_name(atomsan: Atomsan) -> None:
    """A file is named by bytes; those that are no UTF-8 are surrogates in Python."""
    name = os.fsdecode(b"o\xff")
    Path(name).mkdir()
    program("plain", f"{name}.py")
    for suffix in ("atomtrace", "std", "parquet", "csv", "std.gz", "std.zst"):
        ran = atomsan("record", "-o", f"{name}/{name}.{suffix}", f"{name}.py", name)
        assert (ran.code, ran.err.count("\n")) == (0, 1), ran
        assert f"wrote o\\udcff/o\\udcff.{suffix}: " in ran.err
        ran = atomsan("check", f"{name}/{name}.{suffix}", "-o", f"{name}.json", "-o", f"{name}.txt")
        assert ran.code == 1, ran
        assert json.loads(Path(f"{name}.json").read_text())["trace"]["events"] > 20
        assert "lost update" in Path(f"{name}.txt").read_text()
        ran = atomsan("convert", f"{name}/{name}.atomtrace", f"{name}.{suffix}")
        assert ran.code == 0, ran
        assert len(api.load(f"{name}.{suffix}")) == len(api.load(f"{name}/{name}.atomtrace"))
    assert atomsan("run", "--keep", f"{name}.atomtrace", "--force", f"{name}.py").code == 1
    assert not [one for one in leftovers(Path()) if one.endswith((".lock", ".partial"))]
