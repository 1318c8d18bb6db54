"""Which signals are forwarded: those that were sent to the recording process alone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atomsan.recorder.log import signals
from atomsan.recorder.log.signals import Bystander, signals_passed_on
from forking import exit_code, forked


class Program:
    """Notes what it is sent."""

    def __init__(self, *, has_started: bool = True) -> None:
        self.has_started = has_started
        self.sent: list[int] = []
        self.asked = 0

    def send(self, number: int) -> None:
        self.sent.append(number)

    def request_interim_report(self) -> None:
        self.asked += 1


def in_a_group(do: Callable[[], object]) -> int:
    """Do this in a process that is a process group of its own; how it ended.

    No signal is ignored there, whoever started the tests (`nohup`, a shell in the background).
    """

    def act() -> None:
        os.setpgid(0, 0)
        for number in signals.FORWARDED:
            signal.signal(number, signal.SIG_DFL)
        do()

    return exit_code(forked(act))


def to_group(number: int) -> None:
    os.killpg(0, number)


def to_process(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", signals.FORWARDED)
def test_what_everybody_gets_is_not_forwarded(number: int) -> None:
    def act() -> None:
        program = Program()
        with signals_passed_on(program):
            for send, forwarded in ((to_group, 0), (to_process, 1), (to_group, 1), (to_process, 2)):
                send(number)
                assert program.sent == [number] * forwarded

    assert in_a_group(act) == 0


def test_one_that_comes_before_the_program_is_there_is_forwarded() -> None:
    def act() -> None:
        program = Program(has_started=False)
        with signals_passed_on(program):
            to_group(signal.SIGTERM)
            assert program.sent == [signal.SIGTERM]

    assert in_a_group(act) == 0


def test_signals_that_come_together_are_each_told_apart() -> None:
    def act() -> None:
        program = Program()
        with signals_passed_on(program):
            numbers = {signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2}
            signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
            to_group(signal.SIGTERM)
            to_process(signal.SIGHUP)
            to_group(signal.SIGUSR2)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
            assert program.sent == [signal.SIGHUP]

    assert in_a_group(act) == 0


def test_ignored_signals_stay_ignored_and_handlers_come_back() -> None:
    def act() -> None:
        program = Program()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        before = signal.signal(signal.SIGTERM, lambda *_: None)
        with signals_passed_on(program):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            to_process(signal.SIGHUP)
            to_process(signal.SIGUSR1)
            assert (program.sent, program.asked) == ([], 1)
        assert signal.getsignal(signal.SIGTERM) is not before
        to_process(signal.SIGTERM)
        assert program.sent == []

    assert in_a_group(act) == 0


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_bystander_that_does_not_answer_is_done_without(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "ANSWER_SECONDS", 0.05)
    bystander = Bystander([signal.SIGTERM])
    os.kill(bystander.process, number)
    assert not bystander.has_got(signal.SIGTERM)
    assert not bystander.has_got(signal.SIGTERM)
    bystander.close()


def test_bystander_ends_with_the_process_that_it_is_for(tmp_path: Path) -> None:
    """However that ends; and it holds nothing open that others wait for."""
    read, write = os.pipe()

    def act() -> None:
        bystander = Bystander([signal.SIGTERM])
        (tmp_path / "number").write_text(str(bystander.process))
        os.kill(os.getpid(), signal.SIGKILL)

    assert exit_code(forked(act)) == -signal.SIGKILL
    os.close(write)
    assert os.read(read, 1) == b""
    os.close(read)
    process = int((tmp_path / "number").read_text())
    deadline = time.monotonic() + 20
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not is_running(process)


def is_running(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_bystander_is_not_found_by_the_name_of_this_process() -> None:
    """Who sends a signal by name (`pkill -f`) means the recorder, and not everybody in its group."""
    bystander = Bystander([signal.SIGTERM])
    deadline = time.monotonic() + 20
    while (title := Path(f"/proc/{bystander.process}/cmdline").read_bytes()).strip(b"\0") != b"signal-witness":
        assert time.monotonic() < deadline, title
        time.sleep(0.001)
    assert Path(f"/proc/{bystander.process}/comm").read_text() == "signal-witness\n"
    bystander.close()
