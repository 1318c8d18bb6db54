"""Reads the log of a program while it runs, and makes batches of events of it.

    recording = Recording(language=PYTHON)       # or Recording(shared=False, ...), to record this process
    recording.descriptors                        # what the program's process is given
    tape = Tape(recording.symbols, recording.meta)
    recording.start(tape)
    while ...:
        recording.drain()                        # what was logged so far becomes a batch, and goes to the tape
    recording.finish()
    tape.finish()

The batches are well-formed whatever was logged, and hold numbers only: addresses go no further than this.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from atomsan.errors import Place
from atomsan.recorder.log._resolver import Resolver
from atomsan.recorder.log.definitions import DefinitionFile, DefinitionList, Definitions, Language, Message
from atomsan.recorder.log.limits import Limits
from atomsan.recorder.log.names import SymbolNames
from atomsan.recorder.log.ring import RECORD_BYTES, RING_BYTES, RingReader, SharedLog, create_ring
from atomsan.trace.events import Batch
from atomsan.trace.meta import CUT_SHORT, NOT_OVER, TraceMeta
from atomsan.trace.symbols import Symbols

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomsan.types import LiveSink

# So many records are resolved at a time; then the program has their room again.
CHUNK_RECORDS = 1 << 16

# So many events are given at a time, if there are: they and what is made of them stay in the processor's cache, and an
# object that lives for a moment lives and dies in one batch of them.
GIVEN_EVENTS = 1 << 17

# Said of a program that has waited for us for too long.
LOST = (
    "the recorder took nothing from the log for {seconds:g} s (it was stopped, or too slow), so the program went on"
    " without it: what it did then is missing"
)

# What a program can say of itself, for the trace's `meta`.
_FACTS = ("program", "command_line", "platform")


def no_module_matched(option: str, glob: str) -> str:
    """The warning about a glob of `include` or `omit` that named no module."""
    return f"{option} {glob} matched no module that was imported while recording"


class Recording:
    """One recording as its reader sees it."""

    def __init__(
        self,
        log: SharedLog | None = None,
        *,
        language: Language,
        shared: bool = True,
        ring_bytes: int = RING_BYTES,
        source: str = "the recording",
        directory: str | None = None,
        keeps_unshared: bool = True,
        limits: Limits | None = None,
    ) -> None:
        """`log` is what the program writes to, if it is there already: `shared`, with another process.

        `directory` is that of the program, to which files are shown relative; None: the current one. Without
        `keeps_unshared`, objects that die soon after they were made, and that one thread alone had used, are not in the
        trace: no other thread can come between accesses to them, and many programs do little else. `language` is that
        of the program. `limits`: those of events and bytes.
        """
        self._keeps_unshared = keeps_unshared
        self.symbols = Symbols()
        self.meta = TraceMeta(source, "recording", complete=False, cut=NOT_OVER, recorded=True)
        self.events = 0
        self._sink: LiveSink | None = None
        self._limits = limits or Limits()
        self._most = self._limits.most_events
        self._log = log or (SharedLog.create(ring_bytes) if shared else None)
        self._incoming: DefinitionFile | DefinitionList
        if self._log is not None:
            self.memory = self._log.memory
            self._incoming = DefinitionFile(self._log.definition_file)
        else:
            # the ring, for a recorder in this process
            self.memory, _ = create_ring(ring_bytes, shared=False)
            self._incoming = DefinitionList()
        self._ring: RingReader | None = RingReader(self.memory)
        self._resolver = Resolver(sifts=not keeps_unshared)
        self.definitions = Definitions(self._resolver, language, directory)
        self._names = self._new_names()
        self._closed = False
        self._lost = self._unsent = self._unfollowed = 0
        self._patience = 0.0
        self._cut: str | None = None

    def start(self, sink: LiveSink) -> None:
        """From now on, batches go to `sink`; without one they go nowhere. Whoever made it finishes it."""
        self._sink = sink

    def detach(self) -> None:
        """Nothing more goes to the sink."""
        self._sink = None

    def restart(self, source: str) -> None:
        """What comes from now on is another trace, of the same program. What was defined stays defined."""
        self.drain()
        self.definitions.gaps.clear()
        self.definitions.unfollowed.clear()
        self.symbols = Symbols()
        self.meta = TraceMeta(source, "recording", complete=False, cut=NOT_OVER, recorded=True)
        self.events = 0
        self._resolver = Resolver(sifts=not self._keeps_unshared)
        self.definitions.tell(self._resolver)
        self._names = self._new_names()

    def _new_names(self) -> SymbolNames:
        names = SymbolNames(self.symbols, self.definitions)
        self.meta.holders = names.holders
        return names

    def end(self) -> None:
        """The trace is all there: resolve what is left of it."""
        # Once takes all that was logged before. In the program's own process there is no end to it: what we free
        # ourselves while we read can be logged, too.
        self.drain()
        self._resolver.finish()
        self._give()
        self.meta.cut = self._missing()
        self.meta.complete = self.meta.cut is None
        gaps, unfollowed = self._gaps(), list(self.definitions.unfollowed)
        known = {*self.meta.gaps, *self.meta.unfollowed}
        self.meta.warnings += [text for text in (*unfollowed, *gaps) if text not in known]
        self.meta.gaps, self.meta.unfollowed = gaps, unfollowed

    @property
    def descriptors(self) -> tuple[int, int]:
        """Those of the ring and of the file of definitions, for the program's process."""
        return (-1, -1) if self._log is None else self._log.descriptors

    def send(self, message: Message) -> None:
        """Take a definition from a recorder in this process."""
        assert isinstance(self._incoming, DefinitionList)
        self._incoming.send(message)

    @property
    def is_full(self) -> bool:
        """Whether there are as many events as are wanted."""
        return self._most is not None and self.events >= self._most

    @property
    def closed(self) -> bool:
        """Whether the program ended its recording in good order."""
        return self._closed if self._ring is None else self._ring.closed

    def stop(self) -> None:
        """Let the program log nothing more."""
        if self._ring is not None:
            self._ring.stop()

    def cut_short(self, why: str) -> None:
        """Let the program log nothing more: the trace is not complete, and says why."""
        self._cut = self._cut or why
        self.stop()

    def drain(self) -> bool:
        """Resolve what was logged so far. False: nothing was."""
        ring = self._ring
        if ring is None:
            return False
        count = ring.available()
        # after the look at the log: whatever it uses is defined by now
        self._define()
        for piece in ring.pieces(count):
            for start in range(0, len(piece), CHUNK_RECORDS * RECORD_BYTES):
                chunk = piece[start : start + CHUNK_RECORDS * RECORD_BYTES]
                self._resolver.feed(chunk)
                ring.advance(len(chunk) // RECORD_BYTES)
                if self._resolver.waiting_events >= GIVEN_EVENTS:
                    self._give()
        if self._keeps_unshared or count == 0:
            self._give()
        if count == 0 and self._sink is not None:
            self._sink.idle()
        return count > 0

    def feed(self, records: NDArray[np.uint8]) -> None:
        """Resolve records that came by another way than the ring."""
        self._define()
        self._resolver.feed(records)
        self._give()

    def finish(self, *, complete: bool = True) -> None:
        """The program has ended, or nothing more is wanted of it: resolve what is left, and give the memory back."""
        if self._ring is None:
            return
        if not complete:
            self.cut_short(CUT_SHORT)
        self.end()
        self._closed, self._lost, self._unsent = self._ring.closed, self._ring.lost, self._ring.unsent
        self._unfollowed, self._patience = self._ring.unfollowed, self._ring.patience
        self._ring = None
        if self._log is not None:
            self._log.close()
        with suppress(BufferError):  # a recorder in this process may hold on to it
            self.memory.close()

    def _missing(self) -> str | None:
        """Why the trace does not have all that the program did, if so."""
        return next(iter(self._losses()), None)

    def _losses(self) -> list[str]:
        """What is missing from the trace, and why: with any of these it is not complete."""
        lost, unsent = (self._lost, self._unsent) if self._ring is None else (self._ring.lost, self._ring.unsent)
        damaged = self._incoming.damaged + self.definitions.wrong
        found = []
        if self.is_full:
            found.append(self._limits.full_message)
        if lost:
            patience = self._patience if self._ring is None else self._ring.patience
            found.append(LOST.format(seconds=patience))
        if damaged:
            found.append(f"{damaged} definitions could not be read")
        if unsent:
            found.append(
                f"{unsent} definitions could not be written, so places and names are missing: the program has closed"
                " the file of the recorder, or there is no room for it"
            )
        if self._cut is not None:
            found.append(self._cut)
        return found

    @property
    def warnings(self) -> list[str]:
        """What a user should know about the recording."""
        found = [f"{file} was not recorded: {why}" for file, why in self.definitions.failures.items()]
        found += [no_module_matched(option, glob) for option, glob in self.definitions.unmatched]
        if count := self._unfollowed if self._ring is None else self._ring.unfollowed:
            found.append(f"processes that the program forked were not recorded, for lack of room: {count}")
        return found + self._losses()

    def _gaps(self) -> list[str]:
        """What is not known of this trace, because a limit was reached."""
        found = list(self.definitions.gaps)
        if count := self._resolver.unknown_conflicts:
            found.append(
                "conflicts may be missing: elements were accessed after slices or whole accesses that were no longer"
                f" remembered, as the last 8 of a thread and 64 of a container are (such accesses: {count:,})"
            )
        if count := self._resolver.early_loops:
            found.append(
                "the order may be wrong: elements were stored after a loop had read all that was left, as it does after"
                f" 65,536 steps, and perhaps before it got there (such stores: {count:,})"
            )
        return found

    @property
    def counters(self) -> dict[str, int]:
        """How many records there were, and how many of them made no event for a reason that is worth a look."""
        resolver = self._resolver
        return {
            "records": resolver.records,
            "of ended threads": resolver.late,
            "strange": resolver.strange,
            "unmatched": resolver.unmatched,
        }

    def place(self, event: int) -> Place:
        return Place(self.meta.source, None, event)

    def _define(self) -> None:
        messages = self._incoming.read()
        for message in messages:
            self.definitions.add(message)
        self.meta.classes, self.meta.sets = self.definitions.bases, self.definitions.sets
        self.meta.fields, self.meta.followed = self.definitions.fields, self.definitions.followed
        if messages and self.definitions.facts:
            for fact in _FACTS:
                setattr(self.meta, fact, self.definitions.facts.get(fact, getattr(self.meta, fact)))

    def _give(self) -> None:
        if not self._resolver.waiting_events and not self._resolver.waiting_holds:
            return
        if not self._keeps_unshared:
            self._resolver.sift()
        columns = self._resolver.take()
        self._names.add(self._resolver.take_symbols())
        if not len(columns[0]):
            return
        dead, locations = self._resolver.take_dead()
        self._names.forget(dead, locations, self._resolver.are_clues)
        batch = Batch(self.events, *columns, dead=locations if len(locations) else None)
        if self._most is not None:
            batch = batch[: self._most - self.events]
        self.events += len(batch)
        if self.is_full:
            self.stop()
        if len(batch) and self._sink is not None:
            self._sink.write(batch)
        insertions = self._resolver.take_insertions()
        if len(insertions) and self._sink is not None:
            self._sink.insert(insertions)
