"""The Python program to record, and the command that starts its process: `program/start.py`, then `child.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from atomsan.errors import InputError
from atomsan.recorder.python.options import RecordingOptions

if TYPE_CHECKING:
    from atomsan.recorder.log.definitions import Language

START = Path(__file__).parent / "program" / "start.py"


@dataclass(frozen=True)
class Program:
    """What to run: a file, a module (`-m`) or a text (`-c`), and the arguments it gets."""

    kind: Literal["file", "module", "code"]
    what: str
    arguments: tuple[str, ...] = ()

    @property
    def command_line(self) -> list[str]:
        before = {"file": [], "module": ["-m"], "code": ["-c"]}[self.kind]
        return [*before, self.what, *self.arguments]

    @property
    def shown(self) -> str:
        return self.what if self.kind == "file" else " ".join(self.command_line[:2])

    def check(self) -> None:
        """Say now what Python would say only in the other process."""
        if self.kind == "file" and not os.path.exists(self.what):
            raise InputError("no such file", source=self.what)


@dataclass(frozen=True)
class PythonLaunch:
    """A program, and how it is to be recorded."""

    program: Program
    options: RecordingOptions

    @property
    def shown(self) -> str:
        return self.program.shown

    @property
    def what(self) -> str:
        return self.program.what

    @property
    def command_line(self) -> list[str]:
        return self.program.command_line

    @property
    def language(self) -> Language:
        from atomsan.recorder.python.language import PYTHON

        return PYTHON

    def command(self, ring: int, definitions: int) -> list[str]:
        facts = {
            "ring": ring,
            "definitions": definitions,
            "kind": self.program.kind,
            "options": self.options._asdict(),
        }
        start = [sys.executable, *_interpreter_flags(), str(START), json.dumps(facts)]
        return [*start, self.program.what, *self.program.arguments]


def _interpreter_flags() -> list[str]:
    """The flags that this Python was started with, for the other one."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return flags
