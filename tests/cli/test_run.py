"""`atomsan run`: the program behaves as without AtomSan, and its violations are reported."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.running import Atomsan, Ran, assert_refused, command, environment, process

LOST_UPDATE = """
import mmap, threading, time

here = mmap.mmap(-1, 2)  # not watched: both threads read before one of them writes
def meet(number):
    here[number] = 1
    while not (here[0] and here[1]):
        time.sleep(0.001)

class Account:
    def __init__(self):
        self.balance = 0
    def deposit(self, number):
        seen = self.balance
        meet(number)
        self.balance = seen + 1

account = Account()
threads = [threading.Thread(target=account.deposit, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(account.balance)
"""

# A loop that ends when it is told to, and says so; it has started when it has printed `ready`.
SERVER = """
import os, signal, sys, threading, time

class Served:
    count = 0
served = Served()

def work():
    while True:
        served.count += 1
        time.sleep(0.001)

def end(number, frame):
    os.write(1, f"ended by {signal.Signals(number).name}\\n".encode())  # it may come in the middle of a print
    sys.exit(0)

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2):
    signal.signal(number, end)
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMSAN_CACHE", str(tmp_path_factory.getbasetemp() / "atomsan-cache"))


def written(text: str, name: str = "app.py") -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)
    return name


def plain(*arguments: str, **options: Any) -> Ran:
    """Run a program with plain Python."""
    options.setdefault("env", os.environ.copy())
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, timeout=60, **options)
    # a shell shows 128 and the signal
    code = 128 - ran.returncode if ran.returncode < 0 else ran.returncode
    return Ran(code, ran.stdout.decode(), ran.stderr.decode())


def assert_same(atomsan: Atomsan, *arguments: str) -> Ran:
    """Run a program with and without AtomSan; both must do the same. Returns the result."""
    expected, found = plain(*arguments, stdin=subprocess.DEVNULL), atomsan("run", "--quiet", *arguments)
    assert without_addresses(found) == without_addresses(expected)
    return expected


def without_addresses(ran: Ran) -> Ran:
    return ran._replace(**{name: re.sub("0x[0-9a-f]+", "0x", getattr(ran, name)) for name in ("out", "err")})


# --- the program's process -----------------------------------------------------------------------------------------

ENDS = {
    "ends": ("print('out')", 0),
    "exit code": ("import sys; sys.exit(3)", 3),
    "exit with a text": ("import sys; sys.exit('a text')", 1),
    "exit with a negative code": ("import sys; sys.exit(-1)", 255),
    "raises": ("def f():\n    return 1 / 0\n\ndef g():\n    f()\n\ng()", 1),
    "raises from": ("try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e", 1),
    "raises a group": ("raise ExceptionGroup('g', [ValueError(1), OSError('x')])", 1),
    "raises with notes": ("e = ValueError('v')\ne.add_note('a note')\nraise e", 1),
    "interrupted": ("def f():\n    raise KeyboardInterrupt\nf()", 130),
    "leaves at once": ("import os; print('lost?', flush=True); os._exit(5)", 5),
    "aborts": ("import os; os.abort()", 134),
    "is killed": ("import os; os.kill(os.getpid(), 9)", 137),
    "dies of a segmentation fault": ("import signal; signal.raise_signal(signal.SIGSEGV)", 139),
    "has an excepthook": ("import sys\nsys.excepthook = lambda *a: print('mine', a[0])\n1/0", 1),
    "has an excepthook that fails": (
        "import sys\ndef hook(*a):\n    raise OSError('bad')\nsys.excepthook = hook\n1/0",
        1,
    ),
    "exits in a thread": (
        "import sys, threading\nt = threading.Thread(target=sys.exit, args=(7,))\nt.start(); t.join(); print('on')",
        0,
    ),
    "raises in a thread": (
        "import threading\nclass C: x = 0\ndef f():\n    C.x += 1\n    raise ValueError('in f')\n"
        "t = threading.Thread(target=f, name='worker')\nt.start(); t.join(); print('on')",
        0,
    ),
    "has exit handlers": (
        "import atexit, sys\nclass C: n = 0\ndef last():\n    C.n += 1\n    print('last', C.n)\n"
        "atexit.register(last); atexit.register(print, 'first'); sys.exit(4)",
        4,
    ),
    "fails in an exit handler": ("import atexit\ndef f():\n    {}['x']\natexit.register(f)", 0),
    "leaves daemons": (
        "import threading, time\nclass C: n, lock = 0, threading.Lock()\ndef f():\n"
        "    while True:\n        with C.lock: C.n += 1\n        time.sleep(0.0001)\n"
        "for _ in range(4): threading.Thread(target=f, daemon=True).start()\ntime.sleep(0.05); print('done')",
        0,
    ),
    "ends before its threads": (
        "import threading, time\ndef f():\n    time.sleep(0.1)\n    print('thread done')\n"
        "threading.Thread(target=f).start()\nprint('main done')",
        0,
    ),
    "is no Python": ("def f(:\n    pass", 1),
    "is badly indented": ("if 1:\n  x = 1\n   y = 2", 1),
    "warns": ("import warnings\ndef f():\n    warnings.warn('careful', stacklevel=2)\nf()", 0),
    "shows its stack": ("import traceback, sys\ndef f():\n    traceback.print_stack(file=sys.stdout)\nf()", 0),
    "recurses": (
        "import sys\nclass C: deepest = 0\ndef f(n):\n    C.deepest = n\n    f(n + 1)\n"
        "try:\n    f(1)\nexcept RecursionError as e:\n    print(C.deepest, sys.getrecursionlimit(), e)",
        0,
    ),
    "recurses to the end": ("def f(n):\n    return f(n + 1)\nf(0)", 1),
    "deletes at the end": (
        "class C:\n    def __del__(self):\n        print('deleted', self.n)\nc = C()\nc.n = 3\n",
        0,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_programs_end_as_without_atomsan(name: str, atomsan: Atomsan) -> None:
    text, code = ENDS[name]
    assert assert_same(atomsan, written(text)).code == code


SEES = {
    "main": """
import sys, inspect
main = sys.modules["__main__"]
print(__name__, __file__, __doc__, __package__, __spec__, __builtins__, __annotations__, type(__loader__).__name__)
print(main.__dict__ is globals(), sorted(globals()), vars().keys() == globals().keys())
print(len(inspect.stack()), inspect.stack()[0].filename, sys._getframe().f_back, sys._getframe().f_lineno)
print(sys.argv, sys.path, sys.executable, sys.orig_argv[-3:], sys.flags, sys.getswitchinterval())
class C: pass
print(C, C.__module__, repr(C.__init__), inspect.getsource(C))
""",
    "process": """
import os, sys, signal
print(sorted(os.environ.items()), os.getcwd(), sys.stdin.read())
print({n: str(signal.getsignal(n)) for n in (1, 2, 3, 10, 12, 13, 15, 25)}, os.getpgrp(), os.getsid(0))
print(open(__file__).fileno(), os.dup(1))
""",
    "future": '''# -*- coding: latin-1 -*-
"""The docstring."""
from __future__ import annotations
def f(x: undefined) -> "text": pass
print(f.__annotations__, __doc__)
''',
    "pickles": """
import pickle, copy
class Point:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return self.x == other.x
def f(): return 1
p = pickle.loads(pickle.dumps(Point(3)))
print(p == Point(3), pickle.loads(pickle.dumps(f)) is f, copy.deepcopy(p).x, pickle.dumps(Point(4)))
""",
    "guard": "def main():\n    print('main runs')\nif __name__ == '__main__':\n    main()\n",
    "closes descriptors": """
import os
os.closerange(3, 1024)
class Later: pass
with open("mine.txt", "w") as file:
    for n in range(300):
        os.dup(file.fileno())
    later = Later()
    later.a = {}
    later.a["key"] = 1
print(open("mine.txt").read())
""",
    "limits": """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
class C: pass
c = C(); c.x = 1; print(c.x, open(__file__).fileno())
""",
}


@pytest.mark.parametrize("name", SEES)
def test_programs_see_the_same_as_without_atomsan(name: str, atomsan: Atomsan) -> None:
    assert assert_same(atomsan, written(SEES[name]), "an argument", "--option").err == ""


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfprint('bom \xc3\xa9')\n",
        b"# coding: latin-1\nprint('\xe9')\n",
        b"# coding: nothing-known\nprint(1)\n",
        b"print('\xe9')\n",
        b"print('a')\r\nprint('b')\r\n1/0\r\n",
        b"print('no newline')",
        b"",
        b"x = 1\x00\n",
    ],
)
def test_encodings(content: bytes, atomsan: Atomsan) -> None:
    Path("app.py").write_bytes(content)
    assert_same(atomsan, "app.py")


WARNED_OF = """
import threading, warnings
seen = []
def work():
    for i in range(3):
        assert (i, "always true")
        seen.append(i is "text")
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(seen, warnings.filters)
"""


def test_warnings_of_the_compiler(atomsan: Atomsan) -> None:
    """Each occurs once in every run of the main file, not again for the loops of an entry function."""
    written(WARNED_OF)
    for _ in range(2):
        assert assert_same(atomsan, "app.py").err.count("SyntaxWarning") == 2
        assert assert_same(atomsan, "-c", WARNED_OF).err.count("SyntaxWarning") == 2


SHOW = "import sys\nprint(__name__, __package__, __spec__ and __spec__.name, sys.argv, sys.path[0], __file__)\n"


def test_modules(atomsan: Atomsan) -> None:
    written("print('package')", "pkg/__init__.py")
    written(SHOW + "from pkg import mod", "pkg/__main__.py")
    written(SHOW + "from . import other\nraise ValueError(other.x)", "pkg/mod.py")
    written("x = {'a': 1}", "pkg/other.py")
    assert assert_same(atomsan, "-m", "pkg", "--an", "option").code == 1
    assert assert_same(atomsan, "-m", "pkg.mod").code == 1
    assert assert_same(atomsan, "-m", "pkg.nothing").code == 1
    assert assert_same(atomsan, "-m", "nothing").code == 1


def test_code_on_the_command_line(atomsan: Atomsan) -> None:
    assert_same(atomsan, "-c", "import sys; print(sys.argv, sys.path[0], __name__, globals().keys())", "-m", "x")
    assert_same(atomsan, "-c", "def f():\n    1/0\nf()")
    assert_same(atomsan, "-c", "x = (")


def test_directories_and_archives(atomsan: Atomsan) -> None:
    written(SHOW + "import helper", "directory/__main__.py")
    written("print(__name__)", "directory/helper.py")
    with zipfile.ZipFile("archive.zip", "w") as archive:
        archive.write("directory/__main__.py", "__main__.py")
        archive.write("directory/helper.py", "helper.py")
    assert_same(atomsan, "directory", "x")
    assert_same(atomsan, "archive.zip", "x")
    Path("empty").mkdir()
    assert_same(atomsan, "empty")


def test_processes_of_a_program(atomsan: Atomsan) -> None:
    written(
        """
import multiprocessing, os, sys, subprocess
class Point:
    def __init__(self, x): self.x = x
def double(point):
    point.x *= 2
    return point
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, [p.x for p in pool.map(double, [Point(1), Point(2)])], flush=True)
    pid = os.fork()
    if pid == 0:
        point = double(Point(4))
        print("forked", point.x, flush=True)
        os.execv(sys.executable, [sys.executable, "-c", "print('executed')"])
    print(os.waitpid(pid, 0)[1], flush=True)
    subprocess.run([sys.executable, "-c", "print('started')"], preexec_fn=lambda: None)
    if os.fork() == 0:
        print("the child goes on to its end")
        sys.exit(9)
    print(os.wait()[1] >> 8)
"""
    )
    assert_same(atomsan, "app.py")
    assert "fork [2, 4]" in atomsan("run", "--quiet", "--follow-fork", "app.py").out


def test_user_modules_do_not_shadow_those_of_atomsan(atomsan: Atomsan) -> None:
    for name in ("ast", "json", "queue", "typing", "atomsan_none"):
        written("print('the user has', __name__)", f"{name}.py")
    written("import queue\nprint('main')\nexec('x = {}; x[1] = 2')")
    assert_same(atomsan, "app.py")


def test_standard_input_and_a_closed_one() -> None:
    written("import sys\nprint(sys.stdin and sys.stdin.read(), open('app.py').fileno())")
    given = {"input": b"a line\n"}
    assert process("run", "-q", "app.py", **given) == plain("app.py", **given)
    closing: dict[str, Any] = {"preexec_fn": lambda: os.close(0), "stdin": None}
    expected = plain("app.py", **closing)
    assert process("run", "-q", "app.py", before=lambda: os.close(0), stdin=None) == expected


def test_program_is_read_from_a_pipe() -> None:
    for text in (b"print(__name__, __file__)\n1/0\n", b"PK = '#!'\nprint(PK)\n"):
        assert process("run", "-q", "/dev/stdin", input=text) == plain("/dev/stdin", input=text)
    wrong, expected = process("run", "-q", "/dev/stdin", input=b"print((\n"), plain("/dev/stdin", input=b"print((\n")
    assert wrong.code == expected.code
    # Python itself reads the pipe again to show the line, and shows none
    assert wrong.err.splitlines()[-1] == expected.err.splitlines()[-1]


def test_a_program_that_cannot_be_opened(atomsan: Atomsan) -> None:
    with socket.socket(socket.AF_UNIX) as place:
        place.bind("app.py")
        assert assert_same(atomsan, "app.py").code == 2


def test_a_closed_standard_error_leaves_the_output_to_the_program() -> None:
    written(LOST_UPDATE)
    ran = process("run", "--explain-selection", "app.py", before=lambda: os.close(2))
    assert ran.code == 1
    assert ran.out == plain("app.py").out


def test_descriptors_and_ignored_signals_are_inherited() -> None:
    written("import os, signal\nprint(os.read(7, 9), *map(signal.getsignal, (1, 2, 15)))")
    written("from below", "given.txt")

    def before() -> None:
        os.dup2(os.open("given.txt", os.O_RDONLY), 7)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    ran = process("run", "-q", "app.py", before=before, close_fds=False)
    assert ran == plain("app.py", preexec_fn=before, close_fds=False)
    assert "from belo" in ran.out


def test_the_environment_is_passed_on_unchanged() -> None:
    written("import os\nprint(dict(os.environ))")
    given = environment(SOME_VARIABLE="x")
    given.pop("OPENBLAS_NUM_THREADS", None)
    assert process("run", "-q", "app.py", env=given) == plain("app.py", env=given)


def test_nothing_heavy_is_imported() -> None:
    written("import sys\nprint(*sys.modules)\nexec('x = 1')\nimport threading, asyncio")
    ran = process("run", "-q", "app.py")
    loaded = {name.partition(".")[0] for name in ran.out.split()}
    assert "atomsan" in loaded
    assert not loaded & {"numpy", "pyarrow", "typer", "click", "rich", "dataclasses", "inspect", "tempfile", "asyncio"}


def test_a_current_directory_that_was_removed() -> None:
    def removed() -> None:
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")

    # Not by `-m`, which Python itself cannot do there. And without the directory on the path: with it, 3.13.0 cannot
    # import numpy (SystemError, in its own look at that directory).
    ours = "import sys; from atomsan.cli.main import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", ours, "run", "-c", "import threading\nthreading.Thread(target=print).start()"],
        env=environment(),
        preexec_fn=removed,
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout) == (0, "\n"), ran.stderr
    assert "0 violations" in ran.stderr


# --- wrong usage ---------------------------------------------------------------------------------------------------


def test_bad_usage_is_refused_before_the_program_runs(atomsan: Atomsan) -> None:
    written("print('it ran')")
    written("kept", "there.std")
    assert_refused(atomsan("run", "missing.py"), "missing.py", "no such file")
    assert_refused(atomsan("run"), "no program given")
    assert_refused(atomsan("run", "--algorithm", "frob", "app.py"), "frob")
    assert_refused(atomsan("run", "--spec", "none.toml", "app.py"), "none.toml")
    assert_refused(atomsan("run", "-o", "result.xml", "app.py"), "result.xml")
    assert_refused(atomsan("run", "--keep", "there.std", "app.py"), "there.std", "--force")
    assert_refused(atomsan("run", "--keep", "t.unknown", "app.py"), "t.unknown")
    for where in ("missing", "app.py"):
        for option, name in (("-o", "result.json"), ("--keep", "t.std"), ("--keep", "t.atomtrace")):
            path = f"{where}/{name}"
            assert_refused(atomsan("run", option, path, "app.py"), path, "cannot be written")
    assert_refused(atomsan("run", "--live", "--keep", "t.std", "app.py"), "--live")
    assert_refused(atomsan("run", "--live", "--follow-fork", "app.py"), "--follow-fork")
    for seconds in ("0", "nan"):
        assert_refused(atomsan("run", "--timeout", seconds, "app.py"), "--timeout")
        assert_refused(atomsan("run", "--predict-seconds", seconds, "app.py"), "--predict-seconds")
    for code in ("-1", "256"):
        assert_refused(atomsan("run", "--findings-exit-code", code, "app.py"), "--findings-exit-code", "255")
    assert_refused(atomsan("run", "--max-events", "-1", "app.py"), "--max-events")
    assert Path("there.std").read_text() == "kept"


# --- findings and exit codes ---------------------------------------------------------------------------------------


def test_a_finding_and_its_exit_code(atomsan: Atomsan) -> None:
    written(LOST_UPDATE)
    ran = atomsan("run", "-o", "report.json", "app.py")
    assert (ran.code, ran.out) == (1, "1\n")
    assert "lost update in app:Account.deposit" in ran.err
    report = json.loads(Path("report.json").read_text())
    assert report["program"] == {"exit": 0, "signal": None}
    assert [finding["region"] for finding in report["findings"]] == ["app:Account.deposit"]
    line = "atomsan: app.py: violated, 1 finding, 0 suspects (without --quiet, they are shown)\n"
    assert atomsan("run", "-q", "--findings-exit-code", "42", "app.py") == (42, "1\n", line)
    assert atomsan("run", "-q", "--not-atomic", "*:Account.deposit", "app.py").code == 0


# Each access is locked, and the threads run one after the other.
QUIET = """
import mmap, threading, time

done = mmap.mmap(-1, 1)  # not watched: nobody knows that the second thread had to wait

class Account:
    def __init__(self):
        self.lock, self.balance = threading.Lock(), 0
    def get(self):
        with self.lock:
            return self.balance
    def set(self, balance):
        with self.lock:
            self.balance = balance
    def deposit(self):
        seen = self.get()
        self.set(seen + 1)

account = Account()
def customer():
    account.deposit()
    done[0] += 1

for number in (1, 2):
    threading.Thread(target=customer).start()
    while done[0] < number:
        time.sleep(0.001)
print(account.balance)
"""


def test_what_did_not_happen_is_predicted(atomsan: Atomsan) -> None:
    written(QUIET)
    ran = atomsan("run", "-o", "report.json", "app.py")
    assert (ran.code, ran.out) == (1, "2\n")
    report = json.loads(Path("report.json").read_text())
    (found,) = report["findings"]
    assert (found["region"], found["pattern"], found["status"]) == ("app:Account.deposit", "lost update", "predicted")
    assert (report["serializable"], report["conflict_atomic"]) == (True, False)
    assert "lost update in app:Account.deposit (predicted: possible in this order)" in ran.err


def test_interrupted_prediction_leaves_the_report_on_the_run(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("atomsan.flow.predict.predictions", stop)
    written(QUIET)
    ran = atomsan("run", "-o", "report.json", "app.py")
    assert (ran.code, ran.out) == (3, "2\n")
    assert "warning: other interleavings were not looked at to the end, because of an interrupt" in ran.err
    report = json.loads(Path("report.json").read_text())
    assert (report["verdict"], report["serializable"], report["conflict_atomic"]) == ("unknown", True, False)


def told(text: str) -> str:
    """What a report says, whichever threads it was, and whether it happened or is predicted."""
    text = re.sub(r"Thread-\d \(customer\) #\d+", "T", text)
    return " ".join(re.sub(r"\((predicted|seen)[^)]*\)", "", text).split())


def test_examples_are_predicted_and_proved_as_the_readme_says(
    atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    ran = atomsan("run", "examples/bank.py")
    assert ran.code == 1
    shown = (root / "README.md").read_text().partition("$ atomsan run examples/bank.py\n")[2].partition("\nNothing")[0]
    head, _, steps = shown.partition("\n    1. ")
    for part in (*head.splitlines()[4:6], *steps.split("...")):
        assert told(part) in told(ran.err)
    ran = atomsan("run", "examples/bank_fixed.py")
    assert (ran.code, "  conflict-atomic in every interleaving: proved\n" in ran.err) == (0, True)


@pytest.mark.parametrize("where", ["option", "file"])
def test_prediction_can_be_turned_off(where: str, atomsan: Atomsan) -> None:
    written(QUIET)
    if where == "file":
        written("predict = false\npredict-seconds = 5\n", "atomsan.toml")
    ran = atomsan("run", *(["--no-predict"] if where == "option" else []), "-o", "report.json", "app.py")
    assert (ran.code, ran.out) == (0, "2\n")
    report = json.loads(Path("report.json").read_text())
    assert (report["findings"], "conflict_atomic" in report) == ([], False)
    if where == "file":
        assert atomsan("run", "--predict", "app.py").code == 1


def test_races_and_deadlocks_of_a_run_count_if_asked_for(atomsan: Atomsan) -> None:
    written(
        "import threading\nclass C: x = 0\ndef f(): C.x = 1\ndef g(): print(C.x in (0, 1))\n"
        "for t in [threading.Thread(target=t) for t in (f, g)]: t.start()"
    )
    assert atomsan("run", "--fail-on", "deadlock", "app.py").code == 0
    assert atomsan("run", "--fail-on", "race", "app.py").code == 1


def test_a_format_for_programs_needs_a_file(atomsan: Atomsan) -> None:
    """Standard error is shared with the program. The line that is shown works."""
    written(LOST_UPDATE)
    for program in (["app.py", "a b"], ["-m", "app", "x"], ["-c", "import app"]):
        ran = atomsan("run", "--format", "json", *program)
        assert_refused(ran, "--format json needs a file: atomsan run -o report.json ")
        assert ran.out == ""
        works = shlex.split(ran.err.partition("a file: ")[2])
        assert atomsan(*works[1:]).code == 1
        assert json.loads(Path("report.json").read_text())["verdict"] == "violated"
    assert_refused(atomsan("run", "--format", "json", "-o", "r.txt", "app.py"), "needs a file")
    ran = atomsan("run", "--format", "json", "-o", "r.json", "app.py")
    assert ran.err.startswith("app.py: violated")


def test_findings_win_over_the_exit_code_of_the_program(atomsan: Atomsan) -> None:
    written(LOST_UPDATE + "raise SystemExit(7)")
    assert atomsan("run", "-q", "-o", "report.json", "app.py").code == 1
    assert json.loads(Path("report.json").read_text())["program"] == {"exit": 7, "signal": None}


def test_a_program_that_is_killed_is_reported(atomsan: Atomsan) -> None:
    written(LOST_UPDATE + "import os, sys; sys.stdout.flush(); os.kill(os.getpid(), 9)")
    ran = atomsan("run", "-o", "report.json", "app.py")
    assert (ran.code, ran.out) == (1, "1\n")
    report = json.loads(Path("report.json").read_text())
    assert report["program"] == {"exit": None, "signal": 9}
    assert report["findings"]


def locked(text: str) -> str:
    """Each access is under the lock, in a critical section of its own: checkers show the order of the lock first."""
    text = text.replace("self.balance = 0", "self.balance = 0; self.lock = threading.Lock()")
    text = text.replace("        seen = self.balance", "        with self.lock:\n            seen = self.balance")
    return text.replace("        self.balance = seen", "        with self.lock:\n            self.balance = seen")


@pytest.mark.parametrize("text", [LOST_UPDATE, locked(LOST_UPDATE)], ids=["without locks", "with locks"])
@pytest.mark.parametrize(
    "when",
    ["checkers.turns.TurnFinder.__init__", "checkers.turns.TurnFinder.feed", "findings.surroundings.Surroundings.feed"],
)
def test_interrupted_check_leaves_violations_undecided(
    text: str, when: str, atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while turns are found, or what is around them is read: exit code 3, and each violation is undecided."""
    written(text)
    assert atomsan("run", "-q", "app.py").code == 1

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"atomsan.{when}", stop)
    ran = atomsan("run", "-o", "report.json", "app.py")
    assert (ran.code, ran.out) == (3, "1\n")
    report = json.loads(Path("report.json").read_text())
    assert (report["verdict"], report["findings"], report["notes"]) == ("unknown", [], [])
    assert all(one["why"].startswith("the check was stopped") for one in report["suspects"])
    # what was seen by then is a lost update, or that somebody else had the lock in between
    assert {one["region"] for one in report["suspects"]} == {"app:Account.deposit"}
    assert re.search(r" in app:Account\.deposit( at \S+ .*)? \(seen ", ran.err)
    assert "atomsan: interrupted before the check of app.py was done\n" in ran.err


def test_live_finds_the_same(atomsan: Atomsan) -> None:
    written(LOST_UPDATE)
    atomsan("run", "-q", "-o", "stored.json", "app.py")
    assert atomsan("run", "--live", "-q", "-o", "live.json", "app.py") == (
        1,
        "1\n",
        "atomsan: app.py: violated, 1 finding, 0 suspects (without --quiet, they are shown)\n",
    )
    stored, live = (json.loads(Path(name).read_text()) for name in ("stored.json", "live.json"))
    assert [found["id"] for found in live["findings"]] == [found["id"] for found in stored["findings"]]
    assert (live["verdict"], live["serializable"]) == (stored["verdict"], stored["serializable"]) == ("violated", False)
    # what one thread made and forgot is left out if its whole life is seen at once, which is a matter of time
    for facts in (stored["trace"], live["trace"]):
        assert facts.pop("events") >= 20
        assert facts.pop("variables") >= 1
    assert live["trace"] == stored["trace"]
    assert live["program"] == stored["program"]


def test_repeated_runs_are_merged(atomsan: Atomsan) -> None:
    written(LOST_UPDATE)
    ran = atomsan("run", "--repeat", "3", "--noise", "--seed", "5", "-o", "report.json", "app.py")
    assert (ran.code, ran.out) == (1, "1\n1\n1\n")
    whole = json.loads(Path("report.json").read_text())
    assert len(whole["reports"]) == 3
    (found,) = whole["findings"]
    assert found["count"] == sum(report["findings"][0]["count"] for report in whole["reports"])
    assert (whole["verdict"], whole["runs"], found["runs"], whole["suspects"]) == ("violated", 3, 3, [])
    assert ran.err.count("app.py: violated, not serializable\n") == 1
    assert ran.err.count("lost update in app:Account.deposit") == 1
    assert f"(seen {found['count']} times in 3 of 3 runs)" in ran.err
    assert "\n  3 runs, " in ran.err
    for number in (1, 2, 3):
        assert f"atomsan: run {number} of 3: 1 finding, 0 suspects\n" in ran.err


def test_the_seed_of_a_repeated_run_goes_up(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    from atomsan.flow import run as running

    seeds = []
    real = running.recorded

    def spying(program: Any, options: Any, *rest: Any, **more: Any) -> Any:
        seeds.append((options.noise, options.seed))
        return real(program, options, *rest, **more)

    monkeypatch.setattr(running, "recorded", spying)
    written("pass")
    atomsan("run", "-q", "--noise", "--seed", "5", "--repeat", "2", "app.py")
    assert seeds == [(True, 5), (True, 6)]


def test_keep(atomsan: Atomsan) -> None:
    written(LOST_UPDATE)
    assert atomsan("run", "-q", "--keep", "t.atomtrace", "app.py").code == 1
    ran = atomsan("check", "t.atomtrace")
    assert ran.code == 1
    assert "lost update in app:Account.deposit" in ran.out
    assert_refused(atomsan("run", "--keep", "t.atomtrace", "app.py"), "exists already")
    assert atomsan("run", "-q", "--keep", "t.atomtrace", "--force", "app.py").code == 1


def test_trace_of_the_run_with_findings_is_kept(atomsan: Atomsan) -> None:
    """The second of three runs has the bug."""
    meeting = LOST_UPDATE.replace("        meet(", "        if number_of_run == 1: meet(")
    text = meeting.replace("    thread.start()", "    thread.start()\n    if number_of_run != 1: thread.join()")
    counting = "import os\nnumber_of_run = len(os.listdir('runs'))\nopen(f'runs/{number_of_run}', 'w').close()\n"
    Path("runs").mkdir()
    written(counting + text)
    ran = atomsan("run", "-q", "--repeat", "3", "--keep", "t.atomtrace", "-o", "r.json", "app.py")
    reports = json.loads(Path("r.json").read_text())["reports"]
    assert [bool(report["findings"]) for report in reports] == [False, True, False]
    assert ran.code == 1
    assert [found["runs"] for found in json.loads(Path("r.json").read_text())["findings"]] == [1]
    assert ran.err == "atomsan: app.py: violated, 1 finding, 0 suspects (without --quiet, they are shown)\n"
    assert "lost update in app:Account.deposit" in atomsan("check", "t.atomtrace").out


def test_redacted_keys_are_not_stored(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ["s3cret-text", "s3cret-bytes", "s3cret-in-tuple", "s3cret-in-exec", "987654321987654321987"]
    monkeypatch.setenv("SECRETS", " ".join(secrets))
    text = LOST_UPDATE.replace("self.balance = 0", "self.names = {}; self.fill()").replace(".balance", ".names[K]")
    fill = """
import os
K, A, B, C, N = os.environ["SECRETS"].split()
class Account:
    def fill(self):
        for key in (K, A.encode(), (1, B), int(N)):
            self.names[key] = 0
            self.names.get(key)
        exec("self.names[C] = 1")
"""
    written(text.replace("class Account:", fill))

    def told(*options: str) -> str:
        ran = atomsan("run", *options, "--all", "--keep", "t.atomtrace", "--force", "-o", "r.json", "app.py")
        assert ran.code == 1, ran.err
        atomsan("convert", "t.atomtrace", "t.std", "--force")
        everything = ran.err + Path("r.json").read_text() + Path("t.std").read_text()
        return everything + "".join(file.read_bytes().decode("latin-1") for file in Path("t.atomtrace").iterdir())

    shown = told()
    assert [secret for secret in secrets if secret not in shown] == []
    hidden = told("--redact-keys")
    assert [secret for secret in secrets if secret in hidden] == []


def test_explain_selection(atomsan: Atomsan) -> None:
    written("import one, sub.two, colorsys, os\nos._exit(0)")
    written("", "one.py")
    written("", "sub/two.py")
    ran = atomsan("run", "-q", "--explain-selection", "--omit", "sub.*", "app.py")
    rows = [re.split(r"\s{2,}", line) for line in ran.err.splitlines()]
    assert ["app", "watched", "the program's own code", "app.py"] in rows
    assert ["one", "watched", "the program's own code", "one.py"] in rows
    assert ["sub.two", "not watched", "--omit sub.*", "sub/two.py"] in rows
    assert any(row[:3] == ["colorsys", "not watched", "the standard library"] for row in rows)
    assert not any(row[0].startswith("atomsan") for row in rows)


# --- limits --------------------------------------------------------------------------------------------------------

BUSY = """
import threading, time, signal, sys
class C: n = 0
def f():
    for _ in range(30000):
        C.n += 1
t = threading.Thread(target=f)
t.start(); t.join()
print(C.n)
"""


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("rounds", ["900", "900000"])
@pytest.mark.parametrize(("option", "events"), [("--max-events", 1000), ("--max-bytes", 1000 // 13)])
def test_program_runs_on_after_the_recording_limit(
    option: str, events: int, rounds: str, live: bool, atomsan: Atomsan
) -> None:
    written(BUSY.replace("30000", rounds))
    ran = atomsan("run", *["--live"] * live, option, "1000", "-o", "r.json", "app.py")
    assert (ran.code, ran.out) == (3, f"{rounds}\n")
    assert "warning: recording stopped after" in ran.err
    assert option in ran.err
    report = json.loads(Path("r.json").read_text())
    assert report["verdict"] == "unknown"
    assert report["trace"]["complete"] is False
    assert report["trace"]["events"] == events


def test_limit_that_is_not_reached_changes_nothing(atomsan: Atomsan) -> None:
    written(BUSY.replace("30000", "10"))
    ran = atomsan("run", "--max-events", "1000", "-o", "r.json", "app.py")
    assert "warning" not in ran.err
    assert json.loads(Path("r.json").read_text())["trace"]["complete"] is True


def test_limit_holds_for_each_process(atomsan: Atomsan) -> None:
    written("import os\n" + BUSY.replace("t = threading", "if os.fork(): os.wait()\nt = threading"))
    ran = atomsan("run", "--follow-fork", "--max-events", "500", "-o", "r.json", "app.py")
    assert ran.out == "30000\n30000\n"
    reports = json.loads(Path("r.json").read_text())["reports"]
    assert [(report["trace"]["events"], report["trace"]["complete"]) for report in reports] == [(500, False)] * 2


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("deaf", [False, True])
def test_a_hung_program_is_ended(deaf: bool, live: bool, atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomsan.recorder.log.limits.GRACE", 0.2)
    deafness = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if deaf else ""
    written(BUSY + deafness + "sys.stdout.flush()\nthreading.Event().wait()")
    ran = atomsan("run", *["--live"] * live, "--timeout", "1", "-o", "r.json", "app.py")
    assert (ran.code, ran.out) == (3, "30000\n")
    assert "out of time" in ran.err
    report = json.loads(Path("r.json").read_text())
    assert report["program"] == {"exit": None, "signal": 9 if deaf else 15}
    assert report["trace"]["events"] > 60000
    assert report["trace"]["complete"] is False


# --- signals -------------------------------------------------------------------------------------------------------


class Started:
    """`atomsan run` on a program, in a process of its own, until the program says `ready`."""

    def __init__(self, *arguments: str, terminal: int | None = None, prefix: Sequence[str] | None = None) -> None:
        def prepare() -> None:
            # whoever runs the tests in the background of a shell, or under nohup, has them ignored
            for ignored in (signal.SIGINT, signal.SIGHUP):
                signal.signal(ignored, signal.SIG_DFL)
            if terminal is not None:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command(*arguments) if prefix is None else [*prefix, *arguments],
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            start_new_session=True,
            preexec_fn=prepare,
        )
        assert self.process.stdout
        assert self.process.stdout.readline() == b"ready\n"

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def wait_until_idle(self) -> None:
        """Until it has done with the signals that it was sent: then it gives an interim report."""
        assert self.process.stderr
        self.process.send_signal(signal.SIGUSR1)
        while not self.process.stderr.readline().startswith(b"atomsan: so far"):
            assert self.process.poll() is None

    def ended(self) -> Ran:
        out, err = self.process.communicate(timeout=20)
        return Ran(self.process.returncode, out.decode(), err.decode())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"])
def test_signals_reach_the_program_and_the_report_follows(name: str) -> None:
    written(SERVER)
    with Started("run", "app.py") as started:
        started.process.send_signal(getattr(signal, name))
        ran = started.ended()
    assert (ran.code, ran.out) == (0, f"ended by {name}\n"), ran.err
    assert ran.err.startswith("app.py: holds")


COUNTING = """
import os, signal, sys, time
count = 0
def interrupted(number, frame):
    global count
    count += 1
def end(number, frame):
    os.write(1, b"%d\\n" % count)
    sys.exit()
signal.signal(signal.SIGINT, interrupted)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
told = 0
while True:
    time.sleep(0.005)
    if told < count:
        told = count
        os.write(1, b"interrupted\\n")
"""


@pytest.mark.parametrize("how", ["Ctrl-C", "kill -INT"])
def test_an_interrupt_reaches_the_program_in_the_foreground_of_a_terminal_once(how: str) -> None:
    written(COUNTING)
    terminal, ours = pty.openpty()
    with Started("run", "app.py", terminal=ours) as started:
        assert started.process.stdout
        patience = threading.Timer(20, os.killpg, (started.process.pid, signal.SIGKILL))
        patience.start()
        for _ in range(2):
            if how == "Ctrl-C":
                os.write(terminal, b"\x03")
            else:
                started.process.send_signal(signal.SIGINT)
            assert started.process.stdout.readline() == b"interrupted\n"
        started.process.send_signal(signal.SIGTERM)
        assert started.ended()[:2] == (0, "2\n")
        patience.cancel()
    os.close(terminal)
    os.close(ours)


EACH_SIGNAL = """
import os, signal, time
count = 0
def handle(number, frame):
    global count
    count += 1
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2):
    signal.signal(number, handle)
print("ready", flush=True)
told = 0
while not os.path.exists("end"):
    time.sleep(0.005)
    if told < count:
        told = count
        os.write(1, b"got it\\n")
print(count)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"])
def test_signal_to_the_process_group_reaches_the_program_once(name: str) -> None:
    """It is in the group, too: what is sent to all must not be forwarded, what is sent to `atomsan run` must be."""
    written(EACH_SIGNAL)
    with Started("run", "app.py") as started:
        assert started.process.stdout
        patience = threading.Timer(20, os.killpg, (started.process.pid, signal.SIGKILL))
        patience.start()
        for send in (os.killpg, os.killpg, os.kill, os.killpg, os.kill, os.kill):
            send(started.process.pid, getattr(signal, name))
            assert started.process.stdout.readline() == b"got it\n"
            started.wait_until_idle()
        written("", "end")
        assert started.ended()[:2] == (0, "6\n")
        patience.cancel()


def test_an_interim_report_is_given_while_the_program_goes_on() -> None:
    written(SERVER)
    with Started("run", "app.py") as started:
        time.sleep(0.4)
        started.process.send_signal(signal.SIGUSR1)
        assert started.process.stderr
        first = started.process.stderr.readline().decode()
        assert re.fullmatch(r"atomsan: so far, [\d,]+ events:\n", first)
        assert started.process.poll() is None
        started.process.send_signal(signal.SIGTERM)
        ran = started.ended()
    assert ran.code == 0
    assert ran.out == "ended by SIGTERM\n"
    assert "app.py: unknown, the recording is not over" in ran.err
    assert ran.err.count("app.py: holds") == 1


def test_the_program_goes_on_when_the_recorder_is_killed() -> None:
    written("""
import os, sys, threading, time
class C: n = 0
parent = os.getppid()
print("ready", flush=True)
while os.getppid() == parent:
    time.sleep(0.001)
def f():
    for _ in range(700000):
        C.n += 1
t = threading.Thread(target=f)
t.start(); t.join()
print("went on to", C.n, flush=True)
""")
    with Started("run", "app.py") as started:
        started.process.send_signal(signal.SIGKILL)
        assert started.ended() == (-9, "went on to 700000\n", "")


# --- damage --------------------------------------------------------------------------------------------------------


def test_program_that_corrupts_the_log(atomsan: Atomsan) -> None:
    """A program can write to the shared log, which is in its memory; the recorder must survive that."""
    written("""
import ctypes, os, random, re
class C: n = 0
def f():
    C.n += 1
f()
for name in os.listdir("/dev/fd"):
    try:
        if "atomsan" in os.readlink("/dev/fd/" + name):
            for line in (b'garbage', b'["module", {}]', b'["set", {"program": 5}]', b'["type", "x"]', b'['):
                os.write(int(name), line + b"\\n")
            os.ftruncate(int(name), 100)
            os.write(int(name), os.urandom(5000))
    except OSError:
        pass
(start, end), = re.findall(r"(\\w+)-(\\w+).*atomsan-ring", open("/proc/self/maps").read())
random.seed(1)
for at in range(int(start, 16) + 4096, int(start, 16) + 4096 + 3200, 8):
    ctypes.c_uint64.from_address(at).value = random.getrandbits(64)
for _ in range(100):
    f()
for offset in (24, 32, 16):
    ctypes.c_uint64.from_address(int(start, 16) + offset).value = random.getrandbits(64)
print("done", flush=True)
os._exit(4)
""")
    for live in ([], ["--live"]):
        ran = atomsan("run", *live, "app.py")
        assert (ran.code, ran.out) == (4, "done\n"), ran.err
        assert "internal error" not in ran.err


def test_a_full_disk_does_not_end_the_program(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("atomsan.trace.bundle.BundleWriter.write", full)
    written(BUSY.replace("30000", "900000"))
    ran = atomsan("run", "--keep", "t.atomtrace", "app.py")
    assert (ran.code, ran.out) == (2, "900000\n")
    assert ran.err == "atomsan: t.atomtrace: cannot be written: No space left on device\n"
