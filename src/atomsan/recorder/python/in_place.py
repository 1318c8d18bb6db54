"""Watches functions that exist already: those of the script, notebook or module that asks for the recording itself.

Its source was compiled without probes before anything could be rewritten. So it is rewritten now, and the functions get
the code with probes for the time of the recording; afterwards they get their own back. Defaults, decorators, closures
and attributes stay as they are, because the function objects do. What runs at the moment runs on with its old code.

A function is only changed if nothing can go wrong with it: its source, compiled once more, gives exactly the code that
it has, and the code with probes takes the same parameters and the same variables of enclosing functions.
"""

from __future__ import annotations

import gc
import linecache
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from atomsan.recorder.python import _probes

# A function of a module, by its qualified name and first line. Two lambdas in a line have one name: these stay as they
# are.
Name = tuple[str, int]

# Gives the code with probes for a source and its file, or None if it has to run as it is.
Rewrite = Callable[[bytes, str], CodeType | None]

# Bits of `co_flags`: a function and no body of a module or class; what makes a function the kind that it is: *args,
# **kwargs, generators and coroutines of all kinds.
_OPTIMIZED, _ARGS, _KWARGS = 0x01, 0x04, 0x08
_KIND = _ARGS | _KWARGS | 0x20 | 0x80 | 0x100 | 0x200


# Why a function is not watched, and what to do about it.
NO_SOURCE = (
    "the source is not known (it was typed at a prompt, was changed, or another tool rewrote it): put it into a module"
    " and import that inside the recording, or into a script and use atomsan run SCRIPT"
)
SAME_NAME = "several functions of one name are in its line: put each into a line of its own"
CLOSURE = "it uses variables of a function around it that was not watched: define it inside the recording"

# The functions that dataclasses write have this in their names, and the namespace of the class.
_GENERATED = "__create_fn__"


@contextmanager
def watching_in_place(namespace: Mapping[str, Any], rewrite: Rewrite) -> Iterator[dict[str, list[str]]]:
    """Inside, the functions that were defined in this namespace have code with probes, as far as that can be.

    Gives the names of those that are not watched, by the reason.
    """
    unwatched: dict[str, list[str]] = {}
    swapped: list[tuple[FunctionType, CodeType]] = []
    sources: dict[str, _Source] = {}
    for function in _functions_of(namespace):
        code = function.__code__
        if code.co_filename not in sources:
            sources[code.co_filename] = _read(code.co_filename, rewrite)
        better = sources[code.co_filename].better(code)
        if isinstance(better, str):
            unwatched.setdefault(better, []).append(code.co_qualname)
        elif better is not None:
            function.__code__ = better
            swapped.append((function, code))
    try:
        yield unwatched
    finally:
        for function, code in swapped:
            # one that is the first of a thread got other code with probes; what the program put there stays
            if _probes.is_instrumented(function.__code__):
                function.__code__ = code


def _functions_of(namespace: Mapping[str, Any]) -> list[FunctionType]:
    """Every function that was defined there, also those inside classes, decorators and data, in the order of source."""
    own = (one for one in gc.get_objects() if type(one) is FunctionType and one.__globals__ is namespace)
    return sorted(filter(_is_written, own), key=lambda one: (one.__code__.co_filename, one.__code__.co_firstlineno))


def _is_written(function: FunctionType) -> bool:
    """Whether somebody wrote this function, and it has no probes. The bodies of modules and classes run once."""
    code = function.__code__
    if not code.co_flags & _OPTIMIZED or code.co_qualname.startswith(_GENERATED):
        return False
    return not _probes.is_instrumented(code)


class _Source(NamedTuple):
    """The functions in a file, as they are and with probes; None where several have one name."""

    plain: dict[Name, CodeType | None]
    probed: dict[Name, CodeType | None] | None
    """None: it is not to be watched."""

    def better(self, code: CodeType) -> CodeType | str | None:
        """The code to take the place of some code; or why there is none; or None, if it is not to be watched."""
        name = _name(code)
        if name not in self.plain:
            return NO_SOURCE
        if self.plain[name] is None:
            return SAME_NAME
        if self.plain[name] != code:
            return NO_SOURCE
        if self.probed is None:
            return None
        found = self.probed.get(name)
        return found if found is not None and _can_replace(found, code) else CLOSURE


def _read(file: str, rewrite: Rewrite) -> _Source:
    text = _text(file)
    if text is None:
        return _Source({}, None)
    try:
        plain = compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return _Source({}, None)
    probed = rewrite(text, file)
    return _Source(_by_name(plain), None if probed is None else _by_name(probed))


def _text(file: str) -> bytes | None:
    """The source of a file, or of a notebook's cell: those are kept where tracebacks find them."""
    if os.path.isfile(file):
        try:
            with open(file, "rb") as opened:
                return opened.read()
        except OSError:
            return None
    lines = linecache.getlines(file)
    return "".join(lines).encode() if lines else None


def _by_name(code: CodeType) -> dict[Name, CodeType | None]:
    """The functions inside some code."""
    found: dict[Name, CodeType | None] = {}
    rest = [code]
    while rest:
        for constant in rest.pop().co_consts:
            if isinstance(constant, CodeType):
                found[_name(constant)] = None if _name(constant) in found else constant
                rest.append(constant)
    return found


def _name(code: CodeType) -> Name:
    return code.co_qualname, code.co_firstlineno


def _can_replace(better: CodeType, code: CodeType) -> bool:
    def form(one: CodeType) -> tuple[Any, ...]:
        parameters = one.co_argcount + one.co_kwonlyargcount + bool(one.co_flags & _ARGS) + bool(one.co_flags & _KWARGS)
        return (
            one.co_freevars,
            (one.co_argcount, one.co_posonlyargcount, one.co_kwonlyargcount),
            one.co_varnames[:parameters],
            one.co_flags & _KIND,
        )

    return form(better) == form(code)
