"""Source that the program makes itself: texts that it gives to `exec` and `eval`, and what `compile` makes of texts.

Code stays what `compile` made. Where recorded code runs it, code with probes of the same text runs in its place: of the
same file and lines, under the same features of `__future__`. Code from anywhere else (`marshal`, a syntax tree, an
importer) is left alone.
"""

from __future__ import annotations
import __future__

import functools
import operator
import os
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

from atomsan.recorder.python import _log, _probes

# So many different texts are watched: a program can make them without end, and each has sites of its own.
DYNAMIC_TEXTS = 1000

# Flags of `compile` that the rewriting keeps: features of `__future__`. The others are for tools that look at source.
_FEATURES: int = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)


class Text(NamedTuple):
    """A text that is run, and all that decides what code it becomes."""

    text: str | bytes
    mode: str
    module: str
    """The module of the code that runs it."""
    flags: int
    file: str = "<string>"
    optimize: int = -1
    is_compiled: bool = False
    """`compile` made code of it, and has warned of what there is to warn of."""


class DynamicCode:
    """Code with probes for texts: made once for each."""

    def __init__(self, make: Callable[[Text], CodeType], entered: Callable[[dict[str, Any], str], None]) -> None:
        self._make = make
        self._entered = entered
        self._made: dict[Text, CodeType] = {}
        self._compiled: dict[int, tuple[weakref.ref[CodeType], Text]] = {}
        """By the identity of code that `compile` made: what of. The module is not known before it is run."""

    def code_for(self, given: Any, mode: str, namespace: dict[str, Any], flags: int) -> Any:
        """Code for what the program is about to run, or the same if it has to run as it is."""
        name = namespace.get("__name__")
        module = name if isinstance(name, str) else "<string>"
        try:
            text = self._text_of(given, mode, module, flags)
            code = None if text is None else self._code(text)
        except Exception as error:
            if _log.is_raised_by_program(error):
                raise
            return given
        if code is None:
            return given
        self._entered(namespace, module)
        return code

    def _text_of(self, given: Any, mode: str, module: str, flags: int) -> Text | None:
        if isinstance(given, CodeType):
            found, text = self._compiled.get(id(given), (None, None))
            return text._replace(module=module) if text is not None and found is not None and found() is given else None
        # not of a class of the program's own, which could do anything when it is compared
        return Text(str.__str__(given) if isinstance(given, str) else b"".join((given,)), mode, module, flags)

    def _code(self, text: Text) -> CodeType | None:
        code = self._made.get(text)
        if code is None and len(self._made) < DYNAMIC_TEXTS:
            code = self._made[text] = self._make(text)
        return code

    def note_compiled(self, code: CodeType, given: list[Any], named: dict[str, Any], inherited: int) -> Any:
        """`compile` made code. Returns a weak reference to it if there can be code with probes in its place."""
        text = _text_compiled(inherited, *given, **named)
        if text is None or not self._has_room():
            return None
        reference = weakref.ref(code)
        self._compiled[id(code)] = reference, text
        return reference

    def _has_room(self) -> bool:
        if len(self._compiled) >= DYNAMIC_TEXTS:
            dead = [address for address, (reference, _) in self._compiled.items() if reference() is None]
            for address in dead:
                del self._compiled[address]
            _probes.forget_compiled(dead)
        return len(self._compiled) < DYNAMIC_TEXTS


def _text_compiled(
    inherited: int,
    source: Any,
    filename: Any,
    mode: Any,
    flags: Any = 0,
    dont_inherit: Any = False,
    optimize: Any = -1,
    **others: Any,
) -> Text | None:
    """What `compile` was given; None if its code is not one that runs, or if code of the program tells what it is."""
    if type(source) not in (str, bytes) or type(flags) is not int or type(optimize) is not int or others:
        return None
    if type(mode) is not str or type(filename) not in (str, bytes) or type(dont_inherit) not in (bool, int):
        return None
    if flags & ~_FEATURES:
        return None
    return Text(source, mode, "", flags if dont_inherit else flags | inherited, os.fsdecode(filename), optimize, True)
