"""A recording session: installs everything that records this process, and removes it at the end.

    with Session(options, ring, send):      # from here on, modules that are imported are watched
        ...                                 # and so are locks, threads and tasks

Source is rewritten (`source/`), probes are put into the code (`_probes`), primitives are watched (`primitives`,
`tasks`), and all of them write to one log (`_log`). The reader of the log (`recording`) is another process, or a thread
in the background. Nothing heavy is imported here: this is the program's process.
"""

from __future__ import annotations

import sys
from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from atomsan.errors import InputError
from atomsan.recorder.python import _log, _probes, _sync, primitives
from atomsan.recorder.python.dynamic_code import DynamicCode, Text
from atomsan.recorder.python.entry_functions import function_behind
from atomsan.recorder.python.options import RecordingOptions
from atomsan.source.cache import CodeCache
from atomsan.source.compiler_warnings import CompilerWarnings
from atomsan.source.field_paths import globs_pattern, hops
from atomsan.source.instrument import bind, compile_instrumented
from atomsan.source.invocations import Invocations, Position, is_invoked_by, position_of
from atomsan.source.loading import Adapter, ImportHook, Preparation
from atomsan.source.selection import OURSELVES, Decision, Selection

if TYPE_CHECKING:
    from typing import Self

    from atomsan.source.plan import Plan
    from atomsan.types import Scheduler

# Sends a definition to the reader of the log: a list that JSON can hold.
Send = Callable[[list[Any]], None]

# No site has this number.
MOST_SITES = 1 << 32


# Of this process: a site has its number for all recordings, for code that was rewritten in one is there in the next.
_sites = _log.SiteNumbers()
# The probes that recordings have put into code. `Session._take_over` decides what the next one does with them.
_made: list[_Made] = []


class Session:
    """Records this process from `__enter__` to `__exit__`. There can be one at a time."""

    def __init__(self, options: RecordingOptions, ring: Any, send: Send, *, adapters: Sequence[Adapter] = ()) -> None:
        self._options = options
        self._ring = ring
        self._send = send
        self._scheduler = _scheduler_for(options)
        self._cache = CodeCache(options.cache)
        self._sources: dict[str, _Loaded] = {}
        self._promoted: dict[int, tuple[CodeType, CodeType]] = {}
        """By the identity of code: the code, and what is to take its place in an entry function."""
        self._dynamic = DynamicCode(self._dynamic_code, self.enter_namespace)
        self._invocations: dict[str, Invocations | None] = {}
        """By file, where calls came by a library."""
        self._sites = _sites
        self._site_ranges: list[tuple[int, int]] = []
        """The sites of each module that was defined, from the first up to the last."""
        self._call_sites: dict[tuple[int, Position, str], int] = {}
        """By a site of the module, the position and the function: an expression is sent to the reader once, however
        often its code is made."""
        self._undo = ExitStack()
        self._selection = Selection(options.include, options.omit, options.project)
        self._unmatched: list[tuple[str, str]] = []
        """The globs that named no module, as the reader of the log knows them."""
        self.hook = ImportHook(self._selection, self.rewritten, self.entered, adapters, self._decided)
        self.failures: dict[str, str] = {}
        """Files that could not be rewritten, and functions of the standard library that could not be watched, and why:
        they run as if nobody were watching."""

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            _log.attach(self._ring, self._send, redact_keys=self._options.redact_keys)
            undo.callback(_log.detach)
            undo.enter_context(primitives.watching(self._failed))
            undo.enter_context(self.hook)
            primitives.set_promoter(self.promote)
            undo.callback(primitives.set_promoter, None)
            _probes.set_promoter(self.promote)
            undo.callback(_probes.set_promoter, None)
            _probes.set_dynamic(self._dynamic.code_for, self._dynamic.note_compiled)
            undo.callback(_probes.set_dynamic, None)
            _probes.set_invokes(self._invokes)
            undo.callback(_probes.set_invokes, None)
            _probes.set_call_sites(self._call_site)
            undo.callback(_probes.set_call_sites, None)
            _probes.set_awaited(_sync.awaited)
            undo.callback(_probes.set_awaited, None)
            _probes.watch_getters()
            undo.callback(_probes.unwatch_getters)
            undo.callback(_probes.follow_nothing)
            self._follow(self._options.follow)
            self._note_loaded()
            self._take_over()
            if self._scheduler is not None:
                undo.enter_context(scheduled(self._scheduler))
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def continue_with(self, ring: Any, locked_by_reader: str) -> None:
        """Write to another ring: this process was forked, and the ring so far is that of its parent.

        Its reader is not its parent; as long as that lives, it holds the lock of this file.
        """
        self._ring = ring
        _log.detach()
        _log.attach(ring, self._send, redact_keys=self._options.redact_keys, locked_by_reader=locked_by_reader)
        if self._scheduler is not None:
            _log.set_scheduler(self._scheduler)  # from its start

    def _decided(self, module: str, file: str | None, decision: Decision) -> None:
        if self._options.explain_selection and module.partition(".")[0] != OURSELVES:
            self._send(["selection", module, file, decision.selected, decision.reason])
        self._send_unmatched()

    def _note_loaded(self) -> None:
        if self._options.omit:
            for name, module in list(sys.modules.items()):
                # not by getattr: a module can have code of its own for that
                file = module.__dict__.get("__file__") if type(module) is ModuleType else None
                if isinstance(file, str):
                    self._selection.note_loaded(name, file)
        self._send_unmatched()

    @property
    def unmatched(self) -> list[tuple[str, str]]:
        """The globs of `include` and `omit` that have named no module so far, each with its option."""
        return self._selection.unmatched

    def _send_unmatched(self) -> None:
        """Send which globs of `include` and `omit` have named no module so far, if that has changed."""
        if self._unmatched != self._selection.unmatched:
            self._unmatched = self._selection.unmatched
            self._send(["unmatched", [list(one) for one in self._unmatched]])

    def _failed(self, what: str, why: str) -> None:
        self.failures[what] = why
        self._send(["failure", what, why])

    def entered(self, module: ModuleType) -> None:
        """The code of this module is about to run."""
        self.enter_namespace(module.__dict__, module.__name__)

    def enter_namespace(self, namespace: dict[str, Any], name: str) -> None:
        _log.register_module(namespace, name)

    def rewritten(self, source: bytes, module: str, file: str, prepared: Preparation | None = None) -> CodeType | None:
        """The code to run in place of this source, or None if it has to run as it is."""
        return self._rewritten(_Loaded(source, module, file, prepared))

    def _rewritten(self, loaded: _Loaded, *, is_main: bool = False) -> CodeType | None:
        source, file = loaded.source, loaded.file
        try:
            code, plan = self._compiled(loaded, is_main=is_main)
        except Exception as error:
            if _log.is_raised_by_program(error):
                raise
            if isinstance(error, SyntaxError | ValueError):
                return None  # to run it as it is raises what the program expects
            # a defect of ours must not be the program's
            self._failed(file, f"{type(error).__name__}: {error}")
            return None
        probes = self._probes_for(plan, _text(source))
        self._sources[file] = loaded._replace(probes=probes)
        self._invocations.pop(file, None)
        _made.append(_Made(probes, None if is_main else self._sources[file]))
        return _bound(code, probes)

    def rewritten_main(self, source: bytes, module: str, file: str) -> CodeType | None:
        """The same for the program's main file, which the user asked to run: only `omit` keeps it out."""
        decision = self.hook.decide(module, file, is_main=True)
        return self._rewritten(_Loaded(source, module, file), is_main=True) if decision.selected else None

    def _compiled(
        self, loaded: _Loaded, entries: frozenset[tuple[str, int]] = frozenset(), *, is_main: bool = False
    ) -> tuple[CodeType, Plan]:
        """Code and plan, from the cache if they are there. With `entries`, the source was compiled before.

        Python keeps no code of the main file, and warns of it in every run. So we keep it only if there is nothing to
        warn of.
        """
        source, module, file, prepared, _ = loaded
        name = self._cache.name(source, module, file, sorted(entries), prepared and prepared.key)
        known = self._cache.load(name)
        if known is None:
            tree = None if prepared is None else prepared.tree(source, file)
            with CompilerWarnings(are_hidden=bool(entries)) as warnings:
                known = compile_instrumented(source, module=module, file=file, entries=entries, tree=tree)
            if not (is_main and warnings.heard):
                self._cache.store(name, *known)
        return known

    def _probes_for(self, plan: Plan, source: str) -> _ModuleProbes:
        """The probes of a plan, which is sent to the reader of the log first."""
        first = self._sites.take(max(len(plan.probes), 1))  # by its first site a module is known, if it has any or none
        self._define(plan, source, first)
        return _ModuleProbes(first, _probes.make_probes(plan, first))

    def _define(self, plan: Plan, source: str, first: int) -> None:
        self._follow(_hops_of(plan))
        self._send(["module", {"first_site": first, "plan": plan._asdict(), "source": source}])
        insort(self._site_ranges, (first, first + max(len(plan.probes), 1) - 1))

    def _take_over(self) -> None:
        """Modules that earlier recordings of this process have rewritten are watched again, if they are selected now.

        All other code of theirs that is still there logs nothing from now on. What is gone costs nothing any more.
        """
        before, _made[:] = _made[:], ()
        for made in before:
            if not _probes.are_in_use(made.probes.probes):
                continue
            if made.loaded is not None and self._watches_again(made.loaded, made.probes.first_site):
                _made.append(made)
            else:
                _probes.silence(made.probes.probes)

    def _watches_again(self, loaded: _Loaded, first: int) -> bool:
        if not self.hook.decide(loaded.module, loaded.file).selected:
            return False
        try:
            _, plan = self._compiled(loaded)
        except Exception as error:
            if _log.is_raised_by_program(error):
                raise
            return False
        self._define(plan, _text(loaded.source), first)
        self._sources[loaded.file] = loaded
        return True

    def _follow(self, fields: Sequence[tuple[str, str]]) -> None:
        """From now on, record what these fields hold."""
        if fields:
            self._send(["follow", [list(field) for field in fields]])
            _probes.follow([(globs_pattern([of_class]), globs_pattern([field])) for of_class, field in fields])

    def promote(self, given: object) -> None:
        """A function is about to be the first that a thread calls: its loops become regions of their own.

        If it only calls another one, its new code says so when it does, and that one is promoted then.
        """
        function = function_behind(given)
        if function is None:
            return
        code = function.__code__
        # not by equality: code without probes may be that of another file
        _, better = self._promoted.get(id(code), (code, None))
        if better is None:
            better = self._with_loops(code)
            self._promoted[id(code)] = code, better
            self._promoted[id(better)] = better, better
        # every time: an inner function is a new one for each call of the outer
        if better is not code:
            function.__code__ = better

    def _with_loops(self, code: CodeType) -> CodeType:
        """The code of an entry function, with its loops as regions; the same code if it has to stay."""
        loaded = self._sources.get(code.co_filename)
        if loaded is None or loaded.probes is None or not _probes.is_recorded(code):
            return code
        name = code.co_name if code.co_name == "<lambda>" else code.co_qualname
        entries = frozenset({(name, code.co_firstlineno)})
        whole, _ = self._compiled(loaded, entries)
        better = _inner(whole, code)
        # with the probes that are there: the plan is the same
        return code if better is None else _bound(better, loaded.probes)

    def _invokes(self, caller: CodeType, instruction: int, called: CodeType) -> bool:
        """Whether code invokes other code by its name, at this instruction. If that is not known, it does not."""
        file = caller.co_filename
        if file not in self._invocations:
            loaded = self._sources.get(file)
            try:
                self._invocations[file] = None if loaded is None else Invocations(loaded.source)
            except (SyntaxError, ValueError, RecursionError):
                self._invocations[file] = None
        known = self._invocations[file]
        return known is not None and is_invoked_by(called, known.at(position_of(caller, instruction)))

    def _call_site(self, caller: CodeType, instruction: int, site: int) -> int:
        """The number of the site of a call: the expression at this instruction. 0: it has no place in the source, or
        that is not watched."""
        position = position_of(caller, instruction)
        if None in position or not self._is_defined(site):
            return 0
        call = (site, position, caller.co_qualname)
        number = self._call_sites.get(call)
        if number is None:
            number = self._sites.take(1)
            self._send(["call", number, site, position, caller.co_qualname])
            # others may have come here meanwhile: one number for all
            number = self._call_sites.setdefault(call, number)
        return number

    def _is_defined(self, site: int) -> bool:
        at = bisect_right(self._site_ranges, (site, MOST_SITES)) - 1
        return at >= 0 and site <= self._site_ranges[at][1]

    def _dynamic_code(self, text: Text) -> CodeType:
        """The code with probes of a text that the program runs."""
        with CompilerWarnings(are_hidden=True) if text.is_compiled else nullcontext():
            made, plan = compile_instrumented(
                text.text, module=text.module, file=text.file, mode=text.mode, flags=text.flags, optimize=text.optimize
            )
        probes = self._probes_for(plan, _text(text.text))
        _made.append(_Made(probes, None))
        return _bound(made, probes)


class _ModuleProbes(NamedTuple):
    """The probes in the code of a module, and the number of its first site."""

    first_site: int
    probes: list[Any]


class _Loaded(NamedTuple):
    """The source of a file that was loaded, and the probes in its code."""

    source: bytes
    module: str
    file: str
    prepared: Preparation | None = None
    probes: _ModuleProbes | None = None


class _Made(NamedTuple):
    """Probes, and the module that they are in; None: it cannot be watched by another recording."""

    probes: _ModuleProbes
    loaded: _Loaded | None


def _bound(code: CodeType, probes: _ModuleProbes) -> CodeType:
    """The code with its probes. What it calls is known not to be called back."""
    return _probes.mark_recorded(bind(code, probes.probes.__getitem__), probes.first_site)


def _hops_of(plan: Plan) -> Sequence[tuple[str, str]]:
    """The fields that the atomic sets go through that a module declares."""
    sets: dict[str, list[str]] = {}
    for name, *paths in plan.sets:
        sets.setdefault(name, []).extend(paths)
    try:
        return hops(sets)
    except InputError:
        return ()  # `atomic_set` says so itself


def _text(source: str | bytes) -> str:
    return source if isinstance(source, str) else source.decode("utf-8", "replace")


def _inner(code: CodeType, wanted: CodeType) -> CodeType | None:
    """The code of the same function in a module's code, if it can take its place."""
    if _is_same_function(code, wanted):
        return code if code.co_freevars == wanted.co_freevars else None
    found = (_inner(constant, wanted) for constant in code.co_consts if isinstance(constant, CodeType))
    return next((inner for inner in found if inner is not None), None)


def _is_same_function(code: CodeType, wanted: CodeType) -> bool:
    if (code.co_qualname, code.co_firstlineno) != (wanted.co_qualname, wanted.co_firstlineno):
        return False
    return code.co_name != "<lambda>" or _last_position(code) == _last_position(wanted) != (0, 0)


def _last_position(code: CodeType) -> tuple[int, int]:
    """Where a lambda ends, which tells it from others in its line; (0, 0) if columns are not known."""
    ends = ((line, column) for _, line, _, column in code.co_positions() if line is not None and column)
    return max(ends, default=(0, 0))


def _scheduler_for(options: RecordingOptions) -> Scheduler | None:
    if not options.noise:
        return None
    # Here, because most recordings have none.
    from atomsan.scheduler.noise import Noise

    return Noise(options.seed)


@contextmanager
def scheduled(scheduler: Scheduler) -> Iterator[None]:
    """The scheduler is asked at each of its scheduling points."""
    _log.set_scheduler(scheduler)
    try:
        yield
    finally:
        _log.set_scheduler(None)
