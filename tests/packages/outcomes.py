"""A pytest plugin that writes how each test ended: `pytest -p outcomes`, with $OUTCOMES as the file to write.

A test that AtomSan failed, and nobody else, counts as `found`: for the comparison it passed.
"""

import json
import os
from collections.abc import Generator
from typing import Any

import pytest

# How a failure begins that is AtomSan's.
_FOUND = ("atomicity violation: ", "predicted atomicity violation: ")

ended: dict[str, tuple[str, str]] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if report.when == "call" or report.outcome != "passed":
        text = str(report.longrepr or "")
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        if _is_from_atomsan(call):
            outcome = "found"
        ended[f"{item.nodeid} {'' if report.when == 'call' else report.when}".strip()] = (outcome, text)
    return report


def _is_from_atomsan(call: pytest.CallInfo[None]) -> bool:
    raised = call.excinfo.value if call.excinfo is not None else None
    return isinstance(raised, pytest.fail.Exception) and str(raised.msg).startswith(_FOUND)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.outcome != "passed":
        ended[f"{report.nodeid} collection"] = (report.outcome, str(report.longrepr))


def pytest_sessionfinish() -> None:
    with open(os.environ["OUTCOMES"], "w", encoding="utf-8") as file:
        json.dump(ended, file)
