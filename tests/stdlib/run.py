"""The standard library's own tests, plain and recorded: `python tests/stdlib/run.py [--list] [SUITE ...]`.

Each suite runs in two processes: plain, and under `atomsan record` with both the tested modules and the tests
instrumented. The same tests must run, be skipped and fail. Needs nothing but the interpreter it runs on.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import atomsan

SUITE = Path(__file__).with_name("suite.py")
TIMEOUT = 900


class Suite(NamedTuple):
    """A test module, and the modules that it tests: all are recorded."""

    test: str
    modules: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.test.removeprefix("test.")


def suite(test: str, *modules: str) -> Suite:
    return Suite(f"test.{test}", modules)


ASYNCIO = "test_asyncio.test_"

# Tests that fail when recorded because they look at what a recording cannot hide, and why.
KNOWN = {
    "test_type_lookup_mro_reference": "a key in the dict of a class changes the class when compared: we look twice",
    "test_getcoroutinelocals": "variables that closures share have a companion, and `f_locals` shows it",
    "test_getframeinfo_get_first_line": "the frame of a function that an exception left has no line",
    "test_signature_bind_implicit_arg": "it takes constants of a code object by their number",
}

# Fast suites of different kinds: part of `make test`.
FAST = ("test_ordered_dict", "test_contextlib", "test_heapq", "test_weakset", ASYNCIO + "locks", "test_sched")

SUITES = (
    suite("test_abc", "_py_abc"),
    suite("test_argparse", "argparse"),
    suite("test_ast", "ast"),
    suite("test_base64", "base64"),
    suite("test_bdb", "bdb"),
    suite("test_bisect", "bisect"),
    suite("test_calendar", "calendar"),
    suite("test_cmd", "cmd"),
    suite("test_codeop", "codeop"),
    suite("test_collections", "collections"),
    suite("test_colorsys", "colorsys"),
    suite("test_compileall", "compileall"),
    suite("test_concurrent_futures", "concurrent"),
    suite("test_configparser", "configparser"),
    suite("test_contextlib", "contextlib"),
    suite("test_contextlib_async", "contextlib"),
    suite("test_copy", "copy"),
    suite("test_coroutines"),
    suite("test_csv", "csv"),
    suite("test_dataclasses", "dataclasses"),
    suite("test_decimal", "_pydecimal"),
    suite("test_deque"),
    suite("test_descr"),
    suite("test_dict"),
    suite("test_difflib", "difflib"),
    suite("test_dynamicclassattribute"),
    suite("test_enum", "enum"),
    suite("test_filecmp", "filecmp"),
    suite("test_fnmatch", "fnmatch"),
    suite("test_fractions", "fractions"),
    suite("test_functools", "functools"),
    suite("test_generators"),
    suite("test_getopt", "getopt"),
    suite("test_glob", "glob"),
    suite("test_graphlib", "graphlib"),
    suite("test_grammar"),
    suite("test_hashlib", "hashlib"),
    suite("test_heapq", "heapq"),
    suite("test_html", "html"),
    suite("test_inspect", "inspect"),
    suite("test_io", "_pyio"),
    suite("test_ipaddress", "ipaddress"),
    suite("test_iter"),
    suite("test_json", "json"),
    suite("test_keywordonlyarg"),
    suite("test_list"),
    suite("test_logging", "logging"),
    suite("test_netrc", "netrc"),
    suite("test_numeric_tower", "numbers"),
    suite("test_operator", "operator"),
    suite("test_optparse", "optparse"),
    suite("test_ordered_dict", "collections"),
    suite("test_patma"),
    suite("test_pathlib", "pathlib"),
    suite("test_pickle", "pickle"),
    suite("test_pkgutil", "pkgutil"),
    suite("test_plistlib", "plistlib"),
    suite("test_pprint", "pprint"),
    suite("test_property"),
    suite("test_queue", "queue"),
    suite("test_random", "random"),
    suite("test_re", "re"),
    suite("test_reprlib", "reprlib"),
    suite("test_sched", "sched"),
    suite("test_scope"),
    suite("test_selectors", "selectors"),
    suite("test_set"),
    suite("test_shelve", "shelve"),
    suite("test_shlex", "shlex"),
    suite("test_slice"),
    suite("test_smtplib", "smtplib"),
    suite("test_statistics", "statistics"),
    suite("test_string", "string"),
    suite("test_super"),
    suite("test_tempfile", "tempfile"),
    suite("test_textwrap", "textwrap"),
    suite("test_threadedtempfile", "tempfile"),
    suite("test_threading", "threading"),
    suite("test_threading_local", "_threading_local"),
    suite("test_timeit", "timeit"),
    suite("test_tokenize", "tokenize"),
    suite("test_traceback", "traceback"),
    suite("test_types", "types"),
    suite("test_typing", "typing"),
    suite("test_unpack_ex"),
    suite("test_urlparse", "urllib"),
    suite("test_userdict", "collections"),
    suite("test_weakref", "weakref"),
    suite("test_weakset", "_weakrefset"),
    suite("test_with"),
    suite("test_xmlrpc", "xmlrpc"),
    suite("test_zipfile", "zipfile"),
    suite(ASYNCIO + "base_events", "asyncio"),
    suite(ASYNCIO + "futures", "asyncio"),
    suite(ASYNCIO + "locks", "asyncio"),
    suite(ASYNCIO + "queues", "asyncio"),
    suite(ASYNCIO + "runners", "asyncio"),
    suite(ASYNCIO + "streams", "asyncio"),
    suite(ASYNCIO + "taskgroups", "asyncio"),
    suite(ASYNCIO + "tasks", "asyncio"),
    suite(ASYNCIO + "threads", "asyncio"),
    suite(ASYNCIO + "timeouts", "asyncio"),
    suite(ASYNCIO + "unix_events", "asyncio"),
    suite(ASYNCIO + "waitfor", "asyncio"),
)


class Outcome(NamedTuple):
    """The result of one run of a suite."""

    counts: dict[str, int]
    failed: dict[str, str]
    files: dict[str, str]
    seconds: float = 0.0
    """The time of the tests, without start-up and imports."""
    events: int = 0
    recorded_files: frozenset[str] = frozenset()
    """The files with recorded events."""

    def __str__(self) -> str:
        return ", ".join(f"{count} {what}" for what, count in self.counts.items() if count) or "nothing run"


class Comparison(NamedTuple):
    suite: Suite
    plain: Outcome
    recorded: Outcome

    @property
    def unrecorded(self) -> list[str]:
        """The modules that should have been recorded and were not: then the comparison proves nothing."""
        files, recorded = self.plain.files, self.recorded.recorded_files
        return [name for name, path in files.items() if not any(file.startswith(path) for file in recorded)]

    @property
    def new(self) -> list[str]:
        """The tests that failed in only one of the two runs."""
        return sorted(self.plain.failed.keys() ^ self.recorded.failed.keys())

    @property
    def known(self) -> list[str]:
        return [test for test in self.new if test.partition(" ")[0] in KNOWN]

    @property
    def is_same(self) -> bool:
        plain, recorded = (
            {what: count for what, count in outcome.counts.items() if what not in ("failures", "errors")}
            for outcome in (self.plain, self.recorded)
        )
        return plain == recorded and not self.unrecorded and self.new == self.known and "no result" not in plain

    def differences(self) -> str:
        lines = [f"nothing recorded in {name}" for name in self.unrecorded]
        for outcome, where in ((self.plain, "plain"), (self.recorded, "recorded")):
            lines += [f"{test}, {where}:\n{outcome.failed[test]}" for test in self.new if test in outcome.failed]
        return "\n".join(lines)


def available_suites() -> list[Suite]:
    """The suites that this version of Python has."""
    return [suite for suite in SUITES if importlib.util.find_spec(suite.test) is not None]


def compare(suite: Suite) -> Comparison:
    with tempfile.TemporaryDirectory() as directory:
        plain = _run(suite, Path(directory), [])
        recorder = ["-m", "atomsan", "record", "--quiet", "--output", "run.atomtrace"]
        for module in [*suite.modules, suite.test]:
            recorder += ["--include", module]
        recorded = _run(suite, Path(directory), recorder)
        if (Path(directory) / "run.atomtrace").exists():
            recorded = recorded._replace(**_trace_facts(Path(directory) / "run.atomtrace"))
    return Comparison(suite, plain, recorded)


def _trace_facts(trace: Path) -> dict[str, Any]:
    with open(trace / "meta.json", encoding="utf-8") as file:
        events = json.load(file)["events"]
    sites = atomsan.open_trace(trace).symbols.sites
    return {"events": events, "recorded_files": frozenset(name.rsplit(":", 2)[0] for name in sites)}


def _run(suite: Suite, directory: Path, recorder: list[str]) -> Outcome:
    result = directory / "result.json"
    result.unlink(missing_ok=True)
    # so that a suite whose tests are ordered by hash has the same order in both runs
    done = subprocess.run(
        [sys.executable, *recorder, str(SUITE), str(result), suite.test, *suite.modules],
        cwd=directory,
        env=os.environ | {"PYTHONHASHSEED": "0", "ATOMSAN_CACHE": str(directory / "cache")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=TIMEOUT,
        check=False,
    )
    try:
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    except OSError:
        why = {"the suite itself": f"exit code {done.returncode}\n{done.stdout[-3000:]}"}
        return Outcome({"no result": 1}, why, {})
    return Outcome(found["counts"], found["failed"], found["files"], found["seconds"])


def main() -> int:
    # a background job of a shell ignores SIGINT, and tests that interrupt themselves would hang
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="only these, for example test_queue")
    parser.add_argument("--list", action="store_true", help="show which there are, and stop")
    parser.add_argument("--jobs", type=int, default=1, help="how many to run at a time (default: 1)")
    options = parser.parse_args()
    wanted = [suite for suite in available_suites() if not options.suites or suite.name in options.suites]
    if options.list:
        print(*(f"{suite.name:32}{' '.join(suite.modules)}" for suite in wanted), sep="\n")
        return 0
    different = []
    print(f"{'suite':30}{'':6}{'events':>12} {'slower':>7}  tests")
    with ThreadPoolExecutor(options.jobs) as pool:
        for comparison in pool.map(compare, wanted):
            show(comparison)
            if not comparison.is_same:
                different.append(comparison)
    for comparison in different:
        print(f"\n{comparison.suite.name}: {comparison.differences()}")
    print(f"{len(wanted)} suites, {len(different)} different")
    return bool(different)


def show(comparison: Comparison) -> None:
    _, plain, recorded = comparison
    verdict = "same" if comparison.is_same else "DIFF"
    slower = f"{recorded.seconds / plain.seconds:.1f}x" if plain.seconds else ""
    row = f"{comparison.suite.name:30}{verdict:6}{recorded.events:12,} {slower:>7}  "
    known = f" (recorded, for known reasons: {len(comparison.known)} failed)" if comparison.known else ""
    print(row + str(plain) + known, flush=True)
    if not comparison.is_same:
        print(f"{'recorded:':>{len(row) - 2}}  {recorded}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
