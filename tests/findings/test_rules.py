"""Rules of judging: what they ask of a long witness."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from atomsan.findings import access_facts
from atomsan.findings.rules import Rules


def test_readers_of_data_are_asked_once_for_all_steps_of_a_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(access_facts, "looks", lambda site, graphs: asked.append(site) or site == 5)
    rules: Any = object.__new__(Rules)
    readers = {7: {(2, 5)}, 8: {(0, 6), (2, 4)}}
    rules._around = SimpleNamespace(symbols=SimpleNamespace(threads=["T", "U", "V"]), readers=readers)
    rules._graphs = None
    known: dict[int, bool] = {}
    answers = [rules._is_looked_at(target, {"T", "U"}, known) for target in (7, 8, 9) * 50]
    assert answers == [True, False, False] * 50
    assert sorted(asked) == [4, 5]
