"""The import hook: selected modules are loaded from rewritten source, without a visible difference."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from atomsan.source.loading import ImportHook, Preparation
from atomsan.source.selection import Selection


class Rewriting:
    """Stands for the recorder: every module gets a name `rewritten`, at its end."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.entered: list[str] = []
        self.fails = False

    def rewrite(self, source: bytes, module: str, file: str, prepared: Preparation | None = None) -> CodeType | None:
        self.seen.append((module, file))
        if self.fails:
            return None
        tree = ast.parse(source) if prepared is None else prepared.tree(source, file)
        tree.body += ast.parse("rewritten = True").body
        return compile(tree, file, "exec", dont_inherit=True)

    def enter(self, module: ModuleType) -> None:
        assert "rewritten" not in vars(module)
        self.entered.append(module.__name__)


@pytest.fixture
def rewriting() -> Rewriting:
    return Rewriting()


@pytest.fixture
def hook(rewriting: Rewriting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImportHook]:
    """Entered; the modules of the test lie in its directory, which is the project."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    with ImportHook(Selection(project=str(tmp_path)), rewriting.rewrite, rewriting.enter) as hook:
        yield hook
    assert hook not in sys.meta_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def put(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    importlib.invalidate_caches()


def test_selected_module_is_rewritten(hook: ImportHook, rewriting: Rewriting, tmp_path: Path) -> None:
    put(tmp_path, "pkg/__init__.py", "from pkg import inner")
    put(tmp_path, "pkg/inner.py", "def f():\n    return 1\n")
    module = importlib.import_module("pkg")
    assert module.rewritten
    assert module.inner.rewritten
    assert rewriting.entered == ["pkg", "pkg.inner"]
    assert module.inner.__file__ == str(tmp_path / "pkg" / "inner.py")
    assert isinstance(module.inner.__loader__, SourceFileLoader)
    assert "return 1" in inspect.getsource(module.inner.f)
    assert list(module.__path__) == [str(tmp_path / "pkg")]
    assert not list(tmp_path.rglob("*.pyc")), "what was rewritten must not be taken for the module by others"


def test_unselected_module_is_loaded_by_python(hook: ImportHook, rewriting: Rewriting) -> None:
    sys.modules.pop("colorsys", None)
    module = importlib.import_module("colorsys")
    assert type(module.__loader__) is SourceFileLoader
    assert rewriting.seen == []
    assert hook.decisions["colorsys"][1] == (False, "the standard library")
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        importlib.import_module("nothing_of_this_name")


def test_module_that_cannot_be_rewritten_runs_unchanged(hook: ImportHook, rewriting: Rewriting, tmp_path: Path) -> None:
    rewriting.fails = True
    put(tmp_path, "stays.py", "x = 1")
    module = importlib.import_module("stays")
    assert module.x == 1
    assert not hasattr(module, "rewritten")


BAD = {
    "raises.py": "def f():\n    raise ValueError('bad')\nf()\n",
    "syntax.py": "x = 1\ny = (\n",
    "tabs.py": "if 1:\n\tx = 1\n        y = 2\n",
    "missing.py": "import nothing_of_this_name\n",
    "stack.py": "import traceback\nraise ValueError(''.join(traceback.format_stack()[-4:]))",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("fails", [False, True])
def test_import_errors_have_the_same_traceback(
    name: str, fails: bool, hook: ImportHook, rewriting: Rewriting, tmp_path: Path
) -> None:
    put(tmp_path, name, BAD[name])

    def shown() -> str:
        with pytest.raises((ValueError, SyntaxError, ImportError)) as caught:
            importlib.import_module(name[:-3])
        frames = traceback.extract_tb(caught.value.__traceback__)
        return f"{caught.value}\n" + "".join(f"{frame.filename}:{frame.lineno}\n" for frame in frames)

    def rewrite(*arguments: Any) -> CodeType | None:
        try:
            return Rewriting.rewrite(rewriting, *arguments)
        except SyntaxError:
            return None  # as the recorder does

    hook._compile_module = rewrite
    rewriting.fails = fails
    found = shown()
    assert rewriting.seen
    hook.__exit__()
    expected = shown()
    if name != "stack.py":
        # importlib's own frames are told by Python's import statement only; here they show in both
        ours = str(Path(__file__).parents[2] / "src")
        assert ours not in found
    strip = [line for line in found.splitlines() if "importlib" not in line]
    assert strip == [line for line in expected.splitlines() if "importlib" not in line]


def test_reloaded_module_is_rewritten(hook: ImportHook, rewriting: Rewriting, tmp_path: Path) -> None:
    put(tmp_path, "again.py", "x = 1")
    hook.__exit__()
    module = importlib.import_module("again")
    hook.__enter__()
    put(tmp_path, "again.py", "x = 22")
    assert importlib.reload(module).x == 22
    assert module.rewritten
    assert rewriting.entered == ["again"]


def test_module_loaded_from_its_spec_is_rewritten(hook: ImportHook, rewriting: Rewriting, tmp_path: Path) -> None:
    put(tmp_path, "hand.py", "x = __name__")
    spec = importlib.util.find_spec("hand")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    assert module.x == "hand"
    assert module.rewritten
    assert rewriting.entered == ["hand"]


def test_lazily_loaded_module_is_rewritten_at_first_use(hook: ImportHook, rewriting: Rewriting, tmp_path: Path) -> None:
    put(tmp_path, "lazy.py", "x = 7")
    spec = importlib.util.find_spec("lazy")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["lazy"] = module
    spec.loader.exec_module(module)
    assert rewriting.seen == []
    assert module.x == 7
    assert module.rewritten


def test_module_of_another_loader_needs_an_adapter(rewriting: Rewriting, tmp_path: Path) -> None:
    put(tmp_path, "special.py", "x = 1")

    class Loader(SourceFileLoader):
        pass

    class Finder:
        def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
            if name != "special":
                return None
            file = str(tmp_path / "special.py")
            return importlib.util.spec_from_file_location(name, file, loader=Loader(name, file))

    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        for adapters, reason in (
            ((), "loaded by Loader"),
            ((lambda spec: Preparation("key", lambda source, file: ast.parse(source)),), "the program's own code"),
        ):
            hook = ImportHook(Selection(project=str(tmp_path)), rewriting.rewrite, adapters=adapters)
            with hook:
                module = importlib.import_module("special")
            assert hasattr(module, "rewritten") == bool(adapters)
            assert hook.decisions["special"][1].reason == reason
            del sys.modules["special"]
    finally:
        sys.meta_path.remove(finder)


def test_each_decision_is_reported_once(rewriting: Rewriting, tmp_path: Path) -> None:
    told: list[tuple[str, bool]] = []
    hook = ImportHook(
        Selection(omit=["out"], project=str(tmp_path)),
        rewriting.rewrite,
        decided=lambda module, file, decision: told.append((module, decision.selected)),
    )
    main = str(tmp_path / "elsewhere" / "main.py")
    assert hook.decide("main", main, is_main=True).selected
    assert hook.decide("main", main, is_main=True).selected
    assert hook.decide("other", "/elsewhere/main.py", is_main=True).reason == "the program itself"
    assert not hook.decide("out", main, is_main=True).selected
    assert told == [("main", True), ("other", True), ("out", False)]
