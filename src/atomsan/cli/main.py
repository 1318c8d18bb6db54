"""`atomsan`: the list of verbs, and the call of one of them. A verb is imported when it is called."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from atomsan import env
from atomsan.cli.exit_codes import Exit, guarded
from atomsan.cli.messages import say
from atomsan.errors import InputError

# The summary of each verb in `atomsan --help`. Its module and its function have its name.
VERBS: dict[str, str] = {
    "run": "Run a Python program, and find the atomicity violations in it.",
    "record": "Run a Python program, and record it for a later check.",
    "check": "Was it atomic? The violations that happened in traces.",
    "sets": "Is each object's data consistent? Checks each atomic set.",
    "predict": "Could it have failed? Violations in other interleavings.",
    "refine": "Infer which regions are atomic, by iterative refinement.",
    "algorithms": "The algorithms of check, sets and predict: property, promise, cost, paper.",
    "stats": "What is in a trace: events, threads, locks, variables, transactions.",
    "validate": "Is a trace well-formed? If not: the first offending line, and why.",
    "convert": "Write a trace in another format.",
    "generate": "Generate a trace whose violations are known.",
    "debug": "Versions and paths, for a bug report.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code. Without `arguments`, this process is `atomsan` and has them."""
    if arguments is not None:
        return guarded(lambda: _run(list(arguments)))
    # Imported modules are never garbage: collecting among them, now and at exit, takes a sixth of a small check.
    gc.set_threshold(200_000)
    env.prepare()
    try:
        return guarded(lambda: _run(sys.argv[1:]), on_shortage=_leave)
    finally:
        gc.freeze()


def _leave() -> None:
    """End this process now: where memory has run out, libraries can crash when they tidy up after themselves."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(Exit.BAD)


def _run(arguments: list[str]) -> int:
    if sys.stdout is not None and hasattr(sys.stdout, "reconfigure"):
        # do not fail on a name that the terminal's encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    from atomsan.cli.parsing import parsed, with_separator

    words = with_separator(arguments)
    if arguments and arguments[0] in VERBS:
        verb, *rest = words
        given = parsed(verb, rest)
        if given is not None:
            return call(verb, given)
    from atomsan.cli.typer_app import ABORT, USAGE_ERROR, application

    try:
        code = application()(args=words or ["--help"], prog_name="atomsan", standalone_mode=False)
    except USAGE_ERROR as error:
        say(_usage(error))
        return Exit.BAD
    except ABORT:
        raise KeyboardInterrupt from None
    if not arguments:
        say("no verb given")
        return Exit.BAD
    return int(code or Exit.FINE)


def call(verb: str, given: Mapping[str, Any]) -> int:
    """Run a verb with the values on the command line, None for an option that is not there."""
    from atomsan.cli.arguments import arguments_of
    from atomsan.cli.option_groups import grouped
    from atomsan.config.settings import find_settings, resolved
    from atomsan.config.table import options_of

    values: dict[str, Any] = {}
    for name, argument in arguments_of(verb).items():
        if argument.required and not given[name]:
            raise InputError(f"missing {argument.metavar} (see atomsan {verb} --help)")
        values[name] = list(given[name] or ()) if argument.repeated else given[name]
    values |= resolved(verb, {name: given[name] for name in options_of(verb)}, find_settings())
    function = function_of(verb)
    if "max_memory" not in values:
        return function(**grouped(function, values))
    from atomsan.cli.memory_watch import memory_watched

    with memory_watched(values["max_memory"]):
        return function(**grouped(function, values))


def function_of(verb: str) -> Callable[..., int]:
    from importlib import import_module

    function: Callable[..., int] = getattr(import_module(f"atomsan.cli.{verb}"), verb)
    return function


def _usage(error: Any) -> str:
    """Typer's message as one line, with the command that shows the right usage."""
    path = error.ctx.command_path if getattr(error, "ctx", None) else "atomsan"
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]} (see {path} --help)"
