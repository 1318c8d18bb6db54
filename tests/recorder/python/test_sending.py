"""Definitions reach the reader whole, and before what uses them, whichever threads and processes send them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from atomsan.recorder.log.definitions import DefinitionFile
from atomsan.recorder.log.ring import shared_file
from atomsan.recorder.python.child import Sender


@pytest.fixture
def file() -> Iterator[int]:
    descriptor = shared_file("test")
    yield descriptor
    os.close(descriptor)


# --- the file ------------------------------------------------------------------------------------------------------


def test_line_goes_to_the_end_wherever_the_position_is(file: int) -> None:
    """Two threads that write at once start from one position: the file must not go by it."""
    sender = Sender(file)
    sender.send(["call", 50])
    os.lseek(file, 0, os.SEEK_SET)
    sender.send(["call", 51])
    reader = DefinitionFile(file)
    assert reader.read() == [["call", 50], ["call", 51]]
    assert reader.damaged == 0


def test_threads_that_send_at_once_lose_nothing(file: int) -> None:
    sender, before = Sender(file), sys.getswitchinterval()
    messages = [[["call", thread * 1000 + number] for number in range(1000)] for thread in range(4)]

    def send(mine: list[list[Any]]) -> None:
        for message in mine:
            sender.send(message)

    threads = [threading.Thread(target=send, args=(mine,)) for mine in messages]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    found = DefinitionFile(file).read()
    assert sorted(found) == sorted(message for mine in messages for message in mine)
    for mine in messages:
        assert [message for message in found if message in mine] == mine


def test_forked_process_goes_on_with_all_that_was_sent(file: int) -> None:
    """What the parent sends afterwards is not in the file of the child."""
    sender, other = Sender(file), shared_file("other")
    sender.send(["name", 1])
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read, 1)
        sender.continue_with(other)
        sender.send(["name", 3])
        os._exit(0)
    sender.send(["name", 2])
    os.write(write, b"x")
    assert os.waitpid(child, 0)[1] == 0
    assert DefinitionFile(file).read() == [["name", 1], ["name", 2]]
    assert DefinitionFile(other).read() == [["name", 1], ["name", 3]]
    for descriptor in (read, write, other):
        os.close(descriptor)


def test_forked_process_that_is_not_recorded_sends_nothing(file: int) -> None:
    """It gives out the numbers that its parent gives to something else."""
    sender = Sender(file)
    child = os.fork()
    if child == 0:
        sender.send(["module", {"first_site": 1}])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    sender.send(["call", 1])
    assert DefinitionFile(file).read() == [["call", 1]]


def test_nothing_is_written_to_a_file_that_has_taken_the_number(file: int) -> None:
    sender, other = Sender(file), os.open(os.devnull, os.O_RDWR)
    sender.send(["name", 1])
    mine = shared_file("of the program")
    kept = os.dup(file)
    os.dup2(mine, file)
    sender.send(["name", 2])
    assert os.fstat(mine).st_size == 0
    assert DefinitionFile(kept).read() == [["name", 1]]
    for descriptor in (other, mine, kept):
        os.close(descriptor)
