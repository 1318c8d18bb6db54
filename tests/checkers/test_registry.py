"""The registry of checkers: each can be made and has the capabilities it declares."""

from __future__ import annotations

import pytest

import atomsan
from atomsan.checkers import algorithms
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.registry import CHECKERS, Capability, Entry, chosen, made
from atomsan.types import RepeatingChecker

# A lost update that occurs twice; and a cycle of two transactions of which neither alone is to blame.
TWICE = "T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f) T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)"
NOBODY = "T:begin(f) U:begin(g) T:r(x) U:r(y) U:w(x) U:end(g) T:w(y) T:end(f)"


@pytest.mark.parametrize("entry", CHECKERS.values(), ids=lambda entry: entry.name)
def test_each_checker_has_the_capabilities_it_declares(entry: Entry) -> None:
    twice, nobody = (run_checkers(atomsan.parse(line), [entry.make()]).results[0] for line in (TWICE, NOBODY))
    assert twice.algorithm == entry.name
    assert entry.can(Capability.VIOLATIONS) == (twice.violations == 2)
    assert entry.can(Capability.WITNESSES) == bool(twice.witnesses)
    assert entry.can(Capability.TWO_PASSES) == isinstance(entry.make(), RepeatingChecker)
    if entry.can(Capability.SERIALIZABILITY) or entry.can(Capability.CYCLES):
        assert twice.serializable is nobody.serializable is False
    if entry.can(Capability.CYCLES):
        assert nobody.witnesses[0].blamed is None
    if entry.can(Capability.LEAN):
        (lean,) = run_checkers(atomsan.parse(NOBODY), [entry.make(serializability=False)]).results
        assert (lean.serializable, nobody.serializable) == (None, False)


def test_first_checker_with_the_capabilities_is_chosen() -> None:
    assert chosen(Capability.SERIALIZABILITY).name == "aerodrome"
    assert chosen(Capability.CYCLES).name == "velodrome"
    assert chosen(Capability.VIOLATIONS).name == "regiontrack"
    assert chosen(Capability.VIOLATIONS, Capability.WITNESSES).name == "davida"


def test_davida_leaves_serializability_to_aerodrome_if_both_run() -> None:
    def decided(*names: str) -> list[bool | None]:
        entries = [CHECKERS[name] for name in names]
        return [result.serializable for result in run_checkers(atomsan.parse(NOBODY), made(entries)).results]

    assert decided("davida") == [False]
    assert decided("davida", "aerodrome") == [None, False]
    assert decided("davida", "velodrome") == [False, False]


def test_repeated_algorithm_names_are_chosen_once() -> None:
    choice = algorithms.choice_of(["davida", "auto", "davida"])
    assert [entry.name for entry in choice.entries] == ["davida", "aerodrome"]
    assert (choice.shown, choice.with_auto) == ("davida, auto", True)
    assert choice.can(Capability.VIOLATIONS, Capability.WITNESSES)
    assert not choice.can(Capability.CYCLES)


def test_unknown_algorithm_is_refused() -> None:
    with pytest.raises(atomsan.InputError, match="unknown algorithm 'frob': it is one of auto, "):
        algorithms.choice_of("frob")
