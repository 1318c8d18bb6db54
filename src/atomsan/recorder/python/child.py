"""Runs the program under recording, in a process of its own that looks to it like plain Python.

`program/start.py` calls `main` with the settings of the recording process (`launch.py`); the rest of the command line
is the program's. Makes `__main__`, `sys.argv` and `sys.path` what they would be without us, and leaves the end of the
process to Python.
"""

from __future__ import annotations

import atexit
import builtins
import json
import os
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, BinaryIO

from atomsan.recorder.python import _log
from atomsan.recorder.python._empty_stack import (
    call_on_empty_stack,
    run_file_on_empty_stack,
    run_on_empty_stack,
    show_uncaught,
)
from atomsan.recorder.python.options import RecordingOptions
from atomsan.recorder.python.session import Session

# A function, and what it is called with.
Call = tuple[Any, ...]

# As it was before the program ran: what it puts in its place, to test itself, is not for us.
_dumps = json.dumps


def main(facts: str, command: Sequence[str]) -> None:
    """Run the program that the command line names. `facts` is the JSON that `launch.py` makes."""
    wanted = json.loads(facts)
    options = RecordingOptions(**wanted["options"])
    os.set_inheritable(wanted["definitions"], False)
    ring = _log.map_ring(wanted["ring"], os.fstat(wanted["ring"]).st_size)
    os.close(wanted["ring"])
    # the parent process, which reads them, has the file open under the same number
    definitions = Sender(wanted["definitions"], f"/proc/{os.getppid()}/fd/{wanted['definitions']}")
    session = Session(options, ring, definitions.send)
    if options.spool is not None:
        follow_forks(session, definitions, options.spool)
    # Registered before the program can register anything, so that it runs after all that. The session is not left: to
    # put everything back would be in the way of the daemon threads that are still there.
    atexit.register(_log.pause)
    session.__enter__()
    run, *arguments = _prepared(wanted["kind"], command[0], list(command[1:]), session)
    exception = run(*arguments)
    del arguments  # the names of the program's main module die when they always do
    if exception is not None:
        _exit_with(exception)


class Sender:
    """Writes definitions to a file, each in one piece: a process that is killed leaves whole lines behind.

    Nothing that goes wrong here is the program's business. If it has closed the file, that is opened again by `path`.
    """

    def __init__(self, descriptor: int, path: str | None = None) -> None:
        self._file = _log.LineFile(descriptor, path)

    def send(self, message: list[Any]) -> None:
        self._file.append(_dumps(message, separators=(",", ":")).encode() + b"\n")

    def continue_with(self, descriptor: int) -> None:
        """In a forked process: send to another file from now on. The one so far is that of the parent process."""
        self._file.move(descriptor)


def follow_forks(session: Session, definitions: Sender, spool: str) -> None:
    """From now on, a process that the program forks writes a log of its own, into the directory `spool`."""
    from atomsan.recorder.log.spool import create_spooled, lock_of_reader

    def in_child() -> None:
        try:
            log = create_spooled(spool)
            if log is None:
                return  # nobody would read it
            definitions.continue_with(log.definition_file)
            session.continue_with(_log.map_ring(log.ring_file, len(log.memory)), lock_of_reader(spool))
            os.close(log.ring_file)
            log.memory.close()
        except Exception:
            # then it is not recorded: a defect of ours, or memory that is full, must not be the program's
            _log.note_unfollowed()

    os.register_at_fork(after_in_child=in_child)


def _prepared(kind: str, what: str, arguments: list[str], session: Session) -> Call:
    """Make `__main__`, `sys.argv` and `sys.path` as Python makes them. Returns the call that runs the program."""
    module = ModuleType("__main__")
    names = module.__dict__
    names |= {"__annotations__": {}, "__builtins__": builtins}
    sys.modules["__main__"] = module
    sys.orig_argv = _command_line(kind, what, arguments)
    session.enter_namespace(names, _shown_name(kind, what))
    if kind == "module":
        sys.argv = ["-m", *arguments]
        _put_first(os.getcwd())
        return call_on_empty_stack, runpy._run_module_as_main, what  # type: ignore[attr-defined]
    if kind == "code":
        sys.argv = ["-c", *arguments]
        _put_first("")
        names["__loader__"] = None
        source = what.encode("utf-8", "surrogateescape")
        code = _code(source, "-c", "<string>", session)
        if code is None:
            # Python reports the error as always, without a traceback to here
            return call_on_empty_stack, compile, source, "<string>", "exec", 0, True
        if sys.version_info >= (3, 13):
            _show_in_tracebacks(what)
        return run_on_empty_stack, code, names
    sys.argv = [what, *arguments]
    what = _absolute(what)
    if os.path.isdir(what) or _is_archive(what):
        _put_first(what, always=True)
        return call_on_empty_stack, runpy._run_module_as_main, "__main__", False  # type: ignore[attr-defined]
    _put_first(os.path.dirname(os.path.realpath(what)))
    names |= {"__file__": what, "__cached__": None, "__loader__": SourceFileLoader("__main__", what)}
    if what.endswith(".pyc"):
        with _opened(what) as file:
            return run_on_empty_stack, runpy.read_code(file), names  # type: ignore[attr-defined]
    with _opened(what) as file:
        source = file.read()
    code = _code(source, _shown_name(kind, what), what, session)
    if code is None:
        if not os.path.isfile(what):  # a pipe: it has been read
            return call_on_empty_stack, compile, source, what, "exec", 0, True
        return run_file_on_empty_stack, what, names
    return run_on_empty_stack, code, names


def _shown_name(kind: str, what: str) -> str:
    """The name of the program's main module in regions and locations: as if it had been imported."""
    if kind == "code":
        return "-c"
    return what if kind == "module" else os.path.splitext(os.path.basename(what))[0]


def _show_in_tracebacks(text: str) -> None:
    """As Python itself does with the text of `-c`, from 3.13 on."""
    import linecache

    lines = [f"{line}\n" for line in text.splitlines()]
    linecache.cache["<string>"] = (len(text), None, lines, "<string>")


def _code(source: bytes, module: str, file: str, session: Session) -> CodeType | None:
    """The code to run. None: there is something wrong with the source."""
    try:
        code = session.rewritten_main(source, module, file)
        return compile(source, file, "exec", dont_inherit=True) if code is None else code
    except (SyntaxError, ValueError):
        return None


def _absolute(path: str) -> str:
    """The path of the main file as Python shows it: not tidied up."""
    if os.path.isabs(path):
        return path
    return os.path.join(os.getcwd(), path.removeprefix("./"))


def _command_line(kind: str, what: str, arguments: list[str]) -> list[str]:
    """That of the interpreter, without us in it."""
    ours = sys.orig_argv[: len(sys.orig_argv) - len(arguments) - 3]
    return [*ours, *{"file": (), "module": ("-m",), "code": ("-c",)}[kind], what, *arguments]


def _put_first(directory: str, *, always: bool = False) -> None:
    """The directory that Python puts first in the search path, unless an option forbids it."""
    if always or not sys.flags.safe_path:
        sys.path.insert(0, directory)


def _opened(path: str) -> BinaryIO:
    """The main file; an error is reported as Python reports it."""
    try:
        return open(path, "rb")
    except OSError as error:
        if sys.stderr is not None:
            why = f"[Errno {error.errno}] {error.strerror}"
            print(f"{sys.executable}: can't open file {path!r}: {why}", file=sys.stderr)
        raise SystemExit(2) from None


def _is_archive(path: str) -> bool:
    if not os.path.isfile(path):
        return False  # what comes out of a pipe comes once
    # only what starts like one: zipimport would look for the end of any file
    with _opened(path) as file:
        if file.read(2) not in (b"PK", b"#!"):
            return False
    import zipfile

    return zipfile.is_zipfile(path)


def _exit_with(exception: BaseException) -> None:
    """Exit as Python does with an uncaught exception, without showing how the program was started."""
    if isinstance(exception, SystemExit):
        raise exception
    show_uncaught(exception)
    if isinstance(exception, KeyboardInterrupt):
        # Python ends by the signal then, if this is what comes out of its first file
        sys.excepthook = lambda *_: None
        raise exception
    raise SystemExit(1)
