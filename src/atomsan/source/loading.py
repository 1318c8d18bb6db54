"""Import hook: loads selected modules from rewritten source.

The hook asks the finders behind it for a module and changes the loader that they found, so it works with whatever else
takes part in imports. A module that cannot be rewritten is loaded unchanged, with the reason kept.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from atomsan.source.selection import Decision, Selection

if TYPE_CHECKING:
    from typing import Self


class Preparation(NamedTuple):
    """The rewriting of a module by another tool before it runs: pytest rewrites assertions."""

    key: str
    """Names the tool and its version, as a part of the cache's key."""
    tree: Callable[[bytes, str], ast.Module]
    """The tree for a source and its file."""


class ModuleCompiler(Protocol):
    def __call__(self, source: bytes, module: str, file: str, prepared: Preparation | None = None) -> CodeType | None:
        """The code to run for the source of a module, or None: it is loaded unchanged."""
        ...


# For a module that another tool's hook found: the rewriting by that tool. None: this adapter does not know the tool.
Adapter = Callable[[ModuleSpec], Preparation | None]


class InstrumentingLoader(SourceFileLoader):
    """Loads one module from rewritten source. Python's own cache of compiled files is neither read nor written."""

    def __init__(
        self,
        fullname: str,
        path: str,
        compile_module: ModuleCompiler,
        entered: Callable[[ModuleType], None],
        prepared: Preparation | None = None,
    ) -> None:
        super().__init__(fullname, path)
        self._compile_module = compile_module
        self._entered = entered
        self._prepared = prepared
        self._module: ModuleType | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        # what importlib does by itself if it gets none
        module = ModuleType(spec.name)
        self._enter(module)
        return module

    def get_code(self, fullname: str) -> CodeType | None:
        module = sys.modules.get(fullname)
        if type(module) is ModuleType:
            self._enter(module)  # one that is loaded again was made before us
        source = self.get_data(self.path)
        code = self._compile_module(source, fullname, self.path, self._prepared)
        if code is not None:
            return code
        if self._prepared is not None:
            return compile(self._prepared.tree(source, self.path), self.path, "exec", dont_inherit=True)
        return super().get_code(fullname)

    # Python leaves the frames of importlib out of tracebacks of failed imports: this makes it one of them.
    get_code.__code__ = get_code.__code__.replace(co_filename=SourceFileLoader.get_code.__code__.co_filename)

    def _enter(self, module: ModuleType) -> None:
        if self._module is not module:
            self._module = module
            self._entered(module)


class ImportHook:
    """While it is entered, modules that are imported are loaded from rewritten source, if they are selected.

    `entered` is called with each such module before its code runs, `decided` with each module that is looked for. (It
    is no `MetaPathFinder`: to import that costs the recorded program a dozen other modules.)
    """

    def __init__(
        self,
        selection: Selection,
        compile_module: ModuleCompiler,
        entered: Callable[[ModuleType], None] = lambda module: None,
        adapters: Sequence[Adapter] = (),
        decided: Callable[[str, str | None, Decision], None] = lambda module, file, decision: None,
    ) -> None:
        self._selection = selection
        self._compile_module = compile_module
        self._entered = entered
        self._adapters = adapters
        self._decided = decided
        self.decisions: dict[str, tuple[str | None, Decision]] = {}
        """By module: its file, and whether and why it is instrumented."""

    def __enter__(self) -> Self:
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return self._adapted(spec)
        return None

    def decide(self, module: str, file: str | None, *, is_main: bool = False) -> Decision:
        """Whether a module is instrumented. The program's main file is, wherever it lies, unless it was omitted."""
        decision = self._selection.decide(module, file)
        if is_main and not decision.selected and not decision.reason.startswith("--omit"):
            decision = Decision(True, "the program itself")
        self._keep(module, file, decision)
        return decision

    def _adapted(self, spec: ModuleSpec) -> ModuleSpec:
        file = spec.origin if spec.has_location else None
        decision = self._selection.decide(spec.name, file)
        if decision.selected:
            loader = self._loader(spec)
            if loader is None:
                decision = Decision(False, f"loaded by {_kind(spec.loader)}")
            else:
                spec.loader = loader
        self._keep(spec.name, file, decision)
        return spec

    def _keep(self, module: str, file: str | None, decision: Decision) -> None:
        if self.decisions.get(module) != (file, decision):
            self.decisions[module] = (file, decision)
            self._decided(module, file, decision)

    def _loader(self, spec: ModuleSpec) -> InstrumentingLoader | None:
        if type(spec.loader) is SourceFileLoader:
            return InstrumentingLoader(spec.loader.name, spec.loader.path, self._compile_module, self._entered)
        prepared = next(filter(None, (adapt(spec) for adapt in self._adapters)), None)
        if prepared is None or spec.origin is None:
            return None
        return InstrumentingLoader(spec.name, spec.origin, self._compile_module, self._entered, prepared)


def _kind(loader: object) -> str:
    return (loader if isinstance(loader, type) else type(loader)).__name__
