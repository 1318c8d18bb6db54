"""The program's process: records the program, and is the program in every other respect.

`program/start.py` calls `main` with what the recording process (`runner.py`) wants; the rest of the command line is the
program's. What stands here makes `__main__`, `sys.argv` and `sys.path` what they would be without us, and leaves the
end of the process to Python.
"""

from __future__ import annotations

import atexit
import builtins
import json
import mmap
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

from atomsan.recorder._bottom import call_at_bottom, run_at_bottom
from atomsan.recorder.options import RecordingOptions
from atomsan.recorder.session import Session

# A function, and what it is called with.
Call = tuple[Any, ...]


def main(facts: str, command: Sequence[str]) -> None:
    """Run the program that the command line names. `facts` is the JSON that `runner.py` makes."""
    wanted = json.loads(facts)
    for descriptor in (wanted["ring"], wanted["definitions"]):
        os.set_inheritable(descriptor, False)
    ring = mmap.mmap(wanted["ring"], 0)
    session = Session(RecordingOptions(**wanted["options"]), ring, sender(wanted["definitions"]))
    # registered before the program can register anything, so that it runs after all that
    atexit.register(session.__exit__)
    session.__enter__()
    exception: BaseException | None
    try:
        call = _prepared(wanted["kind"], command[0], list(command[1:]), session)
    except SyntaxError as error:
        exception = error.with_traceback(None)
    else:
        run, *arguments = call
        exception = run(*arguments)
    if exception is not None:
        _leave_with(exception)


def sender(descriptor: int) -> Callable[[list[Any]], None]:
    """Writes definitions to a file, each in one piece: a process that is killed leaves whole lines behind."""

    def send(message: list[Any]) -> None:
        os.write(descriptor, json.dumps(message, separators=(",", ":")).encode() + b"\n")

    return send


def _prepared(kind: str, what: str, arguments: list[str], session: Session) -> Call:
    """Make `__main__`, `sys.argv` and `sys.path` as Python makes them. Returns the call that runs the program."""
    module = ModuleType("__main__")
    names = module.__dict__
    names |= {"__annotations__": {}, "__builtins__": builtins}
    sys.modules["__main__"] = module
    session.enter_namespace(names, _shown_name(kind, what))
    if kind == "module":
        sys.argv = ["-m", *arguments]
        _put_first(os.getcwd())
        return call_at_bottom, runpy._run_module_as_main, what  # type: ignore[attr-defined]
    if kind == "code":
        sys.argv = ["-c", *arguments]
        _put_first("")
        names["__loader__"] = None
        return run_at_bottom, _code(what.encode("utf-8", "surrogateescape"), "-c", "<string>", session), names
    sys.argv = [what, *arguments]
    if os.path.isdir(what) or _is_archive(what):
        _put_first(what, always=True)
        return call_at_bottom, runpy._run_module_as_main, "__main__", False  # type: ignore[attr-defined]
    _put_first(os.path.dirname(os.path.realpath(what)))
    names |= {"__file__": what, "__cached__": None, "__loader__": SourceFileLoader("__main__", what)}
    if what.endswith(".pyc"):
        with open(what, "rb") as file:
            return run_at_bottom, runpy.read_code(file), names  # type: ignore[attr-defined]
    with open(what, "rb") as file:
        source = file.read()
    return run_at_bottom, _code(source, _shown_name(kind, what), what, session), names


def _shown_name(kind: str, what: str) -> str:
    """What the program's main module is called in regions and locations: as if it had been imported."""
    if kind == "code":
        return "-c"
    return what if kind == "module" else os.path.splitext(os.path.basename(what))[0]


def _code(source: bytes, module: str, file: str, session: Session) -> Any:
    code = session.rewritten_main(source, module, file)
    return compile(source, file, "exec", dont_inherit=True) if code is None else code


def _put_first(directory: str, *, always: bool = False) -> None:
    """What Python puts in front of the search path, unless it was told not to."""
    if always or not sys.flags.safe_path:
        sys.path.insert(0, directory)


def _is_archive(path: str) -> bool:
    # only what starts like one: zipimport would look for the end of any file
    with open(path, "rb") as file:
        if file.read(2) not in (b"PK", b"#!"):
            return False
    import zipfile

    return zipfile.is_zipfile(path)


def _leave_with(exception: BaseException) -> None:
    """End as Python ends with an exception that nobody caught, without showing how the program was started."""
    if not isinstance(exception, SystemExit):
        sys.excepthook(type(exception), exception, exception.__traceback__)
        # it was shown; what is left for Python to do is the exit code, and for an interrupt the signal
        sys.excepthook = lambda *_: None
    raise exception
