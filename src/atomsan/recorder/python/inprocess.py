"""Records this process: for `atomsan.recording`, and for the pytest plugin, which makes a trace of each test.

    with InProcess(options) as recorder:            # what is imported from here on is watched
        with recorder.trace("test_deposit") as tape:
            ...                                     # and what happens here is recorded
        atomsan.check(tape)

The log is read by a thread in the background, so that the ring never fills up, and to the end when a trace ends.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from atomsan.recorder.log.recording import Recording, no_module_matched
from atomsan.recorder.log.tape import Tape
from atomsan.recorder.python import _log, _probes, _sync
from atomsan.recorder.python.in_place import watching_in_place
from atomsan.recorder.python.language import PYTHON
from atomsan.recorder.python.options import RecordingOptions
from atomsan.recorder.python.session import Session, scheduled
from atomsan.scheduler.noise import Noise
from atomsan.source.cache import default_directory
from atomsan.source.field_paths import hops

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Self

    from atomsan.source.loading import Adapter
    from atomsan.source.spec import Specification

# Seconds between two reads of the log. The ring holds what a program logs in many times that.
READ_INTERVAL = 0.01


class InProcess:
    """A recorder of its own process. There can be one at a time."""

    def __init__(self, options: RecordingOptions, *, adapters: Sequence[Adapter] = ()) -> None:
        self._recording = Recording(shared=False, language=PYTHON)
        self._session = Session(options, self._recording.memory, self._recording.send, adapters=adapters)
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._reader = threading.Thread(target=self._read, name="atomsan-reader", daemon=True)
        self._problem: Exception | None = None
        """Why nothing is recorded any more."""

    def __enter__(self) -> Self:
        # before anything is watched: it is no thread of the program
        self._reader.start()
        self._session.__enter__()
        _log.pause()
        return self

    def __exit__(self, *_: object) -> None:
        self._session.__exit__()
        self._is_over.set()
        self._reader.join()
        with self._lock:
            self._recording.finish()

    @property
    def failures(self) -> dict[str, str]:
        """Files and functions of the standard library that could not be recorded, and why."""
        return self._session.failures

    def unmatched_globs(self, prefix: str) -> list[str]:
        """Warnings about the globs of `include` and `omit` that named no module so far; `prefix` is that of options."""
        return [no_module_matched(prefix + option.lstrip("-"), glob) for option, glob in self._session.unmatched]

    @property
    def warnings(self) -> list[str]:
        """What a user should know of the recording."""
        return self._recording.warnings

    def rewritten(self, source: bytes, module: str, file: str) -> CodeType | None:
        """The code with probes for source that runs already, or None if it is not to be watched."""
        return self._session.rewritten_main(source, module, file)

    def enter_namespace(self, namespace: dict[str, Any], module: str) -> None:
        """This namespace is that of a module, of this name."""
        self._session.enter_namespace(namespace, module)

    @contextmanager
    def trace(
        self, name: str, path: str | None = None, *, seed: int | None = None, force: bool = False
    ) -> Iterator[Tape]:
        """Record what happens inside. With a `seed` there is noise. The tape is complete when the context is left."""
        with self._lock:
            self._raise_reader_error()
            self._recording.restart(name)
            recording = self._recording
            tape = Tape(recording.symbols, recording.meta, path, force=force, on_full=recording.cut_short)
            self._recording.start(tape)
        try:
            _sync.start_trace()
            _probes.start_trace()
            _log.resume()
            if seed is None:
                yield tape
            else:
                with scheduled(Noise(seed)):
                    yield tape
        finally:
            _log.pause()
            with self._lock:
                try:
                    self._raise_reader_error()
                    self._recording.end()
                    tape.finish()
                except BaseException:
                    tape.close()
                    raise
                finally:
                    self._recording.detach()

    def _read(self) -> None:
        while not self._is_over.wait(READ_INTERVAL):
            with self._lock:
                try:
                    self._recording.drain()
                except Exception as error:
                    # a full disk, say: the program must not wait for room in a log that nobody reads
                    self._problem = error
                    self._recording.stop()
                    return

    def _raise_reader_error(self) -> None:
        if self._problem is not None:
            raise self._problem


@contextmanager
def recording(
    path: str | os.PathLike[str] | None = None,
    *,
    include: Sequence[str] = (),
    omit: Sequence[str] = (),
    noise: bool = False,
    seed: int = 0,
    redact_keys: bool = False,
    spec: Specification | str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Iterator[Tape]:
    """Record what happens inside, into a trace at `path` or in memory; `atomsan.check` takes what it gives.

    Modules that are imported inside are watched, and so are the functions of the script, notebook or module that calls
    this, as far as their source is known. Other modules that were imported before are not: their source can only be
    rewritten when they are loaded. Those that an earlier recording of this process has loaded are, unless `include` or
    `omit` of one since then left them out. `atomsan run` and `pytest --atomsan` watch everything. Of `spec`, only the
    atomic sets matter that go through fields: what these hold is recorded then.
    """
    namespace = _caller_namespace()
    module = _module_name(namespace)
    options = RecordingOptions(
        include=include, omit=omit, redact_keys=redact_keys, cache=default_directory(), follow=_followed(spec)
    )
    where = None if path is None else os.fspath(path)
    with (
        InProcess(options) as recorder,
        watching_in_place(namespace, lambda source, file: recorder.rewritten(source, module, file)) as unwatched,
    ):
        recorder.enter_namespace(namespace, module)
        with recorder.trace(where or "the recording", where, seed=seed if noise else None, force=force) as tape:
            yield tape
        nothing = list(_nothing_watched(tape))
        tape.meta.is_empty_explained = bool(nothing)
        tape.meta.warnings += [*nothing, *recorder.warnings, *_unwatched(unwatched, module)]


def _caller_namespace() -> dict[str, Any]:
    """The globals of the code that asks for a recording: the first that is neither ours nor contextlib's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        name = frame.f_globals.get("__name__")
        if name not in (__name__, "contextlib"):
            break
        frame = frame.f_back
    return {} if frame is None else frame.f_globals


def _module_name(namespace: Mapping[str, Any]) -> str:
    """What the module is called in the names of regions: a script by its file, as `atomsan run` does."""
    name, file = namespace.get("__name__"), namespace.get("__file__")
    if name == "__main__" and isinstance(file, str):
        return os.path.splitext(os.path.basename(file))[0]
    return name if isinstance(name, str) else "?"


def _nothing_watched(tape: Tape) -> Iterator[str]:
    if not len(tape.symbols.locations) and not len(tape.symbols.regions):
        yield (
            "nothing was watched: no function of the code that asked for the recording ran inside it, nor one of a"
            " module that was imported inside it"
        )


def _unwatched(unwatched: Mapping[str, Sequence[str]], module: str) -> Iterator[str]:
    for reason, names in unwatched.items():
        yield f"not watched: {_listed(names)} of {module}, because {reason}"


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:3]) + f" and {len(names) - 3} more" * (len(names) > 3)


def _followed(spec: Specification | str | os.PathLike[str] | None) -> Sequence[tuple[str, str]]:
    if spec is None:
        return ()
    from atomsan.source.spec import Specification, read_spec

    return hops((spec if isinstance(spec, Specification) else read_spec(spec)).sets)
