"""Runs the instrumenter on the whole standard library; the tests use a sample of it.

    python tests/source/library.py compile [EVERY]     every module (or each EVERY-th): instrumented, compiled, bound
    python tests/source/library.py suites NAME...      test modules, plain and instrumented: the same counts

Needs no more than the interpreter it runs on. Test modules that look at bytecode, at the frames of tracebacks or at
tracers (test_dis, test_compile, test_traceback, test_sys_settrace, test_exceptions) see the stand-ins.
"""

import importlib.util
import io
import os
import subprocess
import sys
import sysconfig
import time
import unittest
import warnings
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "src"), str(HERE.parent)]

from standins import StandIn, prepared  # noqa: E402

from atomsan.source.instrument import bind, compile_instrumented  # noqa: E402


def compile_all(every: int) -> int:
    lines = failed = 0
    seconds = 0.0
    files = [path for path in Path(sysconfig.get_path("stdlib")).rglob("*.py") if "site-packages" not in path.parts]
    for path in sorted(files)[::every]:
        source = path.read_bytes()
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            try:
                compile(source, str(path), "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            code, plan = compile_instrumented(source, module="m", file=str(path))
            seconds += time.perf_counter() - start
        lines += source.count(b"\n")
        rows = plan.probes
        bind(code, lambda number, rows=rows: StandIn(rows[number]))
        if not plan.functions or [str(one.message) for one in caught] != [str(one.message) for one in expected]:
            failed += 1
            print(f"{path}: {'left alone' if not plan.functions else 'other warnings'}")
    print(f"{lines} lines, {failed} modules failed, {seconds / lines * 2000:.3f} s for 2000 lines")
    return failed


def run_suite(name: str, kind: str) -> None:
    """Runs one test module, and prints its counts."""
    spec = importlib.util.find_spec(f"test.{name}")
    if spec is None or spec.origin is None:
        print("not there")
        return
    source = Path(spec.origin).read_bytes()
    code = compile(source, spec.origin, "exec", dont_inherit=True)
    if kind == "instrumented":
        code, _ = prepared(source, module=spec.name, file=spec.origin)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    exec(code, module.__dict__)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestLoader().loadTestsFromModule(module))
    failed = sorted(test.id().rpartition(".")[2] for test, _ in [*result.failures, *result.errors])
    print(result.testsRun, "run,", len(result.skipped), "skipped, failed:", *failed)


def suites(names: list[str]) -> int:
    different = 0
    for name in names:
        counts = []
        for kind in ("plain", "instrumented"):
            command = [sys.executable, str(HERE), "suite", name, kind]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
            counts.append(done.stdout.strip().rpartition("\n")[2] or done.stderr[-300:])
        different += counts[0] != counts[1]
        print(name, "same:" if counts[0] == counts[1] else "DIFFERENT:", counts[0])
        if counts[0] != counts[1]:
            print(" " * len(name), "           ", counts[1])
    return different


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "compile":
        sys.exit(bool(compile_all(int(arguments[0]) if arguments else 1)))
    elif what == "suite":
        del sys.argv[1:]
        run_suite(*arguments)
        sys.stdout.flush()
        os._exit(0)
    else:
        sys.exit(bool(suites(arguments)))
