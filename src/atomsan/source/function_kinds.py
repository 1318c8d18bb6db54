"""Classifies functions: main-like and test functions, trivial functions, trampolines.

A function that a program or a test runner calls first is not atomic as a whole: the iterations of its loops are regions
instead. The entry function of a thread is known only when the thread starts, and is rewritten then (`entries` of
`instrument`); if it only calls another one, that is known when it does.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from atomsan.source.scopes import FunctionNode
from atomsan.source.traversal import walk

MAIN_LIKE = frozenset(
    {"main", "_main", "__main__", "amain", "async_main", "main_async", "run_main", "main_loop", "cli", "_cli"}
)
_FIXTURES = frozenset(
    {
        *("setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown", "runTest"),
        *("setup_method", "teardown_method", "setup_class", "teardown_class"),
    }
)
_MODULE_FIXTURES = frozenset(
    {"setUpModule", "tearDownModule", "setup_module", "teardown_module", "setup_function", "teardown_function"}
)


def is_outer(name: str, around: ast.AST | None) -> bool:
    """Whether a function is `main`-like or belongs to a test. `around` is the class or function it stands in."""
    if around is None:
        return name in MAIN_LIKE or name in _MODULE_FIXTURES or name.startswith("test")
    if isinstance(around, ast.ClassDef):
        return name.startswith("test") or (name in _FIXTURES and _is_test_class(around))
    return False


def _is_test_class(node: ast.ClassDef) -> bool:
    names = [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases]
    return node.name.startswith("Test") or any("TestCase" in name for name in names)


_CALLING = (
    *(ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor),
    *(ast.comprehension, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)


def calls_out(nodes: Sequence[ast.AST]) -> bool:
    """Whether code runs other code. Operators do not count: those of an object are methods, with their own regions."""
    return any(isinstance(node, _CALLING) for part in nodes for node in walk(part))


def is_trivial(body: Sequence[ast.stmt]) -> bool:
    """Whether a function has no accesses, so that it needs no region."""
    return all(
        isinstance(node, ast.Pass | ast.Global | ast.Nonlocal)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Return) and (node.value is None or isinstance(node.value, ast.Constant)))
        for node in body
    )


def is_trivial_lambda(node: ast.Lambda) -> bool:
    """Whether a lambda has fewer than two accesses or calls, so that it needs no region.

    One that looks at a variable (`lambda: last`) is kept to be called elsewhere: what it gives goes on from that call.
    """
    is_look = isinstance(node.body, ast.Name) and not any(vars(node.args)[kind] for kind in _PARAMETERS)
    return _accesses(node.body) < 2 and not is_look


_PARAMETERS = ("posonlyargs", "args", "vararg", "kwonlyargs", "kwarg")


def _accesses(node: ast.AST) -> int:
    if isinstance(node, ast.Lambda):
        return 0
    count = int(isinstance(node, ast.Call | ast.Attribute | ast.Subscript | ast.comprehension))
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Call) and child is node.func and isinstance(child, ast.Attribute):
            child = child.value
        count += _accesses(child)
    return count


def passed_on(node: FunctionNode | ast.Lambda, body: Sequence[ast.stmt]) -> ast.Call | None:
    """The call that is all that a function does: then it is a trampoline, and stands aside for what it calls."""
    value: ast.expr | None = None
    if isinstance(node, ast.Lambda):
        value = node.body
    elif len(body) == 1 and isinstance(body[0], ast.Expr | ast.Return):
        value = body[0].value
    if isinstance(node, ast.AsyncFunctionDef):
        # one that awaits nothing is begun by an event loop, and nobody can prepare what it calls
        value = value.value if isinstance(value, ast.Await) else None
    return value if isinstance(value, ast.Call) and _only_calls(value) else None


def _only_calls(call: ast.Call) -> bool:
    """Whether nothing else is called before the function is: `super().run(self.count)`."""
    function = call.func
    if isinstance(function, ast.Attribute) and _is_super(function.value):
        function = function.value.func  # type: ignore[attr-defined]
    inside = (function, *call.args, *(keyword.value for keyword in call.keywords))
    return not any(isinstance(node, ast.Call | ast.Await | ast.NamedExpr) for part in inside for node in walk(part))


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args


def receiver_parameter(node: FunctionNode) -> str | None:
    """The name of the parameter that is the object (or class) a method is called on."""
    if any(isinstance(decorator, ast.Name) and decorator.id == "staticmethod" for decorator in node.decorator_list):
        return None
    parameters = [*node.args.posonlyargs, *node.args.args]
    return parameters[0].arg if parameters else None
