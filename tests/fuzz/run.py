"""Coverage-guided fuzzing of every reader: `python tests/fuzz/run.py [--seconds N] [--format F ...]`.

If clang is installed, the compiled modules are built with AddressSanitizer and coverage, under build/fuzz, so that the
parsers guide the fuzzer and a read out of bounds is a crash. Otherwise only the Python parts guide it. The corpus under
build/fuzz is kept for the next run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "fuzz"
SANITIZED = BUILD / "sanitized"

MEMORY_MB = 1024
HANG_SECONDS = 20
LONGEST_INPUT = 4096


class Result(NamedTuple):
    """The result of fuzzing one format."""

    format: str
    runs: int
    seconds: float
    coverage: int
    crashes: list[Path]


def main() -> int:
    from fuzz.inputs import INPUTS

    formats = [*INPUTS, "config"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=600, help="for all formats together (default 600)")
    parser.add_argument("--format", action="append", choices=formats, help="only this one; can be given again")
    parser.add_argument("--plain", action="store_true", help="do not build with AddressSanitizer, even with clang")
    options = parser.parse_args()
    chosen = options.format or formats
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    if not options.plain and shutil.which("clang"):
        environment = build_sanitized()
    results = [fuzz(format, max(options.seconds // len(chosen), 1), environment) for format in chosen]
    return report(results, is_sanitized="LD_PRELOAD" in environment)


def build_sanitized() -> dict[str, str]:
    """Build the package for the fuzzer; returns the environment in which it is used."""
    import atheris

    print("building with AddressSanitizer ...", flush=True)
    ignored = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", SANITIZED / "src", ignore=ignored, dirs_exist_ok=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, SANITIZED)
    flags = "-fsanitize=address,fuzzer-no-link -g"
    compiler = {"CC": "clang", "LDSHARED": "clang -shared", "CFLAGS": flags, "LDFLAGS": flags}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=SANITIZED, env=os.environ | compiler, stdout=subprocess.DEVNULL, check=True)
    return os.environ | {
        "PYTHONPATH": str(SANITIZED / "src"),
        "PYTHONMALLOC": "malloc",
        "LD_PRELOAD": str(Path(atheris.path()) / "asan_with_fuzzer.so"),
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=32:allocator_may_return_null=1",
    }


def fuzz(format: str, seconds: int, environment: dict[str, str]) -> Result:
    """Fuzz one format in a process of its own."""
    directory = BUILD / format
    crashes = directory / "crashes"
    for path in (directory / "corpus", crashes):
        path.mkdir(parents=True, exist_ok=True)
    before = set(crashes.iterdir())
    command = [
        *(sys.executable, str(Path(__file__).with_name("target.py")), format),
        *(f"-max_total_time={seconds}", f"-max_len={LONGEST_INPUT}", f"-timeout={HANG_SECONDS}"),
        *(f"-rss_limit_mb={MEMORY_MB}", f"-artifact_prefix={crashes}/", "-print_final_stats=1"),
        *dictionary_option(format),
        *(str(directory / "corpus"), str(seed_files(format))),
    ]
    print(f"{format}: {seconds} s ...", flush=True)
    start = time.monotonic()
    log = directory / "log"
    memory = Path("/dev/shm")
    scratch = tempfile.TemporaryDirectory(prefix="atomsan-fuzz-", dir=memory if memory.is_dir() else None)
    with log.open("wb") as output, scratch as temporary:
        own = environment | {"TMPDIR": temporary}
        status = subprocess.run(command, env=own, stdout=output, stderr=subprocess.STDOUT, check=False)
    text = log.read_text(errors="replace")
    new = sorted(set(crashes.iterdir()) - before)
    if status.returncode and not new:
        new = [log]  # it crashed without leaving an input: report the log
    runs, coverage = (re.findall(word, text) for word in (r"number_of_executed_units: (\d+)", r"cov: (\d+)"))
    return Result(format, int((runs or [0])[-1]), time.monotonic() - start, int((coverage or [0])[-1]), new)


def seed_files(format: str) -> Path:
    from fuzz.inputs import seeds

    directory = BUILD / format / "seeds"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for number, content in enumerate(seeds(format)):
        (directory / f"{number:03}").write_bytes(content)
    return directory


def dictionary_option(format: str) -> list[str]:
    from fuzz.inputs import dictionary

    words = ["".join(f"\\x{byte:02x}" for byte in word) for word in dictionary(format)]
    path = BUILD / format / "dictionary"
    path.write_text("".join(f'"{word}"\n' for word in words))
    return [f"-dict={path}"] if words else []


def report(results: list[Result], *, is_sanitized: bool) -> int:
    """Print the results; returns the exit code."""
    print(f"\n{'format':12}{'runs':>10}{'seconds':>9}{'coverage':>10}  result")
    for result in results:
        verdict = "CRASH" if result.crashes else "fine"
        print(f"{result.format:12}{result.runs:10}{result.seconds:9.0f}{result.coverage:10}  {verdict}")
    if not is_sanitized:
        print("(the compiled modules were not instrumented)")
    for result in results:
        for path in result.crashes:
            shown = path.relative_to(ROOT)
            print(f"\n{shown}  (details at the end of {(BUILD / result.format / 'log').relative_to(ROOT)})")
            print(f"  again: {Path(sys.executable).name} tests/fuzz/target.py {result.format} {shown}")
    return 1 if any(result.crashes for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
