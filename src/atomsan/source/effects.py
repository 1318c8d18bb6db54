"""What the methods and functions of builtin containers do to the containers: plain data.

The instrumenter needs the names (`METHODS`, `FUNCTIONS`): only a call by such a name gets a probe. The probes need the
effects: which location of the container is read and which is written. An effect is a line of steps, each `read` or
`write` and a location of the container:

    element      that of the key, which is the first argument
    structure    which elements there are, and in which order
    elements     each element there is (of a large container: the whole)
    fields       each attribute of an object that is not a container
    first, last  the element at that end
    attribute    the one that the first argument names
    keys         those of the first argument, a mapping: as one `element` each
    argument     the structure and the elements of the first argument, which is iterated
    everything   `structure`, `elements` and `fields` of the argument and of what is in it, to a bounded depth

Methods with a key tell a key that is there (`steps`) from a new one (`absent`).
"""

from __future__ import annotations

from typing import NamedTuple


class Effect(NamedTuple):
    """What a call does to the container."""

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
_GROW = Effect("write structure")
_GROW_BY = Effect("read argument, write structure")
_SHIFT = Effect("write elements, write structure")
_TAKE_FIRST = Effect("write first, write structure")
_TAKE_LAST = Effect("write last, write structure")
_MERGE = Effect("write keys")
_READ_BOTH = Effect("read argument, read structure, read elements")
_KEEP_SOME = Effect("read argument, write elements, write structure")

_SEQUENCE = {
    "append": _GROW,
    "extend": _GROW_BY,
    "clear": _SHIFT,
    "insert": _SHIFT,
    "remove": _SHIFT,
    "reverse": _SHIFT,
    "pop": _TAKE_LAST,
    "count": _READ_ALL,
    "index": _READ_ALL,
    "__len__": _SCAN,
    "__iter__": _SCAN,
    "__contains__": _READ_ALL,
    "__reversed__": _SCAN,
}
_MAPPING = {
    "get": _LOOK,
    "__getitem__": _LOOK,
    "__contains__": _LOOK,
    "__setitem__": _STORE,
    "__delitem__": _REMOVE,
    "setdefault": _ENSURE,
    "pop": _REMOVE,
    "popitem": _TAKE_LAST,
    "clear": _SHIFT,
    "update": _MERGE,
    "copy": _READ_ALL,
    "values": _NOTHING,
    "items": _NOTHING,
    "keys": _NOTHING,
    "__len__": _SCAN,
    "__iter__": _SCAN,
    "__reversed__": _SCAN,
    "__ior__": _MERGE,
}
_SET = {
    "add": _STORE,
    "discard": _REMOVE,
    "remove": _REMOVE,
    "__contains__": _LOOK,
    # which one it takes cannot be told
    "pop": _SHIFT,
    "clear": _SHIFT,
    "copy": _READ_ALL,
    "update": _GROW_BY,
    "difference_update": _KEEP_SOME,
    "intersection_update": _KEEP_SOME,
    "symmetric_difference_update": _KEEP_SOME,
    "difference": _READ_BOTH,
    "intersection": _READ_BOTH,
    "union": _READ_BOTH,
    "symmetric_difference": _READ_BOTH,
    "isdisjoint": _READ_BOTH,
    "issubset": _READ_BOTH,
    "issuperset": _READ_BOTH,
    "__len__": _SCAN,
    "__iter__": _SCAN,
    "__ior__": _GROW_BY,
}
# (type name, method): the effect. A view is about its dictionary. Types stand under their qualified names.
EFFECTS: dict[str, dict[str, Effect]] = {
    "list": {**_SEQUENCE, "copy": _READ_ALL, "sort": _SHIFT, "__iadd__": _GROW_BY, "__imul__": _GROW},
    "bytearray": {**_SEQUENCE, "copy": _READ_ALL, "decode": _READ_ALL, "hex": _READ_ALL, "__iadd__": _GROW_BY},
    "array.array": {
        **_SEQUENCE,
        "fromlist": _GROW_BY,
        "frombytes": _GROW,
        "fromfile": _GROW,
        "fromunicode": _GROW,
        "byteswap": _SHIFT,
        "tobytes": _READ_ALL,
        "tolist": _READ_ALL,
        "tounicode": _READ_ALL,
        "tofile": _READ_ALL,
    },
    "collections.deque": {
        **_SEQUENCE,
        "appendleft": _GROW,
        "extendleft": _GROW_BY,
        "popleft": _TAKE_FIRST,
        "rotate": _SHIFT,
        "copy": _READ_ALL,
        "__iadd__": _GROW_BY,
    },
    "dict": _MAPPING,
    "collections.defaultdict": _MAPPING,
    "collections.OrderedDict": {**_MAPPING, "popitem": _SHIFT, "move_to_end": _GROW},
    "collections.Counter": {
        **_MAPPING,
        "update": _SHIFT,
        "subtract": _SHIFT,
        "most_common": _READ_ALL,
        "total": _READ_ALL,
        "elements": _SCAN,
    },
    "collections.ChainMap": _MAPPING,
    "set": _SET,
    "dict_keys": {"__len__": _SCAN, "__iter__": _SCAN, "__contains__": _LOOK, "isdisjoint": _READ_BOTH},
    "dict_values": {"__len__": _SCAN, "__iter__": _SCAN},
    "dict_items": {"__len__": _SCAN, "__iter__": _SCAN, "isdisjoint": _READ_BOTH},
    # What is done to an attribute of the object: the first argument is its name. Also `super().__setattr__(...)`.
    "object": {
        "__getattribute__": Effect("read attribute"),
        "__setattr__": Effect("write attribute"),
        "__delattr__": Effect("write attribute"),
    },
    # What `str.join` and `bytes.join` do is done to their argument.
    "str": {"join": Effect("read argument")},
    "bytes": {"join": Effect("read argument")},
}

# Methods of which the first argument says what is touched: a key, or what is iterated.
_KEYED = {
    *("get", "setdefault", "pop", "update", "add", "discard", "remove", "extend", "extendleft", "join", "fromlist"),
    *("move_to_end", "difference_update", "intersection_update", "symmetric_difference_update"),
    *("difference", "intersection", "union", "symmetric_difference", "isdisjoint", "issubset", "issuperset"),
    *("__getattribute__", "__setattr__", "__delattr__"),
    *("__getitem__", "__setitem__", "__delitem__", "__contains__", "__ior__", "__iadd__"),
}

# The name of a method with effects: whether its first argument, where there is one, is a key (the probe wants it).
METHODS: dict[str, bool] = {
    name: name in _KEYED
    for name in sorted({name for effects in EFFECTS.values() for name, effect in effects.items() if effect.steps})
}


# The methods by which locks, events, queues and the like are used. They have no effects on locations: whoever names the
# primitive that is used looks at what the method is called on.
PRIMITIVE_METHODS = frozenset(
    {
        *("acquire", "release", "locked", "__enter__", "__exit__", "wait", "wait_for", "notify", "notify_all"),
        *("set", "is_set", "clear", "put", "put_nowait", "get", "get_nowait", "join", "task_done", "qsize", "empty"),
        *("full", "result", "set_result", "set_exception", "abort", "reset"),
    }
)


class Call(NamedTuple):
    """What a function does."""

    argument: int
    """The argument that has the effects; -1: the probe has to see the whole call."""
    effect: Effect
    """On that argument."""
    does: str = ""
    """What a call with -1 is: `attribute read|write|delete|ask`, `item read|write|delete|ask`, `augment METHOD`,
    `each` (the effect is on every argument), `second` (on the second), `iterate` (lazily, over every argument)."""


_SORTS = Call(0, _READ_ALL)
_LAZY = Call(0, Effect("iterate"))
_HEAP = Call(0, _SHIFT)
_DEEP = Call(0, Effect("read everything"))
_COPY = Call(0, Effect("read structure, read elements, read fields"))
_EACH = Call(-1, _READ_ALL, "each")


def _augment(method: str) -> Call:
    return Call(-1, _NOTHING, f"augment {method}")


# By canonical dotted name; builtins have no prefix.
CALLS: dict[str, Call] = {
    "len": Call(0, _SCAN),
    "bool": Call(0, _SCAN),
    **dict.fromkeys(
        (
            *("sorted", "list", "tuple", "dict", "set", "frozenset", "bytes", "bytearray", "sum", "any", "all"),
            *("min", "max"),
            *("collections.deque", "collections.OrderedDict", "collections.Counter", "collections.ChainMap"),
            *("math.fsum", "math.prod", "random.choice", "random.choices"),
            *("random.sample", "bisect.bisect", "bisect.bisect_left", "bisect.bisect_right"),
            *("statistics.mean", "statistics.fmean", "statistics.median", "statistics.stdev", "statistics.mode"),
            *("itertools.accumulate", "itertools.permutations", "itertools.combinations", "itertools.cycle"),
        ),
        _SORTS,
    ),
    "collections.defaultdict": Call(-1, _READ_ALL, "second"),
    "array.array": Call(-1, _READ_ALL, "second"),
    "heapq.nlargest": Call(-1, _READ_ALL, "second"),
    "heapq.nsmallest": Call(-1, _READ_ALL, "second"),
    "heapq.merge": _EACH,
    "itertools.chain": Call(-1, _NOTHING, "iterate"),
    "itertools.chain.from_iterable": _SORTS,
    "itertools.islice": _LAZY,
    "itertools.groupby": _LAZY,
    "itertools.product": _EACH,
    "itertools.zip_longest": Call(-1, _NOTHING, "iterate"),
    "enumerate": _LAZY,
    "map": Call(-1, _NOTHING, "iterate"),
    "filter": Call(-1, _NOTHING, "iterate"),
    "zip": Call(-1, _NOTHING, "iterate"),
    "iter": Call(0, _SCAN),
    "reversed": Call(0, _READ_ALL),
    "functools.reduce": Call(-1, _READ_ALL, "second"),
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
    "operator.countOf": _SORTS,
    "operator.indexOf": _SORTS,
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
    "heapq.heappush": _HEAP,
    "heapq.heappop": _HEAP,
    "heapq.heapify": _HEAP,
    "heapq.heappushpop": _HEAP,
    "heapq.heapreplace": _HEAP,
    "bisect.insort": _HEAP,
    "bisect.insort_left": _HEAP,
    "bisect.insort_right": _HEAP,
    "random.shuffle": _HEAP,
}

# The name of a function with effects: the index of the argument that has them, or -1: only the `call` probe can say.
FUNCTIONS: dict[str, int] = {name: call.argument for name, call in CALLS.items()}

# Operations (names of sites) of which any two of one group commute: done in either order, the container serves alike.
# What comes and goes by its name or value does so whatever else comes and goes. By its position it does not.
COMMUTING: tuple[frozenset[str], ...] = (
    frozenset({"append", "extend", "__iadd__", "put", "put_nowait", "remove"}),
    frozenset({"appendleft", "extendleft", "remove"}),
    frozenset({"add", "update", "__ior__", "discard", "remove", "difference_update"}),
    frozenset({"heapq.heappush", "bisect.insort", "bisect.insort_left", "bisect.insort_right"}),
    frozenset({"subtract"}),
)

# The same for mappings, whose keys come and go. In a list `del` and `pop` are by position; but no store makes an
# element there, so what makes one shows that it is none.
MAKES_KEY = frozenset({"__setitem__", "setdefault"})
COMMUTING_IN_MAPPINGS = MAKES_KEY | {"__delitem__", "pop"}

# What only sequences have. There, `remove` is by value, and moves what stands behind that.
MAKES_PLACE = frozenset({"append", "extend"})


def commute(one: str, other: str, *, is_mapping: bool = False) -> bool:
    """Whether operations of these names on one container commute."""
    if is_mapping and {one, other} <= COMMUTING_IN_MAPPINGS:
        return True
    return any(one in group and other in group for group in COMMUTING)


def commute_on_element(one: str, other: str, *, is_list: bool = False) -> bool:
    """The same for one element of it. Only a set's is there alike, whoever adds it."""
    return one == other == "add" or (is_list and "remove" in (one, other) and {one, other} <= MAKES_PLACE | {"remove"})
