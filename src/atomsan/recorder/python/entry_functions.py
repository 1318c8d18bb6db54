"""Finds the function behind what a thread is given to call: a method, partial, wrapper or object that can be called.

Nothing of the program runs for that: attributes are looked up where they are stored.
"""

from __future__ import annotations

import functools
from contextvars import Context
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from atomsan.recorder.python import _probes

_MOST_STEPS = 100  # what wraps itself has no end

_BOUND = (MethodType, staticmethod, classmethod)
_CACHED = type(functools.lru_cache(lambda: None))

# as these types define them, whatever a class derived from one has in their place
_func_of, _arguments_of = vars(functools.partial)["func"].__get__, vars(functools.partial)["args"].__get__
_bases_of, _names_of = vars(type)["__mro__"].__get__, vars(type)["__dict__"].__get__


def function_behind(given: Any) -> FunctionType | None:
    """The first function of recorded code that a call runs, as far as it can be told; else the one that is called."""
    for _ in range(_MOST_STEPS):
        kind = type(given)
        if kind is FunctionType:
            inner = None if _probes.is_recorded(given.__code__) else dict.get(given.__dict__, "__wrapped__")
            if inner is None:
                return given  # type: ignore[no-any-return]
            given = inner
        elif kind in _BOUND:
            given = given.__func__
        elif kind is _CACHED:
            given = given.__wrapped__
        elif issubclass(kind, functools.partial):
            given = _first_of(given)
        else:
            given = _found(given, "__init__") if issubclass(kind, type) else _found(kind, "__call__")
            if type(given) is not FunctionType:
                break
    return None


def _first_of(partial: functools.partial[Any]) -> Any:
    """What a partial calls. `Context.run` calls its first argument: that is how `asyncio.to_thread` does it."""
    function, arguments = _func_of(partial), _arguments_of(partial)
    if type(function) is BuiltinMethodType and type(function.__self__) is Context and arguments:
        return arguments[0]
    return function


def _found(of_class: type, name: str) -> Any:
    """What a class has under a name, itself or from a base."""
    return next((names[name] for base in _bases_of(of_class) if name in (names := _names_of(base))), None)
