"""Definitions: the sites, regions, types, names and threads behind the numbers in the raw log.

The program's process sends them. A definition is a list that JSON can hold; the first word says what it defines. Each
comes before the first record that uses it, so a reader that looks at the log first and at the definitions second knows
them all. A malformed one is counted and skipped: a program that was killed may leave half a line behind.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from atomsan.trace.regions import CALLBACK, RESUMED

if TYPE_CHECKING:
    from atomsan.recorder.log._resolver import Resolver

Message = list[Any]

# Where an expression stands: first line, last line, first column, last column.
Position = tuple[int, int, int, int]

_READ_BYTES = 1 << 20


class DefinitionFile:
    """Messages as lines of JSON in a file that another process appends to."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._offset = 0
        self._rest = b""
        self.damaged = 0
        """Lines that were no messages."""

    def read(self) -> list[Message]:
        """The messages that came since the last time."""
        messages: list[Message] = []
        while piece := os.pread(self._descriptor, _READ_BYTES, self._offset):
            self._offset += len(piece)
            *lines, self._rest = (self._rest + piece).split(b"\n")
            messages += filter(None, map(self._message, lines))
        return messages

    def _message(self, line: bytes) -> Message | None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, list) and message:
            return message
        self.damaged += 1
        return None


class DefinitionList:
    """Messages in memory. `send` is what the recorder calls, from any thread."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self.send: Callable[[Message], None] = self._messages.append
        self.damaged = 0

    def read(self) -> list[Message]:
        return [self._messages.popleft() for _ in range(len(self._messages))]


def _unknown_statement(line: int, column: int) -> None:
    return None


class FunctionDefinition(NamedTuple):
    """A function, class body or module."""

    name: str
    """`pkg.mod:Class.method`."""
    line: int = 0
    summary: str = ""
    """Its flow summary, as JSON."""


class SiteDefinition(NamedTuple):
    """A place in the source, and what is done there."""

    file: str
    line: int
    column: int
    function: str
    text: str
    """The line of the source."""
    operation: str | None
    """The method or function that reads or writes something, if it is one."""
    expression: str
    """The object or container that is accessed, as the source spells it."""
    closure: str = ""
    """The function whose closure variables are accessed here."""
    primitive: str = ""
    """What the source calls the primitive that is entered here."""
    is_call: bool = False
    """Whether it is an expression that called a function, and not one that is accessed."""
    node: int | None = None
    """The node of the function's flow summary that stands for it."""
    owner: int | None = None
    """The function whose summary that is: by its place in the module, and from `Definitions` on by its number in
    `Definitions.functions`."""
    normal: Callable[[int, int], str | None] = _unknown_statement
    """Gives the statement at a line and column of the module, the same for every formatting; None if unknown."""


class SiteLinks(NamedTuple):
    """What a site has to do with others of its module: functions, regions and sites by their places in it."""

    function: int
    region: int | None
    """That begins or ends here."""
    fed_by: int | None
    """The site at which the object or container was read that this one is about."""
    is_statement: bool
    """Whether it stands in a statement of its own, never inside the right side of an assignment."""


class RegionDefinition(NamedTuple):
    name: str
    origin: str
    is_trampoline: bool = False
    flow: str | None = None
    function: int | None = None
    """By its place in the module, and from `Definitions` on by its number in `Definitions.functions`."""


class ModuleDefinition(NamedTuple):
    """A module of the program: what its part of the log can be about."""

    functions: list[FunctionDefinition]
    regions: list[RegionDefinition]
    sites: list[tuple[SiteDefinition, SiteLinks]]
    uses: list[tuple[int, str]]
    """Sites at which a primitive is used, and how (`Resolver.define_use`)."""
    sets: dict[str, list[str]]
    """The atomic sets that classes declare."""
    call_site: Callable[[Position, str], SiteDefinition] | None = None
    """Gives the site of a call by its position and the qualified name of the code that makes it, if the language has
    such."""


class _Module(NamedTuple):
    """What a later definition may need of a module."""

    first_site: int
    functions: list[int]
    """Their numbers in `Definitions.functions`."""
    call_site: Callable[[Position, str], SiteDefinition] | None


class Language(NamedTuple):
    """What a recorder tells of the language of its programs, so that the log need not know any."""

    read_module: Callable[[Mapping[str, Any], Callable[[str], str]], ModuleDefinition]
    """Reads the definition of a module; the function says how a file is shown. Raises as `Definitions.add` catches."""
    namespace_types: frozenset[str]
    """The names of the types that the namespace of a module can have."""


class RegionLabel(NamedTuple):
    """A region as the trace names it. An entry function has a label of its own, of origin `outer`; so has one that is
    called back, and a generator that runs again."""

    name: str
    origin: str
    flow: str | None = None
    entered: str | None = None
    function: int | None = None
    """By its number in `Definitions.functions`."""


class TypeDefinition(NamedTuple):
    module: str
    name: str


class SelectionDefinition(NamedTuple):
    """Whether a module is watched, and why."""

    file: str | None
    selected: bool
    reason: str


class PrimitiveDefinition(NamedTuple):
    kind: str
    name: str


def text_of(name: object) -> str:
    """A name that the program gave, as a text that can be stored: Python's may have surrogates, which UTF-8 has not."""
    text = str(name)
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _directory(path: str | None) -> str:
    """The directory that files are shown relative to, with the slash behind it: the current one, if none is given."""
    try:
        return os.path.join(os.path.realpath(path or os.getcwd()), "")
    except FileNotFoundError:  # it was removed: no file is in it
        return os.sep * 2


def _first_site(module: _Module) -> int:
    return module.first_site


class Definitions:
    """The tables, and the resolver that is told what it needs of them."""

    def __init__(self, resolver: Resolver, language: Language, root: str | None = None) -> None:
        self._resolver = resolver
        self.language = language
        self._root = _directory(root)
        self.types: dict[int, TypeDefinition] = {}
        self.bases: dict[str, list[str]] = {}
        """The base classes of each class, `object` aside, by their names."""
        self.sets: dict[str, list[str]] = {}
        """The atomic sets that classes declare."""
        self.fields: dict[str, list[str]] = {}
        """The classes of the objects that fields were seen to hold: `Account.log` -> `Log`."""
        self.followed: dict[str, list[str]] = {}
        """The fields of which it is recorded what they hold, by class: globs."""
        self.names: dict[int, str] = {}
        self.names_by_hash: dict[int, str] = {}
        self.keys: dict[tuple[int, int], str] = {}
        self.threads: dict[int, str] = {}
        self.modules: dict[int, str] = {}
        """The names of modules, by the address of their namespace."""
        self.primitives: defaultdict[int, deque[PrimitiveDefinition]] = defaultdict(deque)
        """By address, in the order in which there were primitives at this address."""
        self.sites: dict[int, SiteDefinition] = {}
        self.functions: list[FunctionDefinition] = []
        self.apart: set[int] = set()
        """The sites in statements of their own, never inside the right side of an assignment."""
        self.labels: list[RegionLabel] = []
        self.facts: dict[str, Any] = {}
        self.failures: dict[str, str] = {}
        """Files that could not be rewritten, and why."""
        self.selections: dict[str, SelectionDefinition] = {}
        """By module, in the order in which they were imported; only if that was asked for."""
        self.unmatched: list[tuple[str, str]] = []
        """The options and globs that named no module so far."""
        self.gaps: list[str] = []
        """What the recorder left out of this trace, because a limit was reached."""
        self.unfollowed: list[str] = []
        """Whose tasks ran in this trace without being told apart, a sentence each."""
        self.wrong = 0
        """Messages that made no sense."""
        self._label_numbers: dict[tuple[str, str, str | None, int | None], int] = {}
        self._function_numbers: dict[FunctionDefinition, int] = {}
        self._regions: dict[RegionDefinition, int] = {}
        self._first_sites: dict[tuple[Any, ...], int] = {}
        self._loaded_functions = 0
        self._modules: list[_Module] = []
        """By their first sites."""
        self._adders: dict[str, Callable[..., None]] = {
            "module": self._add_module,
            "call": self._add_call,
            "type": self._add_type,
            "name": self._add_name,
            "field": self._add_field,
            "follow": self._add_followed,
            "key": self._add_key,
            "thread": self._add_thread,
            "region": self._add_annotated,
            "primitive": self._add_primitive,
            "module_name": self._add_module_name,
            "set": self._add_facts,
            "failure": self._add_failure,
            "selection": self._add_selection,
            "unmatched": self._add_unmatched,
            "gap": self._add_gap,
            "unfollowed": self._add_unfollowed,
        }

    def global_name(self, namespace: int, name: int) -> str:
        """`bank.lock`, or nothing if it is not known."""
        module, field = self.modules.get(namespace), self.names.get(name)
        return f"{module}.{field}" if module and field else ""

    def tell(self, resolver: Resolver) -> None:
        """Tell another resolver from now on, which takes over what the one so far was told."""
        resolver.take_over(self._resolver)
        self._resolver = resolver

    def add(self, message: Message) -> None:
        try:
            self._adders[message[0]](*message[1:])
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError):
            self.wrong += 1

    def _add_type(self, number: int, module: str, name: str, bases: Sequence[str] = ()) -> None:
        self.types[int(number)] = TypeDefinition(text_of(module), text_of(name))
        if bases:
            self.bases[text_of(name)] = [text_of(base) for base in bases]

    def _add_name(self, number: int, text: str, hash: int) -> None:
        self._resolver.define_name(number, hash)
        self.names[number] = self.names_by_hash[hash] = text_of(text)

    def _add_field(self, of_class: int, name: int, holds: int) -> None:
        classes = self.fields.setdefault(f"{self.types[of_class].name}.{self.names[name]}", [])
        if self.types[holds].name not in classes:
            classes.append(self.types[holds].name)

    def _add_followed(self, fields: Sequence[Sequence[str]]) -> None:
        for of_class, field in fields:
            known = self.followed.setdefault(text_of(of_class), [])
            if text_of(field) not in known:
                known.append(text_of(field))

    def _add_key(self, kind: int, hash: int, shown: str) -> None:
        self.keys[int(kind), int(hash)] = text_of(shown)

    def _add_thread(self, number: int, name: str, kind: str = "thread") -> None:
        self._resolver.define_thread(number)
        self.threads[number] = text_of(name)

    def _add_annotated(self, number: int, name: str) -> None:
        self._resolver.define_annotated(number, self._region(RegionDefinition(text_of(name), "annotated")))

    def _add_primitive(self, address: int, kind: str, name: str = "") -> None:
        self.primitives[int(address)].append(PrimitiveDefinition(text_of(kind), text_of(name)))

    def _add_module_name(self, address: int, name: str) -> None:
        self._resolver.define_namespace(address)
        self.modules[address] = text_of(name)

    def _add_facts(self, facts: dict[str, Any]) -> None:
        self.facts |= facts

    def _add_failure(self, file: str, why: str) -> None:
        self.failures[str(file)] = str(why)

    def _add_selection(self, module: str, file: str | None, selected: bool, reason: str) -> None:
        shown = None if file is None else self._shown(str(file))
        self.selections[str(module)] = SelectionDefinition(shown, bool(selected), str(reason))

    def _add_unmatched(self, globs: Sequence[Sequence[str]]) -> None:
        self.unmatched = [(str(option), str(glob)) for option, glob in globs]

    def _add_gap(self, text: str) -> None:
        if text not in self.gaps:
            self.gaps.append(str(text))

    def _add_unfollowed(self, text: str) -> None:
        if text not in self.unfollowed:
            self.unfollowed.append(str(text))

    def _add_module(self, definition: dict[str, Any]) -> None:
        first = int(definition["first_site"])
        module = self.language.read_module(definition, self._shown)
        functions = [self._function(function) for function in module.functions]
        regions = [
            self._region(region._replace(function=None if region.function is None else functions[region.function]))
            for region in module.regions
        ]
        self.sets |= module.sets
        for number, (site, links) in enumerate(module.sites, first):
            self.sites[number] = site._replace(owner=None if site.owner is None else functions[site.owner])
            if links.is_statement:
                self.apart.add(number)
            shown = (site.file, site.line, site.column, site.function, site.operation, site.node)
            self._resolver.define_site(
                number,
                self._first_sites.setdefault(shown, number),
                None if links.region is None else regions[links.region],
                self._loaded_functions + links.function,
                0 if links.fed_by is None else first + links.fed_by,
                links.is_statement,
            )
        for _, links in module.sites:
            if links.fed_by is not None:
                self._resolver.define_feeding(first + links.fed_by)
        for place, how in module.uses:
            self._resolver.define_use(first + place, how)
        self._loaded_functions += len(module.functions)
        insort(self._modules, _Module(first, functions, module.call_site), key=_first_site)

    def _add_call(self, number: int, near: int, position: Sequence[int], function: str) -> None:
        """The site of a call, in the module that the site `near` is of."""
        module = self._modules[max(bisect_right(self._modules, near, key=_first_site) - 1, 0)]
        if module.call_site is None:
            raise ValueError("calls have no sites in this language")
        line, last_line, column, last_column = map(int, position)
        site = module.call_site((line, last_line, column, last_column), str(function))
        if site.owner is not None:
            site = site._replace(owner=module.functions[site.owner])
        shown = ("call", site.file, line, last_line, column, last_column, site.function)
        self._resolver.define_call(number, self._first_sites.setdefault(shown, number))
        self.sites[number] = site

    def _function(self, function: FunctionDefinition) -> int:
        """Its number: the same for a module that is loaded again."""
        number = self._function_numbers.setdefault(function, len(self.functions))
        if number == len(self.functions):
            self.functions.append(function)
        return number

    def _region(self, region: RegionDefinition) -> int:
        if region not in self._regions:
            name, origin, is_trampoline, flow, function = region
            label = RegionLabel(name, origin, flow, None, function)
            self._regions[region] = self._resolver.define_region(
                self._label(label),
                self._label(label._replace(origin="outer")),
                self._label(label._replace(entered=CALLBACK)),
                self._label(label._replace(entered=RESUMED)),
                is_function=origin == "function",
                is_trampoline=is_trampoline,
                is_outer=origin == "outer",
                is_statement=origin == "statement",
            )
        return self._regions[region]

    def _label(self, label: RegionLabel) -> int:
        key = (label.name, label.origin, label.entered, label.function)
        number = self._label_numbers.setdefault(key, len(self.labels))
        if number == len(self.labels):
            self.labels.append(label)
        return number

    def _shown(self, file: str) -> str:
        """A file below the directory that the program runs in is shown relative to it."""
        if file.startswith("<"):
            return file
        try:
            path = os.path.realpath(os.path.join(self._root, file))
        except ValueError:  # no file can have this name, but code can that was compiled from a text
            return file
        return path[len(self._root) :] if path.startswith(self._root) else file
