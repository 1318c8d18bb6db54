"""The recorder is invisible to the program: its own calls, frames and exceptions do not show."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def recorded(program: str, directory: Path) -> str:
    """What a program prints while it is recorded; the same as without."""
    file = directory / "program.py"
    file.write_text(textwrap.dedent(program), encoding="utf-8")
    plain = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True, cwd=directory)
    record = ["-m", "atomsan", "record", "--quiet", "--force", "--output", "t.atomtrace"]
    done = subprocess.run(
        [sys.executable, *record, str(file)], capture_output=True, text=True, check=True, cwd=directory, timeout=120
    )
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    return done.stdout


@pytest.mark.parametrize("name", ["os.write", "os.fstat", "json.dumps", "builtins.open"])
def test_functions_replaced_by_the_program_are_not_called(name: str, tmp_path: Path) -> None:
    program = f"""
        from unittest import mock
        import json, os

        class Account:
            pass

        with mock.patch("{name}") as stand_in:
            account = Account()
            account.balance = 1        # a name and a type that the reader has not heard of
            account.balance += 1
            exec("account.balance += 1")
        print(stand_in.called, account.balance)
    """
    assert recorded(program, tmp_path) == "False 3\n"


def test_signal_handler_exception_is_raised_in_the_program(tmp_path: Path) -> None:
    program = """
        import signal, traceback

        class Alarm(Exception):
            pass

        def handler(number, frame):
            raise Alarm

        signal.signal(signal.SIGALRM, handler)
        alarms, number, files = 0, 0, set()
        while alarms < 50:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
                while True:
                    # types, names and texts that the reader has not heard of
                    number += 1
                    made = type(f"T{number}", (), {})()
                    made.value = 1
                    exec(f"made.value{number % 500} = 2")
            except Alarm as error:
                alarms += 1
                files.update(entry.filename for entry in traceback.extract_tb(error.__traceback__))
        print(alarms, files <= {__file__, "<string>"})
    """
    assert recorded(program, tmp_path) == "50 True\n"


def test_tracer_sees_no_frame_of_ours(tmp_path: Path) -> None:
    program = """
        import sys, threading

        def work():
            return eval("1 + 1")

        def tracer(frame, event, argument):
            if frame.f_code.co_name not in by_chance:
                seen.add(frame.f_code.co_name)

        seen = set()
        # called where a thread that was started is not there at once
        by_chance = {"_release_save", "_acquire_restore", "_is_owned"}
        threading.settrace(tracer)
        sys.settrace(tracer)
        thread = threading.Thread(target=work, args=())
        thread.start()
        thread.join()
        work()
        sys.settrace(None)
        print(sorted(seen))
    """
    assert "work" in recorded(program, tmp_path)


def test_generator_that_drives_a_loop_behaves_as_ever(tmp_path: Path) -> None:
    program = """
        import asyncio, gc, sys, traceback

        class Box:
            n = 0

        box = Box()

        def values(count):
            try:
                for value in range(count):
                    box.n += 1
                    yield value
                return "result"
            finally:
                print("closed by", sys._getframe(1).f_code.co_name)

        async def later(count):
            for value in range(count):
                box.n += 1
                yield value

        def main():
            for value in values(3):
                box.n += value
                break
            print("left")
            given = values(2)
            for value in given:
                print("ready", given.gi_running, given.gi_frame.f_lineno)
                break
            print("still there", next(given), list(given))
            for number, value in enumerate(values(2)):
                print(number, value)
            def fails():
                yield 1
                box.missing
            try:
                for value in fails():
                    pass
            except AttributeError:
                traceback.print_exc(file=sys.stdout)
            try:
                for value in later(1):
                    pass
            except TypeError as error:
                print(error)
            by_hand = values(2)
            while True:
                try:
                    print(next(by_hand))
                except StopIteration as stop:
                    print(stop.value)
                    break

        async def amain():
            async for value in later(2):
                print(value)
            try:
                async for value in values(1):
                    pass
            except TypeError as error:
                print(error)

        def abandoned():
            async def co():
                async for value in later(2):
                    await asyncio.sleep(1)
            return co()

        main()
        asyncio.run(amain())
        given = abandoned()
        try: given.send(None)
        except RuntimeError as error: print(error)
        del given
        gc.collect()
        print(box.n)
    """
    assert "closed by main" in recorded(program, tmp_path)
