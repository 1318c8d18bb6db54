"""Writes a program in another form that means the same: other line breaks, parentheses, names and temporaries.

    python tests/programs/reformat.py everything tests/programs/racy/transfer.py

Functions, classes, fields and the order of accesses stay as they are, and so do the header and the marks `# bug`: every
line that comes from a marked one is marked. Other comments are dropped.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from outcomes import HEADER, marked

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
INNER_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

RENAMED = "the_"
"""Local variables are called so after they were renamed: `the_balance`."""

MUTABLE = (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp)
MUTABLE_TYPES = {"list", "set", "dict", "deque", "bytearray", "array", "defaultdict", "Counter", "OrderedDict"}
NUMBER_FUNCTIONS = {"len", "sum", "abs", "int", "float", "min", "max", "bytes", "str"}


# Changes of the tree


def rename_locals(tree: ast.Module) -> None:
    """Give local variables other names: those that are bound in their function's own code and nowhere inside it."""
    for function in functions_in(tree):
        fixed = names_not_from_assignments(function)
        inner = {
            name.id
            for scope in inner_scopes(function)
            for name in ast.walk(scope)
            if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load)
        }
        own = {
            name.id for name in own_nodes(function) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        chosen = {name for name in own - inner - fixed if name.strip("_") and not name.startswith(RENAMED)}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in chosen:
                node.id = (RENAMED.upper() if node.id.isupper() else RENAMED) + node.id


def spell_out(tree: ast.Module) -> None:
    """Write `n = n + 1` for `n += 1`, where the target is simple and holds a number or a text, not a container."""
    containers = container_names(tree)

    class Spelling(ast.NodeTransformer):
        def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
            if not is_simple_target(node.target) or not is_immutable_update(node, containers):
                return node
            read = cast(ast.expr, ast.parse(ast.unparse(node.target), mode="eval").body)
            value = ast.BinOp(left=read, op=node.op, right=node.value)
            return ast.copy_location(ast.Assign(targets=[node.target], value=value), node)

    Spelling().visit(tree)


def alias_receivers(tree: ast.Module) -> None:
    """Give every parameter on which something is accessed a second name, and use that one: `me = self`, then `me.x`."""
    for function in functions_in(tree):
        arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        bound_again = {
            name.id for name in ast.walk(function) if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load)
        }
        bound_again |= {argument.arg for scope in inner_scopes(function) for argument in arguments_of(scope)}
        bound_again |= names_in_declarations(function)
        receivers = {
            node.value.id
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name)
        }
        used = {name.id for name in ast.walk(function) if isinstance(name, ast.Name)} | names_of_arguments(function)
        second = {
            name: "me" if name == "self" and "me" not in used else f"same_{name}"
            for name in (argument.arg for argument in arguments)
            if name in receivers - bound_again
        }
        assert used.isdisjoint(second.values()), "the second name is taken"
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id in second:
                    node.id = second[node.id]
        start = 1 if ast.get_docstring(function) is not None else 0
        function.body[start:start] = [
            at_line(ast.parse(f"{alias} = {name}").body[0], function.lineno) for name, alias in second.items()
        ]


def split_statements(tree: ast.Module) -> None:
    """Keep what is stored, returned or passed as the first argument in a temporary first."""

    class Splitting(ast.NodeTransformer):
        def __init__(self) -> None:
            self.number = 0

        def temporary(self, value: ast.expr, statement: ast.stmt) -> tuple[ast.stmt, ast.expr]:
            self.number += 1
            name = f"value_{self.number}"
            assignment = ast.Assign(targets=[ast.Name(name, ast.Store())], value=value)
            return ast.copy_location(assignment, statement), ast.Name(name, ast.Load())

        def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
            is_stored = any(not isinstance(target, ast.Name) for target in node.targets)
            if not is_stored or not is_worth_a_name(node.value):
                return node
            first, node.value = self.temporary(node.value, node)
            return [first, node]

        def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
            if node.value is None or not is_worth_a_name(node.value):
                return node
            first, node.value = self.temporary(node.value, node)
            return [first, node]

        def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
            call = node.value
            is_plain = isinstance(call, ast.Call) and is_path(call.func)
            if not is_plain or not call.args or not is_worth_a_name(call.args[0]):
                return node
            first, call.args[0] = self.temporary(call.args[0], node)
            return [first, node]

        def leave(self, node: ast.AST) -> ast.AST:
            return node

        visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = leave  # noqa: N815

    for function in functions_in(tree):
        splitting = Splitting()
        body = [splitting.visit(statement) for statement in function.body]
        function.body = [one for part in body for one in (part if isinstance(part, list) else [part])]


def functions_in(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's own code: not of the functions, classes and comprehensions inside it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, INNER_SCOPES):
            yield child
            yield from own_nodes(child)


def inner_scopes(function: Function) -> list[ast.AST]:
    return [node for node in ast.walk(function) if node is not function and isinstance(node, INNER_SCOPES)]


def arguments_of(scope: ast.AST) -> list[ast.arg]:
    return [node for node in ast.walk(scope.args) if isinstance(node, ast.arg)] if hasattr(scope, "args") else []


def names_of_arguments(function: Function) -> set[str]:
    return {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}


def names_in_declarations(function: Function) -> set[str]:
    return {name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}


def names_not_from_assignments(function: Function) -> set[str]:
    """Names inside a function that an assignment to a plain name does not bind."""
    names = names_in_declarations(function)
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
    return names


def container_names(tree: ast.Module) -> set[str]:
    """The variables and fields that are anywhere assigned a container that can change."""

    def is_container(value: ast.expr | None) -> bool:
        match value:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return name in MUTABLE_TYPES
            case ast.BinOp(left=left, right=right):
                return is_container(left) or is_container(right)
            case ast.IfExp(body=body, orelse=orelse):
                return is_container(body) or is_container(orelse)
        return isinstance(value, MUTABLE)

    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_container(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {last_name(target) for target in targets}
    return names


def last_name(target: ast.expr) -> str:
    return target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""


def is_path(node: ast.expr) -> bool:
    """A name, or fields of one: reading it calls nothing by its look."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_path(node.value))


def is_simple_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Subscript):
        return is_path(target.value) and (is_path(target.slice) or isinstance(target.slice, ast.Constant))
    return is_path(target)


def is_immutable_update(node: ast.AugAssign, containers: set[str]) -> bool:
    if is_number_or_text(node.value):
        return True
    return not isinstance(node.target, ast.Subscript) and last_name(node.target) not in containers


def is_number_or_text(value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.JoinedStr() | ast.Compare():
            return True
        case ast.BinOp(left=left, right=right):
            return is_number_or_text(left) or is_number_or_text(right)
        case ast.UnaryOp(operand=operand):
            return is_number_or_text(operand)
        case ast.Call(func=ast.Name(id=name)):
            return name in NUMBER_FUNCTIONS
    return False


def is_worth_a_name(value: ast.expr) -> bool:
    """Whether a person might name it: no constant, name or empty container, and nothing that is taken apart at once."""
    if isinstance(value, ast.Constant | ast.Name | ast.Starred | ast.Lambda | ast.GeneratorExp | ast.Tuple):
        return False
    if isinstance(value, ast.Call) and not value.args and not value.keywords:
        return not isinstance(value.func, ast.Name)
    return not (isinstance(value, ast.List | ast.Set) and not value.elts) and not (
        isinstance(value, ast.Dict) and not value.keys
    )


def at_line(statement: ast.stmt, line: int) -> ast.stmt:
    statement.lineno = statement.end_lineno = line
    return statement


# Printing


class Piece(NamedTuple):
    """A simple statement or a header, and the lines on which it was; 0 for what says nothing, as `else:`."""

    text: str
    first: int
    last: int


class Printer:
    """Prints a tree, a statement a line; what was on a marked line is marked."""

    def __init__(self, bugs: Iterable[int]) -> None:
        self.bugs = set(bugs)
        self.lines: list[str] = []
        self.origins: list[list[tuple[int, int]]] = []
        """For each line that was printed, the columns where pieces begin, and the first line on which each was."""

    def text(self, tree: ast.Module) -> str:
        self.block(tree.body, 0)
        return "\n".join(self.lines) + "\n"

    def block(self, body: Sequence[ast.stmt], depth: int) -> None:
        for statement in body:
            self.statement(statement, depth)

    def statement(self, node: ast.stmt, depth: int) -> None:
        clauses = clauses_of(node)
        if not clauses:
            self.put([self.simple(node)], depth)
        for header, body in clauses:
            *decorators, last = header.text.splitlines()
            for decorator in decorators:
                self.put([Piece(decorator, header.first, header.first)], depth)
            self.clause(header._replace(text=last), body, depth)

    def simple(self, node: ast.stmt) -> Piece:
        return Piece(ast.unparse(node), node.lineno, node.end_lineno or node.lineno)

    def clause(self, header: Piece, body: Sequence[ast.stmt], depth: int) -> None:
        self.put([header], depth)
        self.block(body, depth + 1)

    def put(self, row: Sequence[Piece], depth: int) -> None:
        """Print pieces on one line: a header first, if there is one, then statements."""
        line = "    " * depth
        origins = []
        for number, piece in enumerate(row):
            line += "" if not number else " " if line.endswith(":") else "; "
            origins.append((len(line), piece.first))
            line += piece.text
        is_bug = any(number in self.bugs for piece in row for number in range(piece.first, piece.last + 1))
        self.lines.append(line + ("  # bug" if is_bug else ""))
        self.origins.append(origins)


class BrokenPrinter(Printer):
    """Breaks a statement wherever brackets allow it, and puts brackets around values so that they do."""

    def simple(self, node: ast.stmt) -> Piece:
        return super().simple(node)._replace(text=with_brackets(node))

    def clause(self, header: Piece, body: Sequence[ast.stmt], depth: int) -> None:
        bracketed = re.sub(r"^(if|while|with) (?!.*( as |, ))(.*):$", r"\1 (\3):", header.text)
        super().clause(header._replace(text=bracketed), body, depth)

    def put(self, row: Sequence[Piece], depth: int) -> None:
        (piece,) = row
        for number, line in enumerate(break_lines(piece.text)):
            super().put([piece._replace(text=line)], depth + bool(number))


class PackedPrinter(Printer):
    """Puts up to three simple statements on a line, and a body of simple statements on the line of its header."""

    AT_MOST = 3

    def block(self, body: Sequence[ast.stmt], depth: int) -> None:
        row: list[Piece] = []
        for statement in body:
            if row and (clauses_of(statement) or len(row) == self.AT_MOST):
                self.put(row, depth)
                row = []
            if clauses_of(statement):
                self.statement(statement, depth)
            else:
                row.append(self.simple(statement))
        if row:
            self.put(row, depth)

    def clause(self, header: Piece, body: Sequence[ast.stmt], depth: int) -> None:
        if len(body) > self.AT_MOST or any(clauses_of(statement) for statement in body):
            super().clause(header, body, depth)
        else:
            self.put([header, *map(self.simple, body)], depth)


class BracketPrinter(Printer):
    """Puts every expression into parentheses."""

    def text(self, tree: ast.Module) -> str:
        return put_parentheses(super().text(tree))


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


Clause = tuple[Piece, Sequence[ast.stmt]]
"""A header, and what stands below it."""


def clauses_of(node: ast.stmt) -> list[Clause]:
    """The clauses of a compound statement, none for a simple one."""
    assert not isinstance(node, ast.Match | ast.TryStar), "no program has one"
    if not hasattr(node, "body"):
        return []
    if isinstance(node, ast.Try):
        clauses: list[Clause] = [(Piece("try:", 0, 0), node.body)]
        for handler in node.handlers:
            caught = "" if handler.type is None else " " + ast.unparse(handler.type)
            name = f" as {handler.name}" if handler.name else ""
            clauses.append((Piece(f"except{caught}{name}:", handler.lineno, handler.lineno), handler.body))
    else:
        ends = [getattr(part, "end_lineno", None) or 0 for part in header_parts(node)]
        clauses = [(Piece(header_of(node), node.lineno, max(ends, default=node.lineno)), node.body)]
    if getattr(node, "orelse", None):
        clauses.append((Piece("else:", 0, 0), node.orelse))  # type: ignore[attr-defined]
    if getattr(node, "finalbody", None):
        clauses.append((Piece("finally:", 0, 0), node.finalbody))  # type: ignore[attr-defined]
    return clauses


def header_parts(node: ast.stmt) -> Iterator[ast.AST]:
    inside = {id(one) for field in ("body", "orelse") for one in getattr(node, field, ())}
    for child in ast.iter_child_nodes(node):
        if id(child) not in inside:
            yield from ast.walk(child)


def header_of(node: ast.stmt) -> str:
    shown = {name: getattr(node, name, None) for name in node._fields}
    shown["body"] = [ast.Pass()]
    if "orelse" in shown:
        shown["orelse"] = []
    return ast.unparse(type(node)(**shown, lineno=node.lineno)).removesuffix("\n    pass")


def with_brackets(node: ast.stmt) -> str:
    """A simple statement with parentheses around its value."""
    value = getattr(node, "value", None)
    if value is None or is_text(node):
        return ast.unparse(node)
    shown = {name: getattr(node, name) for name in node._fields}
    shown["value"] = ast.Name("__value__", ast.Load())
    return ast.unparse(type(node)(**shown, lineno=node.lineno)).replace("__value__", f"({ast.unparse(value)})")


def break_lines(text: str) -> list[str]:
    """Cut a line after each opening bracket and comma, and before each closing bracket and each dot inside brackets."""
    cuts = []
    depth = in_string = 0
    before = ""
    complete = text + (" pass" if text.endswith(":") else "")
    for token in tokenize.generate_tokens(io.StringIO(complete + "\n").readline):
        kind = tokenize.tok_name[token.type]
        in_string += (kind == "FSTRING_START") - (kind == "FSTRING_END")
        if in_string or kind != "OP":
            before = token.string
            continue
        if token.string in ")]}":
            depth -= 1
        if (token.string in ")]}" and before not in "([{") or (token.string == "." and depth and before != "("):
            cuts.append(token.start[1])
        if token.string in "([{":
            depth += 1
        if token.string in "([{" or (token.string == "," and depth):
            cuts.append(token.end[1])
        before = token.string
    pieces = [text[start:end].strip() for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in pieces if piece]


def put_parentheses(text: str) -> str:
    """Put every expression that is read into parentheses, where Python has room for them."""
    places: list[tuple[int, int, str]] = []
    for node in parenthesized(ast.parse(text)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        places.append((node.lineno, node.col_offset, "("))
        places.append((node.end_lineno, node.end_col_offset, ")"))
    lines = [line.encode() for line in text.splitlines()]
    # from the right, so that the columns on the left stay
    for line, column, bracket in sorted(places, reverse=True):
        row = lines[line - 1]
        lines[line - 1] = row[:column] + bracket.encode() + row[column:]
    return b"\n".join(lines).decode() + "\n"


def parenthesized(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.JoinedStr):
        yield node
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if (
        isinstance(node, ast.expr)
        and not isinstance(node, ast.Starred | ast.Slice)
        and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    ):
        yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from parenthesized(child)


Change = Callable[[ast.Module], None]

FORMS: dict[str, tuple[Sequence[Change], type[Printer]]] = {
    "plain": ((), Printer),
    "broken": ((), BrokenPrinter),
    "packed": ((), PackedPrinter),
    "parentheses": ((), BracketPrinter),
    "renamed": ((rename_locals,), Printer),
    "spelled": ((spell_out,), Printer),
    "aliased": ((alias_receivers,), Printer),
    "split": ((split_statements,), Printer),
    "everything": ((spell_out, split_statements, alias_receivers, rename_locals), BrokenPrinter),
}


class Reformatted(NamedTuple):
    """A program in another form, and where its lines come from."""

    text: str
    origins: Sequence[Sequence[tuple[int, int]]]

    def statement_at(self, line: int, column: int) -> int:
        """The first line, in the original, of the statement that is here."""
        return max((place for place in self.origins[line - 1] if place[0] <= column), default=(0, 0))[1]


def reformat(text: str, form: str) -> Reformatted:
    """The program in another form. Its header comes first."""
    changes, make_printer = FORMS[form]
    tree = ast.parse(text)
    for change in changes:
        change(tree)
    header = [f"# {name}: {value}" for name, value in HEADER.findall(text)]
    printer = make_printer(marked(text))
    body = printer.text(tree)
    return Reformatted("\n".join([*header, body]), [[] for _ in header] + printer.origins)


def statement_starts(text: str) -> dict[int, int]:
    """For each line of a program, the first line of the statement that is there."""
    starts = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            pieces = [header for header, _ in clauses_of(node)] or [Printer(()).simple(node)]
            for piece in pieces:
                starts |= dict.fromkeys(range(piece.first, piece.last + 1), piece.first)
    return starts


if __name__ == "__main__":
    print(reformat(Path(sys.argv[2]).read_text(), sys.argv[1]).text, end="")
