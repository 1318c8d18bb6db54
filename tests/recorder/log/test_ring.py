"""The ring: what is written on one side is read on the other, also round its end and from a process that was killed."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from atomsan.recorder.log import ring as rings
from atomsan.recorder.log.ring import (
    HEAD_BYTES,
    HIGH_DESCRIPTOR,
    RECORD_BYTES,
    RingReader,
    SharedLog,
    create_ring,
)
from recorder.raw import RECORD


def log(memory: mmap.mmap, head: int, values: list[int]) -> int:
    """What a probe does: the record, then the head."""
    capacity = struct.unpack_from("=Q", memory, 8)[0]
    for value in values:
        struct.pack_into("=Q", memory, HEAD_BYTES + head % capacity * RECORD_BYTES, value)
        head += 1
        struct.pack_into("=Q", memory, 16, head)
    return head


def read(reader: RingReader) -> list[int]:
    count = reader.available()
    found = [int(value) for piece in reader.pieces(count) for value in piece.view(RECORD)["object"]]
    reader.advance(count)
    return found


def test_records_come_through_in_order_round_the_end() -> None:
    memory, descriptor = create_ring(1, shared=False)
    assert descriptor == -1
    reader = RingReader(memory)
    head, given, found = 0, [], []
    for size in (0, 1, 100, 128, 50, 127, 3):
        values = list(range(head, head + size))
        head = log(memory, head, values)
        given += values
        found += read(reader)
    assert found == given
    assert struct.unpack_from("=Q", memory, 24)[0] == head, "the producer does not see that there is room"


def test_pieces_are_in_place() -> None:
    memory, _ = create_ring(1, shared=False)
    reader = RingReader(memory)
    log(memory, 0, [7])
    (piece,) = reader.pieces(reader.available())
    assert not piece.flags.owndata
    log(memory, 0, [8])
    assert piece.view(RECORD)["object"][0] == 8


@pytest.mark.parametrize("size", [0, 1, 5000, 1 << 16, (1 << 16) + 1])
def test_the_capacity_is_a_power_of_two(size: int) -> None:
    memory, _ = create_ring(size, shared=False)
    capacity = RingReader(memory).capacity
    assert capacity & (capacity - 1) == 0
    assert len(memory) == HEAD_BYTES + capacity * RECORD_BYTES


@pytest.mark.parametrize("head", [1 << 63, 129, (1 << 64) - 1])
def test_impossible_head_is_ignored(head: int) -> None:
    memory, _ = create_ring(1, shared=False)
    struct.pack_into("=Q", memory, 16, head)
    assert RingReader(memory).available() == 0


@pytest.mark.parametrize("damage", [(0, 1), (8, 0), (8, 3), (8, 1 << 40)])
def test_damaged_ring_is_refused(damage: tuple[int, int]) -> None:
    memory, _ = create_ring(1, shared=False)
    struct.pack_into("=Q", memory, *damage)
    with pytest.raises(ValueError, match="not a ring"):
        RingReader(memory)


def test_flags() -> None:
    memory, _ = create_ring(1, shared=False)
    reader = RingReader(memory)
    assert (reader.closed, reader.waiting, reader.lost) == (False, False, 0)
    reader.stop()
    assert struct.unpack_from("=I", memory, 40)[0] == 1
    struct.pack_into("=QIII", memory, 32, 5, 1, 1, 1)
    assert (reader.closed, reader.waiting, reader.lost) == (True, True, 5)


@pytest.mark.parametrize("has_memfd", [True, False])
def test_records_of_a_killed_process_are_read(monkeypatch: pytest.MonkeyPatch, has_memfd: bool) -> None:
    if not has_memfd:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    memory, descriptor = create_ring(1 << 12)
    program = (
        "import mmap, os, signal, struct, sys\n"
        f"memory = mmap.mmap({descriptor}, 0)\n"
        "for i in range(5):\n"
        f"    struct.pack_into('=Q', memory, {HEAD_BYTES} + i * {RECORD_BYTES}, 100 + i)\n"
        "    struct.pack_into('=Q', memory, 16, i + 1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    process = subprocess.run([sys.executable, "-c", program], pass_fds=[descriptor], check=False)
    assert process.returncode == -9
    reader = RingReader(memory)
    assert read(reader) == [100, 101, 102, 103, 104]
    assert not reader.closed
    os.close(descriptor)


def test_making_a_ring_needs_no_numpy() -> None:
    source = Path(rings.__file__).parents[3]
    program = "import sys, atomsan.recorder.log.ring as ring\nring.create_ring(1)\nassert 'numpy' not in sys.modules\n"
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": str(source)})


def test_layout_matches_the_header() -> None:
    assert RECORD.itemsize == RECORD_BYTES
    header = (Path(__file__).parents[3] / "src" / "atomsan" / "recorder" / "log" / "_raw.h").read_text()
    assert f"#define RAW_HEAD_BYTES {HEAD_BYTES}" in header
    assert f"#define RAW_MAGIC 0x{rings.MAGIC:016x}ULL" in header
    assert np.dtype(RECORD).fields["thread"][1] == 24  # type: ignore[index]


def test_shared_descriptors_have_high_numbers() -> None:
    log = SharedLog.create(1)
    assert min(log.descriptors) >= HIGH_DESCRIPTOR
    assert not any(os.get_inheritable(descriptor) for descriptor in log.descriptors)
    log.close()
    assert log.descriptors == (-1, -1)
