"""Table of the methods and functions of built-in types: one row each, and the sets derived from the rows.

A row has the effect on locations (for the probes), what stays private (for the escape analysis) and what commutes (for
judging violations). To add a method is one line in `METHOD_TABLE` and one in `tests/source/test_effects.py`, where
each row is held against the real built-in.

An effect is a line of steps, each `read` or `write` and a location of the container:

    element      that of the key, which is the first argument
    structure    which elements there are, and in which order
    elements     each element there is (of a large container: the whole)
    iterated     those that an iteration gives: `elements`, but of a mapping nothing, whose keys are its structure
    fields       each attribute of an object that is not a container
    first, last  the element at that end
    attribute    the one that the first argument names
    keys         those of the first argument, a mapping: as one `element` each
    argument     the structure and what is iterated of the first argument
    mapping      the structure and the elements of the first argument
    everything   `structure`, `elements` and `fields` of the argument and of what is in it, to a bounded depth

Methods with a key tell a key that is there (`steps`) from a new one (`absent`).
"""

# Annotations are evaluated here: as texts, NamedTuple would compile each one, at the start of every recorded program.
from typing import NamedTuple


class Effect(NamedTuple):
    """The reads and writes of a call."""

    steps: str = ""
    absent: str | None = None
    """The steps if the key is not there; None: the same."""


_NOTHING = Effect()
_LOOK = Effect("read element")
_STORE = Effect("write element", "write element, write structure")
_ENSURE = Effect("read element", "write element, write structure")
_REMOVE = Effect("write element, write structure", "read element")
_SCAN = Effect("read structure")
_READ_ALL = Effect("read structure, read elements")
_ITERATE_ALL = Effect("read structure, read iterated")
_GROW = Effect("write structure")
_GROW_BY = Effect("read argument, write structure")
_SHIFT = Effect("write elements, write structure")
_TAKE_FIRST = Effect("write first, write structure")
_TAKE_LAST = Effect("write last, write structure")
_MERGE = Effect("read mapping, write keys")
_READ_BOTH = Effect("read argument, read structure, read elements")
_KEEP_SOME = Effect("read argument, write elements, write structure")

# Groups of operations of which any two commute: done in either order, the container serves alike. What comes and goes
# by its name or value does so whatever else comes and goes; by its position it does not.
_AT_END, _AT_FRONT, _BY_VALUE, _SORTED, _COUNTED = "end", "front", "value", "sorted", "counted"
_EMPTIED = "emptied"
# The same for mappings only. In a list `del` and `pop` are by position.
_BY_KEY = "key"


class Method(NamedTuple):
    """A method, for the types that have it alike."""

    name: str
    types: tuple[str, ...]
    """Qualified names, without a prefix for built-ins. A view of a dictionary is about its dictionary."""
    effect: Effect | None
    """None: calls of it have no probe."""
    borrows: bool = False
    """It neither returns nor keeps the object it is called on. Not recorded of special methods: the operators that call
    them have rules of their own."""
    is_view: bool = False
    """It returns a view of the object."""
    takes_key: bool = False
    """The first argument is a key though no step is about its element."""
    changes: str = ""
    """The change to single elements: `adds key` (to a mapping), `adds place` (to a sequence), `adds value` (to a
    set), `removes value` (from a sequence)."""
    commutes: tuple[str, ...] = ()
    """The groups it belongs to."""
    reads_by: str = ""
    """The method of the same object by which it reads it. In a class that overrides that, it reads nothing itself."""
    writes_by: str = ""
    """The same for its writes."""


_LIST, _BYTES, _ARRAY, _DEQUE = ("list",), ("bytearray",), ("array.array",), ("collections.deque",)
_SEQUENCES = (*_LIST, *_BYTES, *_ARRAY, *_DEQUE)
_ORDERED, _COUNTER, _CHAIN = ("collections.OrderedDict",), ("collections.Counter",), ("collections.ChainMap",)
_PLAIN = ("dict", "collections.defaultdict")
_DICTS = (*_PLAIN, *_ORDERED, *_COUNTER)
_WEAK = ("weakref.WeakValueDictionary", "weakref.WeakKeyDictionary")
_MAPPINGS = (*_DICTS, *_CHAIN, *_WEAK)
_SET = ("set",)
_KEYS, _VALUES, _ITEMS = ("dict_keys",), ("dict_values",), ("dict_items",)
_QUEUES = ("queue.Queue", "asyncio.Queue")

METHOD_TABLE: tuple[Method, ...] = (
    Method("append", _SEQUENCES, _GROW, borrows=True, changes="adds place", commutes=(_AT_END,)),
    Method("extend", _SEQUENCES, _GROW_BY, borrows=True, changes="adds place", commutes=(_AT_END,)),
    Method("clear", (*_LIST, *_BYTES, *_DEQUE), _SHIFT, borrows=True, commutes=(_EMPTIED,)),
    Method("clear", _ARRAY, _SHIFT, borrows=True),
    Method("insert", _SEQUENCES, _SHIFT, borrows=True),
    Method("remove", _SEQUENCES, _SHIFT, borrows=True, changes="removes value", commutes=(_AT_END, _AT_FRONT)),
    Method("reverse", _SEQUENCES, _SHIFT, borrows=True),
    Method("pop", _SEQUENCES, _TAKE_LAST, borrows=True),
    Method("count", _SEQUENCES, _READ_ALL, borrows=True),
    Method("index", _SEQUENCES, _READ_ALL, borrows=True),
    Method("__len__", _SEQUENCES, _SCAN),
    Method("__iter__", _SEQUENCES, _SCAN),
    Method("__contains__", _SEQUENCES, _READ_ALL),
    Method("__reversed__", (*_LIST, *_DEQUE), _SCAN),
    Method("appendleft", _DEQUE, _GROW, borrows=True, commutes=(_AT_FRONT,)),
    Method("extendleft", _DEQUE, _GROW_BY, borrows=True, commutes=(_AT_FRONT,)),
    Method("popleft", _DEQUE, _TAKE_FIRST, borrows=True),
    Method("rotate", _DEQUE, _SHIFT, borrows=True),
    Method("copy", (*_LIST, *_BYTES, *_DEQUE), _READ_ALL, borrows=True),
    Method("sort", _LIST, _SHIFT, borrows=True),
    Method("decode", _BYTES, _READ_ALL, borrows=True),
    Method("hex", _BYTES, _READ_ALL, borrows=True),
    Method("find", _BYTES, None, borrows=True),
    Method("startswith", _BYTES, None, borrows=True),
    Method("endswith", _BYTES, None, borrows=True),
    Method("__iadd__", (*_LIST, *_BYTES, *_DEQUE), _GROW_BY, commutes=(_AT_END,)),
    Method("__imul__", _LIST, _GROW),
    Method("fromlist", _ARRAY, _GROW_BY, borrows=True),
    Method("frombytes", _ARRAY, _GROW, borrows=True),
    Method("fromfile", _ARRAY, _GROW, borrows=True),
    Method("fromunicode", _ARRAY, _GROW, borrows=True),
    Method("byteswap", _ARRAY, _SHIFT, borrows=True),
    Method("tobytes", _ARRAY, _READ_ALL, borrows=True),
    Method("tolist", _ARRAY, _READ_ALL, borrows=True),
    Method("tounicode", _ARRAY, _READ_ALL, borrows=True),
    Method("tofile", _ARRAY, _READ_ALL, borrows=True),
    Method("get", (*_DICTS, *_WEAK), _LOOK, borrows=True),
    Method("get", _CHAIN, _LOOK, borrows=True, reads_by="__getitem__"),
    Method("__getitem__", _MAPPINGS, _LOOK),
    Method("__contains__", _MAPPINGS, _LOOK),
    Method("__setitem__", _MAPPINGS, _STORE, changes="adds key", commutes=(_BY_KEY,)),
    Method("__delitem__", _MAPPINGS, _REMOVE, commutes=(_BY_KEY,)),
    Method("setdefault", (*_PLAIN, *_COUNTER, *_WEAK), _ENSURE, borrows=True, changes="adds key", commutes=(_BY_KEY,)),
    Method(
        *("setdefault", (*_ORDERED, *_CHAIN), _ENSURE),
        borrows=True,
        changes="adds key",
        commutes=(_BY_KEY,),
        reads_by="__getitem__",
        writes_by="__setitem__",
    ),
    Method("pop", _MAPPINGS, _REMOVE, borrows=True, commutes=(_BY_KEY,)),
    Method("popitem", (*_PLAIN, *_COUNTER, *_CHAIN), _TAKE_LAST, borrows=True),
    Method("popitem", (*_ORDERED, *_WEAK), _SHIFT, borrows=True),
    Method("clear", _MAPPINGS, _SHIFT, borrows=True, commutes=(_EMPTIED,)),
    Method("update", (*_PLAIN, *_WEAK), _MERGE, borrows=True, commutes=(_BY_VALUE,)),
    Method("update", (*_ORDERED, *_CHAIN), _MERGE, borrows=True, commutes=(_BY_VALUE,), writes_by="__setitem__"),
    Method("update", _COUNTER, _SHIFT, borrows=True, commutes=(_BY_VALUE,), writes_by="__setitem__"),
    Method("copy", (*_PLAIN, *_COUNTER, *_CHAIN, *_WEAK), _READ_ALL, borrows=True),
    Method("copy", _ORDERED, _READ_ALL, borrows=True, reads_by="__getitem__"),
    Method("values", (*_DICTS, *_CHAIN), _NOTHING, is_view=True),
    Method("items", (*_DICTS, *_CHAIN), _NOTHING, is_view=True),
    Method("keys", (*_DICTS, *_CHAIN), _NOTHING, is_view=True),
    Method("__len__", _MAPPINGS, _SCAN),
    Method("__iter__", _MAPPINGS, _SCAN),
    Method("__reversed__", _DICTS, _SCAN),
    Method("__ior__", (*_PLAIN, *_CHAIN, *_WEAK), _MERGE, commutes=(_BY_VALUE,)),
    Method("__ior__", (*_ORDERED, *_COUNTER), _MERGE, commutes=(_BY_VALUE,), writes_by="__setitem__"),
    Method("move_to_end", _ORDERED, _GROW, borrows=True, takes_key=True),
    Method("subtract", _COUNTER, _SHIFT, borrows=True, commutes=(_COUNTED,), writes_by="__setitem__"),
    Method("most_common", _COUNTER, _READ_ALL, borrows=True),
    Method("total", _COUNTER, _READ_ALL, borrows=True),
    Method("elements", _COUNTER, _SCAN),
    # an element is in a set alike, whoever adds it
    Method("add", _SET, _STORE, borrows=True, changes="adds value", commutes=(_BY_VALUE,)),
    Method("discard", _SET, _REMOVE, borrows=True, commutes=(_BY_VALUE,)),
    Method("remove", _SET, _REMOVE, borrows=True, commutes=(_BY_VALUE,)),
    Method("__contains__", _SET, _LOOK),
    # which one it takes cannot be told
    Method("pop", _SET, _SHIFT, borrows=True),
    Method("clear", _SET, _SHIFT, borrows=True, commutes=(_EMPTIED,)),
    Method("copy", _SET, _READ_ALL, borrows=True),
    Method("update", _SET, _GROW_BY, borrows=True, commutes=(_BY_VALUE,)),
    Method("difference_update", _SET, _KEEP_SOME, borrows=True, commutes=(_BY_VALUE,)),
    Method("intersection_update", _SET, _KEEP_SOME, borrows=True),
    Method("symmetric_difference_update", _SET, _KEEP_SOME, borrows=True),
    Method("difference", _SET, _READ_BOTH, borrows=True),
    Method("intersection", _SET, _READ_BOTH, borrows=True),
    Method("union", _SET, _READ_BOTH, borrows=True),
    Method("symmetric_difference", _SET, _READ_BOTH, borrows=True),
    Method("isdisjoint", _SET, _READ_BOTH, borrows=True),
    Method("issubset", _SET, _READ_BOTH, borrows=True),
    Method("issuperset", _SET, _READ_BOTH, borrows=True),
    Method("__len__", _SET, _SCAN),
    Method("__iter__", _SET, _SCAN),
    Method("__ior__", _SET, _GROW_BY, commutes=(_BY_VALUE,)),
    Method("__len__", (*_KEYS, *_VALUES, *_ITEMS), _SCAN),
    Method("__iter__", (*_KEYS, *_VALUES, *_ITEMS), _SCAN),
    Method("__contains__", _KEYS, _LOOK),
    Method("isdisjoint", (*_KEYS, *_ITEMS), _READ_BOTH, borrows=True),
    # what is done to an attribute of the object, also by `super().__setattr__(...)`
    Method("__getattribute__", ("object",), Effect("read attribute")),
    Method("__setattr__", ("object",), Effect("write attribute")),
    Method("__delattr__", ("object",), Effect("write attribute")),
    # what it does is done to its argument
    Method("join", ("str", "bytes"), Effect("read argument"), borrows=True),
    # a queue is a primitive: what is put is no location
    Method("put", _QUEUES, None, commutes=(_AT_END,)),
    Method("put_nowait", _QUEUES, None, commutes=(_AT_END,)),
)

# The methods by which locks, events, queues and the like are used. They have no effects on locations: whoever names the
# primitive that is used looks at what the method is called on.
PRIMITIVE_METHODS = frozenset(
    {
        *("acquire", "release", "locked", "__enter__", "__exit__", "wait", "wait_for", "notify", "notify_all"),
        *("set", "is_set", "clear", "put", "put_nowait", "get", "get_nowait", "join", "task_done", "qsize", "empty"),
        *("full", "result", "set_result", "set_exception", "abort", "reset", "done", "cancelled", "running", "cancel"),
        *("is_alive", "start"),
    }
)


# Those of them that put into a queue or take out of it.
QUEUE_METHODS = frozenset({"put", "put_nowait", "get", "get_nowait"})
# Those that change the state of one.
STATE_METHODS = frozenset({"set", "clear", "set_result", "set_exception", "cancel", "start"})


class Call(NamedTuple):
    """A function, by what a call of it does."""

    argument: int | None
    """The argument that has the effects; -1: the probe has to see the whole call; None: calls of it have no probe."""
    effect: Effect
    """On that argument."""
    does: str = ""
    """The kind of a call with -1: `attribute read|write|delete|ask`, `item read|write|delete|ask`, `augment METHOD`,
    `each` (the effect is on every argument), `second` (on the second), `iterate` (lazily, over every argument)."""
    borrows: str = ""
    """The arguments that it neither returns nor keeps: `all`; `first`, because it stores or returns the others;
    `single`, because of several it returns one. `loop`: it makes an iterator over them, which lets them go where it is
    iterated at once."""
    makes: bool = False
    """It makes a new container, of exactly the type it is named after."""
    commutes: tuple[str, ...] = ()
    """The groups it belongs to."""


_READS = Call(0, _ITERATE_ALL)
_BORROWS = Call(0, _ITERATE_ALL, borrows="all")
_LAZY = Call(0, Effect("iterate"))
_EVERY = Call(-1, _NOTHING, "iterate")
_SECOND = Call(-1, _ITERATE_ALL, "second")
_EACH = Call(-1, _ITERATE_ALL, "each")
_INSERTS = Call(0, _SHIFT, commutes=(_SORTED,))
_DEEP = Call(0, Effect("read everything"))
_COPY = Call(0, Effect("read structure, read elements, read fields"))


def _augment(method: str) -> Call:
    return Call(-1, _NOTHING, f"augment {method}")


# By canonical dotted name; built-ins have no prefix.
FUNCTION_TABLE: dict[str, Call] = {
    "len": Call(0, _SCAN, borrows="all"),
    "bool": Call(0, _SCAN, borrows="all"),
    "sorted": _BORROWS,
    "list": Call(0, _ITERATE_ALL, borrows="all", makes=True),
    "tuple": _BORROWS,
    "dict": Call(0, _READ_ALL, borrows="all", makes=True),
    "set": Call(0, _ITERATE_ALL, borrows="all", makes=True),
    "frozenset": _BORROWS,
    "bytes": _BORROWS,
    "bytearray": Call(0, _ITERATE_ALL, makes=True),
    "sum": Call(0, _ITERATE_ALL, borrows="first"),
    "any": _BORROWS,
    "all": _BORROWS,
    "min": Call(0, _ITERATE_ALL, borrows="single"),
    "max": Call(0, _ITERATE_ALL, borrows="single"),
    "collections.deque": Call(0, _ITERATE_ALL, makes=True),
    "collections.OrderedDict": Call(0, _READ_ALL, makes=True),
    "collections.Counter": Call(0, _READ_ALL, makes=True),
    "collections.ChainMap": Call(0, _READ_ALL),
    **dict.fromkeys(
        (
            *("math.fsum", "math.prod", "random.choice", "random.choices"),
            *("random.sample", "bisect.bisect", "bisect.bisect_left", "bisect.bisect_right"),
            *("statistics.mean", "statistics.fmean", "statistics.median", "statistics.stdev", "statistics.mode"),
            *("itertools.accumulate", "itertools.permutations", "itertools.combinations", "itertools.cycle"),
        ),
        _READS,
    ),
    "collections.defaultdict": Call(-1, _READ_ALL, "second", makes=True),
    "array.array": _SECOND,
    "heapq.nlargest": Call(-1, _ITERATE_ALL, "second", borrows="all"),
    "heapq.nsmallest": Call(-1, _ITERATE_ALL, "second", borrows="all"),
    "heapq.merge": _EACH,
    "itertools.chain": _EVERY,
    "itertools.chain.from_iterable": _READS,
    "itertools.islice": _LAZY,
    "itertools.groupby": _LAZY,
    "itertools.product": _EACH,
    "itertools.zip_longest": _EVERY,
    "enumerate": Call(0, Effect("iterate"), borrows="loop"),
    "map": _EVERY,
    "filter": _EVERY,
    "zip": Call(-1, _NOTHING, "iterate", borrows="loop"),
    "iter": Call(0, _SCAN, borrows="loop"),
    "reversed": Call(0, _ITERATE_ALL, borrows="loop"),
    "functools.reduce": _SECOND,
    "copy.copy": _COPY,
    "copy.deepcopy": _DEEP,
    "json.dumps": _DEEP,
    "json.dump": _DEEP,
    "pickle.dumps": _DEEP,
    "pickle.dump": _DEEP,
    "marshal.dumps": _DEEP,
    "pprint.pprint": _DEEP,
    "pprint.pformat": _DEEP,
    "dataclasses.asdict": _DEEP,
    "dataclasses.astuple": _DEEP,
    "dataclasses.replace": Call(0, Effect("read fields")),
    "vars": Call(0, Effect("alias")),
    "getattr": Call(-1, _NOTHING, "attribute read"),
    "hasattr": Call(-1, _NOTHING, "attribute ask"),
    "setattr": Call(-1, _NOTHING, "attribute write"),
    "delattr": Call(-1, _NOTHING, "attribute delete"),
    "object.__getattribute__": Call(-1, _NOTHING, "attribute read"),
    "object.__setattr__": Call(-1, _NOTHING, "attribute write"),
    "object.__delattr__": Call(-1, _NOTHING, "attribute delete"),
    "type.__setattr__": Call(-1, _NOTHING, "attribute write"),
    "type.__delattr__": Call(-1, _NOTHING, "attribute delete"),
    **{
        f"{name}.{method}": Call(-1, _NOTHING, f"item {does}")
        for name in ("dict", "list", "collections.OrderedDict", "collections.defaultdict")
        for method, does in (("__getitem__", "read"), ("__setitem__", "write"), ("__delitem__", "delete"))
    },
    "operator.getitem": Call(-1, _NOTHING, "item read"),
    "operator.setitem": Call(-1, _NOTHING, "item write"),
    "operator.delitem": Call(-1, _NOTHING, "item delete"),
    "operator.contains": Call(-1, _NOTHING, "item ask"),
    "operator.countOf": _READS,
    "operator.indexOf": _READS,
    "operator.length_hint": Call(0, _SCAN),
    "operator.truth": Call(0, _SCAN),
    "operator.not_": Call(0, _SCAN),
    "operator.concat": _EACH,
    "operator.iconcat": _augment("__iadd__"),
    "operator.iadd": _augment("__iadd__"),
    "operator.imul": _augment("__imul__"),
    "operator.ior": _augment("__ior__"),
    "operator.iand": _augment("intersection_update"),
    "operator.isub": _augment("difference_update"),
    "operator.ixor": _augment("symmetric_difference_update"),
    "heapq.heappush": Call(0, _SHIFT, borrows="first", commutes=(_SORTED,)),
    "heapq.heappop": Call(0, _SHIFT, borrows="all"),
    "heapq.heapify": Call(0, _SHIFT, borrows="all"),
    "heapq.heappushpop": Call(0, _SHIFT, borrows="first"),
    "heapq.heapreplace": Call(0, _SHIFT, borrows="first"),
    "bisect.insort": _INSERTS,
    "bisect.insort_left": _INSERTS,
    "bisect.insort_right": _INSERTS,
    "random.shuffle": Call(0, _SHIFT),
    "repr": Call(None, _NOTHING, borrows="all"),
    "str": Call(None, _NOTHING, borrows="all"),
    "isinstance": Call(None, _NOTHING, borrows="all"),
}

# --- For the instrumenter and the probes ---

# By type and name of a method: its effect, and the methods by which it reads and writes.
EFFECTS: dict[str, dict[str, Effect]] = {}
DONE_BY: dict[str, dict[str, tuple[str, str]]] = {}
for _method in METHOD_TABLE:
    if _method.effect is not None:
        for _type in _method.types:
            EFFECTS.setdefault(_type, {})[_method.name] = _method.effect
            if _method.reads_by or _method.writes_by:
                DONE_BY.setdefault(_type, {})[_method.name] = (_method.reads_by, _method.writes_by)

# Steps that the first argument is about: a key, or what is iterated.
_OF_FIRST_ARGUMENT = frozenset({"element", "attribute", "keys", "argument", "mapping"})
_KEYED_EFFECTS = frozenset(
    effect
    for effect in {method.effect for method in METHOD_TABLE if method.effect is not None}
    if any(step.partition(" ")[2] in _OF_FIRST_ARGUMENT for step in effect.steps.split(", "))
)
# The name of a method with effects: whether its first argument, where there is one, is a key (the probe wants it).
METHODS: dict[str, bool] = dict.fromkeys(
    sorted(method.name for method in METHOD_TABLE if method.effect is not None and method.effect.steps), False
)
METHODS |= {method.name: True for method in METHOD_TABLE if method.takes_key or method.effect in _KEYED_EFFECTS}

# By function with effects: what a call of it does, and the index of the argument that has the effects.
CALLS: dict[str, Call] = {}
FUNCTIONS: dict[str, int] = {}
for _name, _call in FUNCTION_TABLE.items():
    if _call.argument is not None:
        CALLS[_name] = _call
        FUNCTIONS[_name] = _call.argument

# Methods that read another container, which may be shared.
READS_ARGUMENT = frozenset(
    name
    for methods in EFFECTS.values()
    for name, effect in methods.items()
    if any(place in effect.steps for place in ("argument", "mapping", "keys"))
)

# --- For the escape analysis ---

# Functions that make a new container. The types are exactly these, so that a method is the built-in one.
MAKERS = frozenset(name for name, call in FUNCTION_TABLE.items() if call.makes)
# The methods of such containers that neither return nor keep them.
BORROWING_METHODS = frozenset(
    method.name for method in METHOD_TABLE if method.borrows and not MAKERS.isdisjoint(method.types)
)
VIEWS = frozenset(method.name for method in METHOD_TABLE if method.is_view)
# By function: the arguments that it borrows (`Call.borrows`).
BORROWED_ARGUMENTS = {name: call.borrows for name, call in FUNCTION_TABLE.items() if call.borrows}

# --- For judging: operations by the names that sites have ---

_GROUPS: dict[str, set[str]] = {}
for _name, _groups in (
    *((method.name, method.commutes) for method in METHOD_TABLE if method.commutes),
    *((name, call.commutes) for name, call in FUNCTION_TABLE.items() if call.commutes),
):
    for _group in _groups:
        _GROUPS.setdefault(_group, set()).add(_name)
_COMMUTING_IN_MAPPINGS = frozenset(_GROUPS.pop(_BY_KEY))
_COMMUTING = tuple(map(frozenset, _GROUPS.values()))


def _changing(how: str) -> frozenset[str]:
    return frozenset(method.name for method in METHOD_TABLE if method.changes == how)


# No store makes an element of a list, so what makes one shows that the container is a mapping.
MAKES_KEY = _changing("adds key")
# Only sequences have these.
MAKES_PLACE = _changing("adds place")
_ADDS_VALUE = _changing("adds value")
# By value, and it moves what stands behind that.
_REMOVES_VALUE = _changing("removes value")


def commute(one: str, other: str, *, is_mapping: bool = False) -> bool:
    """Whether operations of these names on one container commute."""
    if is_mapping and {one, other} <= _COMMUTING_IN_MAPPINGS:
        return True
    return any(one in group and other in group for group in _COMMUTING)


def commute_on_element(one: str, other: str, *, is_list: bool = False) -> bool:
    """The same for one element of it. Only a set's is there alike, whoever adds it."""
    if one == other and one in _ADDS_VALUE:
        return True
    names = {one, other}
    return is_list and not names.isdisjoint(_REMOVES_VALUE) and names <= MAKES_PLACE | _REMOVES_VALUE
