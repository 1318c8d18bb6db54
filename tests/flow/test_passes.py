"""Plans: selection and order of passes, and their results after an interrupt."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pytest

from atomsan.flow import check, sets
from atomsan.flow.passes import Pass, execute
from atomsan.trace.monitor import INTERRUPTED, Monitor


@dataclass
class State:
    first: str = ""
    second: str = ""
    third: str = ""

    def has_first(self) -> bool:
        return bool(self.first)

    def has_second(self) -> bool:
        return bool(self.second)


FIRST: Pass[State] = Pass("first", lambda state: "1")
THIRD: Pass[State] = Pass("third", lambda state: state.first + state.second + "3")


def test_passes_run_in_order_and_store_their_results() -> None:
    state = State()
    plan = [FIRST, Pass("second", lambda state: state.first + "2", needs=(State.has_first,)), THIRD]
    assert execute(plan, state, Monitor()) == ["first", "second", "third"]
    assert state == State("1", "12", "1123")


def test_pass_with_unmet_needs_is_skipped() -> None:
    state = State()
    plan = [Pass("first", lambda state: "1", needs=(State.has_second,)), THIRD]
    assert execute(plan, state, Monitor()) == ["third"]
    assert state == State(third="3")


def test_no_pass_starts_after_a_stopped_one() -> None:
    monitor = Monitor()

    def stopped(state: State) -> str:
        monitor.stopped = INTERRUPTED
        return "as far as it came"

    state = State()
    assert execute([Pass("first", stopped), THIRD], state, monitor) == ["first"]
    assert state == State(first="as far as it came")


def test_interrupt_in_a_pass_ends_the_plan() -> None:
    def interrupted(state: State) -> str:
        raise KeyboardInterrupt

    monitor, state = Monitor(), State()
    assert execute([FIRST, Pass("second", interrupted), THIRD], state, monitor) == ["first"]
    assert (monitor.stopped, state) == (INTERRUPTED, State(first="1"))


def test_other_exceptions_propagate() -> None:
    def fails(state: State) -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        execute([Pass("first", fails)], State(), Monitor())


@pytest.mark.parametrize(("plan", "state"), [(check.PLAN, check._Check), (sets.PLAN, sets._Sets)])
def test_every_pass_of_a_verb_fills_an_attribute_of_its_state(plan: list[Pass[object]], state: type) -> None:
    given = [one.gives for one in plan]
    assert len(given) == len(set(given))
    assert set(given) <= {field.name for field in fields(state)}
    for one in plan:
        assert all(getattr(state, need.__name__) is need for need in one.needs)
