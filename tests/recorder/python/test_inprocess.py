"""Recording the own process (`InProcess`), in a subprocess."""

import subprocess
import sys
import textwrap
from pathlib import Path


def run(directory: Path, program: str) -> str:
    (directory / "main.py").write_text(textwrap.dedent(program))
    (directory / "watched.py").write_text(
        textwrap.dedent(
            """
            class Box:
                value = 0

            def fill(times):
                box = Box()
                for number in range(times):
                    box.value = number
            """
        )
    )
    command = [sys.executable, "main.py"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60, check=True).stdout


def test_successive_traces(tmp_path: Path) -> None:
    program = """
        from atomsan.recorder.python.inprocess import InProcess
        from atomsan.recorder.python.options import RecordingOptions

        with InProcess(RecordingOptions()) as recorder:
            import watched
            for name in ("first", "second"):
                with recorder.trace(name) as tape:
                    watched.fill(100)
                watched.fill(1000)
                print(tape.meta.source, tape.meta.complete, 100 <= tape.events < 300)
    """
    assert run(tmp_path, program) == "first True True\nsecond True True\n"


def test_program_does_not_wait_for_a_failed_reader(tmp_path: Path) -> None:
    # more than the ring holds, so that the program would wait for room
    program = """
        from atomsan.errors import OutputError
        from atomsan.recorder.python.inprocess import InProcess
        from atomsan.recorder.python.options import RecordingOptions

        def full(batch):
            raise OutputError("the disk is full")

        with InProcess(RecordingOptions()) as recorder:
            import watched
            for name in ("first", "second"):
                try:
                    with recorder.trace(name) as tape:
                        tape.write = full
                        watched.fill(1_500_000)
                        print("went on")
                except OutputError as error:
                    print(error)
    """
    assert run(tmp_path, program) == "went on\nthe disk is full\nthe disk is full\n"


def test_tape_of_a_recording_that_failed_is_closed(tmp_path: Path) -> None:
    program = """
        import os
        from atomsan.errors import OutputError
        from atomsan.recorder.python.inprocess import InProcess
        from atomsan.recorder.python.options import RecordingOptions

        def full(batch):
            raise OutputError("the disk is full")

        with InProcess(RecordingOptions()) as recorder:
            import watched
            try:
                with recorder.trace("first", "t.atomtrace") as tape:
                    tape.write = full
                    watched.fill(100)
            except OutputError:
                links = {os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")[:-1]}
                print([link for link in links if "t.atomtrace" in link])
    """
    assert run(tmp_path, program) == "[]\n"


def test_recording_leaves_nothing_in_the_temporary_directory(tmp_path: Path) -> None:
    """A tape that does not fit into memory is there after the recording, as long as somebody has it."""
    program = """
        import gc, os, sys, tempfile
        import atomsan
        from atomsan.recorder.log.tape import Tape

        Tape.__init__.__kwdefaults__["most_in_memory"] = 100
        os.mkdir("temporary")
        tempfile.tempdir = "temporary"
        tapes = []
        for name in ("first", "second"):
            with atomsan.recording() as tape:
                import watched
                watched.fill(1000)
            print(len(os.listdir("temporary")), atomsan.check(tape).verdict)
            tapes.append(tape)
        del tape, tapes[0]
        gc.collect()
        print(len(os.listdir("temporary")))
    """
    assert run(tmp_path, program) == "1 holds\n2 holds\n1\n"
    assert list((tmp_path / "temporary").iterdir()) == []


# Of one length, so that the places of one would be taken for those of the other.
TWO_MODULES = {
    "first": """
        class First: pass
        one = First()
        def fill(call=None):
            one.x = 1
            one.y = 2
            if call: call()
    """,
    "other": """
        class Other: pass
        one = Other()


        def pour(call=None):
            one.v = 1
            one.w = 2
            if call: call()
    """,
}


def test_what_one_recording_has_loaded_is_watched_by_the_next(tmp_path: Path) -> None:
    """Each has numbers of its own for the places in the modules that it loads."""
    for name, source in TWO_MODULES.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
    program = """
        import atomsan

        with atomsan.recording() as tape:
            import first
            first.fill()
        for omit in ((), ("first",), ()):
            with atomsan.recording(omit=omit) as tape:
                import other
                first.fill(other.pour)
                other.pour(first.fill)
            symbols = tape.symbols
            print(*sorted(symbols.regions[number] for number in range(len(symbols.regions))))
            print(*sorted({symbols.sites.get(number, "file") for number in range(len(symbols.sites))}))
            names = [symbols.locations[number].split()[0] for number in range(len(symbols.locations))]
            print(*sorted(name for name in names if "." in name))
            print(tape.meta.warnings)
    """
    assert run(tmp_path, program).splitlines() == [
        *("first:fill other:pour", "first.py other.py", "First.x First.y Other.v Other.w", "[]"),
        *("other:pour", "other.py", "Other.v Other.w", "[]"),
        # it was not part of the one before
        *("other:pour", "other.py", "Other.v Other.w", "[]"),
    ]


def test_code_that_is_gone_is_defined_no_more(tmp_path: Path) -> None:
    """Or each recording of a process would cost more than the one before."""
    for name, source in TWO_MODULES.items():
        match = "match call:\n                case [1, *_]: pass\n            "
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source.replace("if call:", match + "if call:")))
    program = """
        import atomsan, gc, sys

        with atomsan.recording() as tape:
            import first
            first.fill()
        kept = first.fill if {is_kept} else None
        del first, sys.modules["first"]
        with atomsan.recording() as tape:
            gc.collect()  # between two recordings, the globals of modules are kept
        with atomsan.recording() as tape:
            import other
            other.pour(kept)
        from atomsan.recorder.python import session
        print(*[made.loaded.module for made in session._made])
    """
    for is_kept, modules in ((False, ["other"]), (True, ["first", "other"])):
        assert run(tmp_path, program.format(is_kept=is_kept)).split() == modules
