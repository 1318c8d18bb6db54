"""Runs one suite of the standard library's own tests: the program that `run.py` runs plain and recorded.

    python tests/stdlib/suite.py RESULT TEST_MODULE [MODULE ...]

A module is instrumented when it is imported. Modules that Python or the recorder has imported before are therefore
removed from `sys.modules` first and imported again, in both runs. MODULE: one that would be kept, but is under test.
"""

import json
import os
import sys
import sysconfig

# Modules that an interpreter cannot import twice, or that belong to the recorder.
KEPT = ("__main__", "atomsan", "abc", "_collections_abc", "builtins", "codecs", "copyreg", "encodings", "genericpath")
KEPT += ("importlib", "io", "os", "posixpath", "site", "stat", "sys", "threading", "types", "warnings", "zipimport")
KEPT += ("_frozen_importlib", "_frozen_importlib_external")


def instrument(names: tuple[str, ...]) -> None:
    """Instrument and cache these modules now: the instrumentation itself imports some of them."""
    for name in list(sys.modules):
        if any(name == wanted or name.startswith(wanted + ".") for wanted in names):
            parent = sys.modules.get(name.rpartition(".")[0])
            found = (finder.find_spec(name, getattr(parent, "__path__", None)) for finder in sys.meta_path)
            spec = next(filter(None, found))
            spec.loader.get_code(name)


def forget_imported_modules(also: tuple[str, ...]) -> None:
    library = os.path.realpath(sysconfig.get_path("stdlib"))
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        is_source = file.endswith(".py") and os.path.realpath(file).startswith(library)
        if is_source and (name in also or name.partition(".")[0] not in KEPT):
            del sys.modules[name]


def patch_again() -> None:
    """Patch the newly imported `threading`: the recorder has patched the one imported first."""
    primitives = sys.modules.get("atomsan.recorder.python.primitives")
    if primitives is not None and primitives.threading is not sys.modules.get("threading"):
        primitives.uninstall()
        import threading

        primitives.threading = threading
        primitives.install()


def main(result_file: str, name: str, *fresh: str) -> None:
    if "atomsan" in sys.modules:
        instrument(fresh)
    forget_imported_modules(fresh)
    patch_again()
    import tempfile
    import time
    import unittest

    from test import support

    support.use_resources = []
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        suite = unittest.defaultTestLoader.loadTestsFromName(name)
        started = time.perf_counter()
        result = unittest.TextTestRunner(verbosity=2).run(suite)
        seconds = time.perf_counter() - started
        os.chdir("/")
    failed = {str(test): text for test, text in [*result.failures, *result.errors]}
    counts = {
        "run": result.testsRun,
        "failures": len(result.failures),
        "errors": len(result.errors),
        "skipped": len(result.skipped),
        "expected failures": len(result.expectedFailures),
        "unexpected successes": len(result.unexpectedSuccesses),
    }
    facts = {"counts": counts, "failed": failed, "files": _files(name, *fresh), "seconds": seconds}
    with open(result_file, "w", encoding="utf-8") as file:
        json.dump(facts, file)


def _files(*names: str) -> dict[str, str]:
    """The file of each module, or the directory of a package."""
    import importlib.util

    found = {}
    for name in names:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        found[name] = os.path.dirname(spec.origin) if spec.submodule_search_locations else spec.origin
    return found


if __name__ == "__main__":
    arguments = sys.argv[1:]
    del sys.argv[1:]
    main(*arguments)
