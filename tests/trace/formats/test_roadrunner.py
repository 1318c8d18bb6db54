"""Parsing RoadRunner's text: the meaning of lines, skipped lines, refused lines."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomsan.trace._roadrunner import RoadRunnerParser
from atomsan.trace.events import Event, Op
from atomsan.trace.formats.roadrunner import describe_locations, location_parts
from atomsan.trace.symbols import Symbols
from parsing import feed, mutated


def read(*lines: str) -> list[Event]:
    events, _, error = feed(RoadRunnerParser, "".join(f"{line}\n" for line in lines).encode())
    assert error is None
    return events


def short(*lines: str) -> str:
    """The events of lines, given without their @, as `0:acq(@03) ...`."""
    return " ".join(f"{e.thread}:{e.op.short}({e.target})" for e in read(*(f"@   {line}" for line in lines)))


def test_output_of_rapids_tool() -> None:
    assert read(
        "[main: RoadRunner Agent Loaded.]",
        "[main: ]",
        "@  main[tid = 0] started .",
        "@  Enter(0,test/Test.main([Ljava/lang/String;)V) from null",
        "@  Thread-0[tid = 1] started by main[tid = 0].",
        "@   Start(0,1)",
        "Hello from the program",
        "@  Enter(1,test/Test$1.run()V) from call_java/lang/Thread.start()V@test/Test.java:9:3",
        "@   Acquire(1,@03)",
        "@   Rd(1,@05.test/Deadlock.value_I)  Final  Deadlock.java:50:7",
        "@   AWr(1,@0A[3])  [a b]  Deadlock.java:51",
        "@   VWr(1,null.test/Deadlock.flag_Z)  null",
        "@   Release(1,@03)",
        "@  Exit(1,test/Test$1.run()V)",
        "@   Join(0,1)",
        "@  Exit(0,test/Test.main([Ljava/lang/String;)V)",
    ) == [
        Event("0", Op.BEGIN, "test/Test.main([Ljava/lang/String;)V"),
        Event("0", Op.FORK, "1"),
        Event("1", Op.BEGIN, "test/Test$1.run()V"),
        Event("1", Op.ACQUIRE, "@03"),
        Event("1", Op.READ, "@05.test/Deadlock.value_I", "Deadlock.java:50:7"),
        Event("1", Op.WRITE, "@0A[3]", "Deadlock.java:51"),
        Event("1", Op.WRITE, "null.test/Deadlock.flag_Z"),
        Event("1", Op.RELEASE, "@03"),
        Event("1", Op.END, "test/Test$1.run()V"),
        Event("0", Op.JOIN, "1"),
        Event("0", Op.END, "test/Test.main([Ljava/lang/String;)V"),
    ]


@pytest.mark.parametrize("word", ["Rd", "ARd", "Wr", "AWr"])
@pytest.mark.parametrize(
    ("rest", "site"),
    [
        ("  Final  Deadlock.java:50:7", "Deadlock.java:50:7"),
        ("  shadow state of 3 words  X.java:1 \r", "X.java:1"),
        ("[1 -> 2]  null  X.java:1", "X.java:1"),
        ('[@05("a ] b") -> 2]  null  X.java:1', "X.java:1"),
        ("[1]  null  X.java:1", "X.java:1"),
        ('["broken by a newline in the value', None),
        ("  Final  NullLoc", None),
        ("  Final", None),
        ("[1 -> 2]  Final", None),
        ("[1]", None),
        ("", None),
        ("  \r", None),
    ],
)
def test_site_of_an_access(word: str, rest: str, site: str | None) -> None:
    (event,) = read(f"@    {word}(2,@05.C.x_I){rest}")
    assert (event.target, event.site) == ("@05.C.x_I", site)


@pytest.mark.parametrize("state", ["", "  null", "  [two words]", "  ends in X.java:1"])
def test_volatile_access_has_no_site(state: str) -> None:
    assert read(f"@ VRd(2,@05.C.x_I){state}") == [Event("2", Op.READ, "@05.C.x_I")]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "@",
        "@ ",
        "@Rd(0,x)",
        " @  Rd(0,x)",
        "Rd(0,x)",
        "!  Rd(0,x)",
        "@  Notify(0,@03,true)",
        "@  Sleep(0)",
        "@  pre  sleep",
        "@  test acquire @03",
        "@   stopped main[tid = 0]",
        "@  Interrupt(0,1)",
        "@  ClassInited(0,test/Test)",
        "@  Rdx(0,x)",
        "@  Read(0,x)",
        "@  Rd 0,x",
    ],
)
def test_other_lines_are_skipped(line: str) -> None:
    assert read(line) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("@  Rd()", "Rd has no thread: @  Rd()"),
        ("@  Rd(0)", "Rd has no thread: @  Rd(0)"),
        ("@  Rd(,x)", "Rd has no thread: @  Rd(,x)"),
        ("@  Rd(a b,x)", "Rd has no thread: @  Rd(a b,x)"),
        ("@  Acquire(0,)", "Acquire has no target: @  Acquire(0,)"),
        ("@  Acquire(0,@03", "Acquire is not closed: @  Acquire(0,@03"),
        ("@  Enter(0,f(I)V", "Enter is not closed: @  Enter(0,f(I)V"),
        ("@  Wait(0,)", "Wait has no target: @  Wait(0,)"),
        ("@  Barrier(0,@03)", "Barrier is neither an Enter nor an Exit: @  Barrier(0,@03)"),
        ("@  Barrier(0,@03,Leave)", "Barrier is neither an Enter nor an Exit: @  Barrier(0,@03,Leave)"),
        ("@  Barrier(0,,Exit)", "Barrier has no target: @  Barrier(0,,Exit)"),
        ("@  Rd(0,\0)", "the line holds a NUL byte"),
    ],
)
def test_refusals(line: str, message: str) -> None:
    outcome = feed(RoadRunnerParser, f"@  Wr(0,x)\n\n{line}\n@  Wr(0,y)\n".encode())
    assert outcome.error == f"line 3: {message}"
    assert outcome.events == read("@  Wr(0,x)")


@pytest.mark.parametrize("name", ["f()V", "a.b((x)(y))", "with, comma and space", "héé𝄞", "x" * 5000])
def test_names(name: str) -> None:
    assert read(f"@  Enter(0,{name}) from null") == [Event("0", Op.BEGIN, name)]


# Start and Join: RAPID's tool prints each once, RoadRunner's own tool twice


def test_second_start_is_skipped() -> None:
    assert short("Start(0,1)", "Enter(1,f)", "Start(0,1)", "Rd(0,x)") == "0:fork(1) 1:begin(f) 0:r(x)"


def test_start_of_another_thread_is_not_skipped() -> None:
    assert short("Start(0,1)", "Start(0,2)", "Start(0,2)", "Start(0,1)") == ("0:fork(1) 0:fork(2) 0:fork(1)")


def test_join_is_delayed_until_it_is_printed_again() -> None:
    assert short("Join(0,1)", "Wr(1,x)", "Join(0,1)", "Rd(0,x)") == "1:w(x) 0:join(1) 0:r(x)"


def test_join_printed_once_comes_before_the_next_event_of_its_thread() -> None:
    assert short("Wr(1,x)", "Join(0,1)", "Wr(2,y)", "Rd(0,x)") == "1:w(x) 2:w(y) 0:join(1) 0:r(x)"


def test_join_comes_before_the_next_join() -> None:
    assert short("Join(0,1)", "Join(0,2)", "Rd(0,x)") == "0:join(1) 0:join(2) 0:r(x)"


def test_joins_at_the_end() -> None:
    assert short("Join(0,1)", "Join(2,3)") == "0:join(1) 2:join(3)"


@pytest.mark.parametrize("room", [1, 2, 3, 64])
def test_place_of_a_delayed_join_is_its_own_line(room: int) -> None:
    text = b"@ Join(0,1)\n@ Wr(2,x)\n@ Rd(0,x)\n@ Join(3,4)\n@ Wr(2,x)\n@ Join(3,4)\n@ Join(5,6)\n\n"
    outcome = feed(RoadRunnerParser, text, room=room)
    assert [f"{e.thread}:{e.op.short}" for e in outcome.events] == [
        "2:w", "0:join", "0:r", "2:w", "3:join", "5:join",
    ]  # fmt: skip
    assert outcome.lines == [2, 1, 3, 5, 6, 7]


# Wait


def test_wait_releases_and_acquires() -> None:
    assert short("Acquire(0,@1)", "Wait(0,@1)", "Acquire(1,@1)", "Release(1,@1)", "Wait(0,@1)") == (
        "0:acq(@1) 0:rel(@1) 1:acq(@1) 1:rel(@1) 0:acq(@1)"
    )


@pytest.mark.parametrize("room", [1, 2, 3, 64])
def test_wait_releases_as_often_as_the_lock_is_held(room: int) -> None:
    text = b"@ Acquire(0,@1)\n" * 3 + b"@ Release(0,@1)\n" + b"@ Wait(0,@1)\n@ Wr(1,x)\n" * 2 + b"@ Release(0,@1)\n" * 2
    outcome = feed(RoadRunnerParser, text, room=room)
    assert [f"{e.thread}:{e.op.short}" for e in outcome.events] == [
        *["0:acq"] * 3, *["0:rel"] * 3, "1:w", *["0:acq"] * 2, "1:w", *["0:rel"] * 2,
    ]  # fmt: skip
    assert outcome.lines == [1, 2, 3, 4, 5, 5, 6, 7, 7, 8, 9, 10]


def test_interrupted_wait_acquires_the_lock_again() -> None:
    assert short("Acquire(0,@1)", "Wait(0,@1)", "Rd(0,x)", "Wait(0,@1)", "Wait(0,@1)") == (
        "0:acq(@1) 0:rel(@1) 0:acq(@1) 0:r(x) 0:rel(@1) 0:acq(@1)"
    )


def test_wait_for_a_lock_not_held_is_ignored() -> None:
    assert short("Wait(0,@1)", "Wait(0,@1)", "Acquire(1,@1)", "Wait(0,@1)", "Rd(0,x)") == "1:acq(@1) 0:r(x)"


def test_waits_for_two_locks() -> None:
    assert short("Acquire(0,@1)", "Acquire(0,@2)", "Wait(0,@1)", "Wait(0,@2)", "Wait(0,@2)") == (
        "0:acq(@1) 0:acq(@2) 0:rel(@1) 0:acq(@1) 0:rel(@2) 0:acq(@2)"
    )


def test_trace_can_end_in_a_wait() -> None:
    assert short("Acquire(0,@1)", "Wait(0,@1)") == "0:acq(@1) 0:rel(@1)"


def test_each_barrier_phase_is_a_handover() -> None:
    steps = ("0,@7,Enter", "1,@7,Enter", "1,@7,Exit", "1,@7,Enter", "0,@7,Exit", "2,@7,Exit")
    assert short(*(f"Barrier({step})" for step in steps)) == (
        "0:post(@7#1) 1:post(@7#1) 1:take(@7#1) 1:post(@7#2) 0:take(@7#1)"
    )


# Parts of names


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("@05.test/Deadlock.value_I", {"object": "@05", "class": "test.Deadlock", "field": "value"}),
        ("null.test/Deadlock.value_I", {"class": "test.Deadlock", "field": "value"}),
        ("@0A[3]", {"object": "@0A", "field": "[3]"}),
        ("@05.C.my_List_Ljava/util/List;", {"object": "@05", "class": "C", "field": "my_List"}),
        ("@05.C.x_La/My_List;", {"object": "@05", "class": "C", "field": "x"}),
        (r"@05.C.grid_\[\[I", {"object": "@05", "class": "C", "field": "grid"}),
        ("@05.C$1.this$0_LC;", {"object": "@05", "class": "C$1", "field": "this$0"}),
        ("x", {}),
        ("@05.C.x", {}),
        ("", {}),
    ],
)
def test_parts_of_a_location_name(name: str, parts: dict[str, str]) -> None:
    assert location_parts(name) == parts


def test_locations_get_the_parts_of_their_names() -> None:
    symbols = Symbols()
    for name in ("x", "@05.a/C.f_I", "@06.a/C.f_I"):
        symbols.locations.intern(name)
    describe_locations(symbols, 0, 2)
    assert [symbols.locations.get(number, "class") for number in range(3)] == [None, "a.C", None]


VALID = b"""[main: RoadRunner Agent Loaded.]
@  Enter(0,test/Test.main([Ljava/lang/String;)V) from null
@   Start(0,1)
@   Start(0,1)
@   Acquire(1,@03)
@   Acquire(1,@03)
@   Wait(1,@03)
@    Rd(2,null.test/Deadlock.value_I)[1]  Final  Deadlock.java:50:7
@   Wait(1,@03)
@   Release(1,@03)
@   VWr(1,@05.C.x_I)  null
@   Join(0,1)
@   Barrier(1,@07,Enter)
@   Barrier(1,@07,Exit)
@   Join(0,1)
@   Wait(0,@03)
@  Exit(0,test/Test.main([Ljava/lang/String;)V)
"""


@given(st.randoms(use_true_random=False))
def test_any_text_is_read_or_refused_in_any_batches(rng: random.Random) -> None:
    text = VALID
    if rng.random() < 0.5:
        lines = VALID.splitlines(keepends=True)
        text = b"".join(rng.choices(lines, k=rng.randrange(40)))
    if rng.random() < 0.7:
        text = mutated(text, rng)
    elif rng.random() < 0.3:
        text = rng.randbytes(rng.randrange(200))
    assert feed(RoadRunnerParser, text, room=rng.randint(1, 8), cuts=rng) == feed(RoadRunnerParser, text)
