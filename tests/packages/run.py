"""The test suites of packages from PyPI, plain and recorded: `python tests/packages/run.py [PACKAGE ...]`.

Each package is downloaded as its source distribution, which contains its tests, and installed under build/packages with
what the tests need. The tests run with pytest, once plain and once with `--atomsan` on the package and its tests. Every
test must have the same outcome; findings are listed and are no difference. FINDINGS.md has what they are. Needs the
network, and pytest and atomsan in the interpreter it runs on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "packages"
TIMEOUT = 600

# The name of the outcome if pytest itself crashed.
ALL = "all tests"


class Package(NamedTuple):
    """A package, its tests (paths in its source distribution), and what they need."""

    name: str
    version: str
    modules: tuple[str, ...]
    tests: tuple[str, ...] = ("tests",)
    needs: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    """Pytest plugins to load; no others are loaded."""
    options: tuple[str, ...] = ()

    @property
    def directory(self) -> Path:
        return BUILD / f"{self.name}-{self.version}"


# options leave out tests that are flaky without AtomSan: benchmarks, and tests of time and of load
PACKAGES = (
    Package(
        "aiocache",
        "0.12.3",
        ("aiocache",),
        tests=("tests/ut",),
        needs=("pytest-asyncio", "pytest-mock", "marshmallow", "msgpack", "redis<5", "aiomcache"),
        plugins=("asyncio", "pytest_mock"),
    ),
    Package(
        "async-lru",
        "2.4.0",
        ("async_lru",),
        needs=("pytest-asyncio", "pytest-timeout"),
        plugins=("asyncio", "timeout"),
    ),
    Package("attrs", "26.1.0", ("attr", "attrs"), needs=("cloudpickle", "hypothesis"), plugins=("hypothesispytest",)),
    Package("blinker", "1.9.0", ("blinker",), needs=("pytest-asyncio",), plugins=("asyncio",)),
    Package("boltons", "26.2.0", ("boltons",)),
    Package("cacheout", "0.17.0", ("cacheout",), needs=("pytest-asyncio",), plugins=("asyncio",)),
    Package("cachetools", "8.0.0", ("cachetools",)),
    Package(
        "diskcache",
        "5.6.3",
        ("diskcache",),
        options=("--ignore=tests/test_djangocache.py", "--ignore=tests/test_doctest.py"),
    ),
    Package(
        "fasteners",
        "0.20",
        ("fasteners",),
        needs=("diskcache", "more-itertools"),
        options=("--ignore=tests/test_eventlet.py",),
    ),
    Package(
        "janus",
        "2.0.0",
        ("janus",),
        needs=("pytest-asyncio",),
        plugins=("asyncio",),
        options=("--ignore=tests/test_benchmarks.py",),
    ),
    Package(
        "more-itertools",
        "11.2.1",
        ("more_itertools",),
        # it counts the bytes that are allocated, those of the recorder too
        options=("-k", "not test_repeated_zero_cache_peek_has_bounded_memory"),
    ),
    Package(
        "pebble",
        "5.2.3",
        ("pebble",),
        tests=(
            "test/test_asynchronous_thread.py",
            "test/test_concurrent_thread.py",
            "test/test_pebble.py",
            "test/test_thread_pool.py",
        ),
    ),
    Package(
        "persist-queue",
        "1.1.0",
        ("persistqueue",),
        tests=("persistqueue/tests",),
        needs=("aiofiles", "aiosqlite", "cbor2", "msgpack", "pytest-asyncio"),
        plugins=("asyncio",),
        # it needs a server
        options=("--ignore=persistqueue/tests/test_mysqlqueue.py",),
    ),
    Package("pydispatcher", "2.0.7", ("pydispatch",)),
    Package(
        "pymemcache",
        "4.0.0",
        ("pymemcache",),
        tests=("pymemcache/test",),
        needs=("faker", "pytest-mock", "zstd"),
        plugins=("pytest_mock",),
        options=("-m", "unit"),
    ),
    Package(
        "tenacity",
        "9.2.1",
        ("tenacity",),
        needs=("pytest-asyncio", "tornado", "typeguard", "trio"),
        plugins=("asyncio",),
    ),
    Package("tinydb", "4.9.0", ("tinydb",), needs=("pyyaml",)),
    Package("toolz", "1.2.0", ("toolz", "tlz"), tests=("toolz", "tlz")),
    Package("watchdog", "7.1.0", ("watchdog",), needs=("flaky", "pytest-timeout", "pyyaml"), plugins=("timeout",)),
    Package("waitress", "3.0.2", ("waitress",)),
    Package(
        "zict",
        "3.0.0",
        ("zict",),
        tests=("zict/tests",),
        needs=("pytest-asyncio", "pytest-timeout", "psutil"),
        plugins=("asyncio", "timeout"),
    ),
)


class Outcome(NamedTuple):
    """The result of one run of a package's tests: for each test its outcome and the text of its report."""

    ended: dict[str, tuple[str, str]]
    seconds: float
    events: str = ""

    @property
    def without_findings(self) -> dict[str, str]:
        return {test: "passed" if how == "found" else how for test, (how, _) in self.ended.items()}

    def __str__(self) -> str:
        return ", ".join(f"{count} {how}" for how, count in sorted(Counter(self.without_findings.values()).items()))


class Comparison(NamedTuple):
    package: Package
    plain: Outcome
    recorded: Outcome

    @property
    def different(self) -> list[str]:
        plain, recorded = self.plain.without_findings, self.recorded.without_findings
        crashed = [ALL] if ALL in plain else []
        return crashed + [test for test in {**plain, **recorded} if plain.get(test) != recorded.get(test)]

    @property
    def found(self) -> dict[str, str]:
        return {test: text for test, (how, text) in self.recorded.ended.items() if how == "found"}


def prepare(package: Package) -> Path:
    """Download and install the package, if not done yet; returns the directory of its sources."""
    directory = package.directory
    if not (directory / "installed").exists():
        directory.mkdir(parents=True, exist_ok=True)
        with tarfile.open(_download(package)) as archive:
            archive.extractall(directory / "source", filter="data")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        source = _source(package)
        subprocess.run(
            [*pip, "--upgrade", "--target", directory / "site", source, *package.needs],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        # an empty configuration, so that pytest does not find that of this repository
        (directory / "pytest.ini").write_text("[pytest]\n")
        (directory / "installed").touch()
    return _source(package)


def _source(package: Package) -> Path:
    (directory,) = (package.directory / "source").iterdir()
    return directory


def _download(package: Package) -> Path:
    index = f"https://pypi.org/simple/{package.name}/"
    with urllib.request.urlopen(index) as answer:
        page = answer.read().decode()
    file = rf"{package.name.replace('-', '[-_.]')}-{re.escape(package.version)}\.tar\.gz"
    found = re.search(rf'href="([^"]*/{file})[#"]', page, re.IGNORECASE)
    if found is None:
        raise LookupError(f"{index} has no source distribution of {package.version}")
    path = package.directory / "sdist.tar.gz"
    urllib.request.urlretrieve(urllib.parse.urljoin(index, found[1]), path)
    return path


def compare(package: Package, *, noise: bool = False) -> Comparison:
    source = prepare(package)
    recorder = ["--atomsan", f"--atomsan-report={package.directory / 'report.json'}"]
    recorder += ["--atomsan-noise"] if noise else []
    recorder += [f"--atomsan-include={module}" for module in (*package.modules, str(source))]
    return Comparison(package, _run(package, source, []), _run(package, source, recorder))


def _run(package: Package, source: Path, recorder: list[str]) -> Outcome:
    result = package.directory / "outcomes.json"
    result.unlink(missing_ok=True)
    paths = [str(package.directory / "site"), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OUTCOMES": str(result), "PYTHONHASHSEED": "0"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        "-W",
        "ignore::pytest.PytestDeprecationWarning",
    ]
    for plugin in ("atomsan", "outcomes", *package.plugins):
        command += ["-p", plugin]
    started = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *recorder, *package.options, *package.tests],
            cwd=source,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        said = (expired.stdout or b"").decode(errors="replace") if isinstance(expired.stdout, bytes) else ""
        return Outcome({ALL: (f"took longer than {TIMEOUT} s", said[-3000:])}, TIMEOUT)
    seconds = time.monotonic() - started
    (package.directory / ("recorded.txt" if recorder else "plain.txt")).write_text(done.stdout, encoding="utf-8")
    if not result.exists():
        return Outcome({ALL: (f"crashed with exit code {done.returncode}", done.stdout[-3000:])}, seconds)
    events = re.search(r"tests recorded, ([\d,]+) events", done.stdout)
    return Outcome(json.loads(result.read_text(encoding="utf-8")), seconds, events[1] if events else "")


def main() -> int:
    # a background job of a shell ignores SIGINT, and tests that interrupt themselves would hang
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="only these, for example cachetools")
    parser.add_argument("--noise", action="store_true", help="make threads yield at random, for more interleavings")
    options = parser.parse_args()
    comparisons = []
    print(f"{'package':26}{'':6}{'events':>12} {'plain':>8} {'recorded':>9} {'found':>6}  tests", flush=True)
    for package in PACKAGES:
        if not options.packages or package.name in options.packages:
            comparisons.append(compare(package, noise=options.noise))
            show(comparisons[-1])
    for comparison in comparisons:
        explain(comparison)
    different = sum(bool(comparison.different) for comparison in comparisons)
    print(f"{len(comparisons)} packages, {different} different")
    return bool(different)


def show(comparison: Comparison) -> None:
    package, plain, recorded = comparison
    verdict = "DIFF" if comparison.different else "same"
    row = f"{package.name + ' ' + package.version:26}{verdict:6}{recorded.events:>12} "
    row += f"{plain.seconds:6.1f} s {recorded.seconds:7.1f} s {len(comparison.found):6}  "
    print(row + str(plain), flush=True)
    if comparison.different:
        print(f"{'recorded:':>{len(row) - 2}}  {recorded}", flush=True)


def explain(comparison: Comparison) -> None:
    name = comparison.package.name
    nothing = ("not run", "")
    for test in comparison.different:
        plain, recorded = comparison.plain.ended.get(test, nothing), comparison.recorded.ended.get(test, nothing)
        print(f"\n{name}: {test}: {plain[0]}, recorded {recorded[0]}\n{recorded[1] or plain[1]}")
    for test, text in comparison.found.items():
        print(f"\n{name}: {test}: found\n{text}")


if __name__ == "__main__":
    sys.exit(main())
