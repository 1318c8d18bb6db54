"""Augmented assignments to attributes: the probes go where the interpreter keeps the values, if it keeps them there."""

import mmap
from typing import Any

from atomsan.recorder.python import _log, _probes
from atomsan.source.instrument import bind, compile_instrumented

SOURCE = """
class A:
    def __init__(self):
        self.a, self.x, self.z = 0, 1, "s"

class Slots:
    __slots__ = ("x",)
    def __init__(self):
        self.x = 1

class B(A):
    def __init__(self):
        super().__init__()
        self.y = 2.5

def change(o):
    for i in range(50):
        o.x += 1
        o.x -= i
    return o.x

def other_types(o):
    for i in range(5):
        o.z += "t"
        o.a += 0.5
    return o.z, o.a

def everything():
    seen = [change(A()), change(Slots()), change(B()), other_types(A())]
    a = A()
    a.__dict__  # from here on it has a dictionary
    seen.append(change(a))
    a.__dict__["x"] = 100
    seen.append(change(a))
    del a.x
    try:
        change(a)
    except AttributeError as error:
        seen.append(str(error))
    a = A()
    seen.append(change(a))
    a.new = 3
    seen.append(change(a))
    vars(a)["other"] = 1
    seen.append((change(a), sorted(vars(a).items())[0]))
    a = A()
    a.__dict__ = {"x": 5}
    seen.append((change(a), dict(a.__dict__)))
    a = A()
    for i in range(40):  # more than objects keep in place
        setattr(a, f"n{i}", i)
    seen.append((change(a), a.__dict__["x"]))
    A.x = property(lambda self: 7, lambda self, value: None)
    seen.append(change(A()))
    del A.x
    seen.append(change(A()))
    return seen
"""


def test_augmented_assignment_gives_the_same_values() -> None:
    plain: dict[str, Any] = {"__name__": "plain"}
    exec(SOURCE, plain)
    expected = plain["everything"]()
    memory = mmap.mmap(-1, 4096 + 32 * (1 << 17))
    _log.make_ring(memory)
    _log.attach(memory, lambda message: None)
    try:
        code, plan = compile_instrumented(SOURCE, module="probed", file="probed.py")
        names: dict[str, Any] = {"__name__": "probed"}
        _log.register_module(names, "probed")
        exec(bind(code, _probes.make_probes(plan, 1).__getitem__), names)
        for _ in range(5):
            assert names["everything"]() == expected
    finally:
        _log.detach()
