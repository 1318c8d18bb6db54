"""Time of an access in nanoseconds, plain and with a probe: `python bench/probes.py`.

Each line runs in a loop of its own, plain and instrumented; the time of an empty loop is subtracted. Loops are short
and the best of many counts, because the machine is shared. Between loops the log is emptied. The last column is the
figure of a prototype, where it was measured.
"""

from __future__ import annotations

import mmap
import struct
from types import CodeType
from typing import Any

from atomsan.recorder.python import _log, _probes
from atomsan.source.instrument import bind, compile_instrumented

LOOPS = 10_000
REPEATS = 20
ROUNDS = 8

# The measured statements, each with the figure of the prototype.
LINES = {
    "attribute load": ("a.x", 13),
    "attribute store": ("a.x = 1", 14),
    "attribute +=": ("a.x += 1", 40),
    "dict load": ("d[k]", 24),
    "dict store": ("d[k] = 1", None),
    "list load": ("l[i]", 16),
    "list store": ("l[i] = 1", None),
    "dict.get": ("d.get(k)", 27),
    "list.append": ("l.append(1)", 20),
    "global load": ("G", 13),
    "global store": ("G = 1", None),
    "method lookup": ("a.m", None),
    "function that loads": ("g(a)", None),
    "empty": ("pass", None),
}

SOURCE = """
from time import thread_time
class A:
    def __init__(self):
        self.x = 1
    def m(self):
        pass
G = 1
def change():
    global G
    G = 2
def g(a):
    return a.x
def f(loops, a, d, l, k, i):
    {globals}
    start = thread_time()
    for _ in loops:
        {line}
    return thread_time() - start
"""


def function(line: str, instrumented: bool) -> Any:
    source = SOURCE.format(line=line, globals="global G" if line.startswith("G") else "pass")
    code: CodeType
    if instrumented:
        code, plan = compile_instrumented(source, module="bench", file="bench.py")
        code = bind(code, _probes.make_probes(plan, 1).__getitem__)
    else:
        code = compile(source, "bench.py", "exec")
    names: dict[str, Any] = {"__name__": "bench"}
    _log.register_module(names, "bench")
    exec(code, names)
    return names


def best_time(names: dict[str, Any], memory: mmap.mmap) -> float:
    a = names["A"]()
    best = float("inf")
    for _ in range(REPEATS):
        best = min(best, names["f"](range(LOOPS), a, {"k": 1}, [1, 2, 3], "k", 1))
        struct.pack_into("<Q", memory, 24, struct.unpack_from("<Q", memory, 16)[0])
    return best / LOOPS * 1e9


def main() -> None:
    memory = mmap.mmap(-1, 4096 + 32 * (1 << 16))
    _log.make_ring(memory)
    _log.attach(memory, lambda message: None)
    _probes.set_call_sites(lambda caller, instruction, site: 1)
    functions = {(name, way): function(line, way) for name, (line, _) in LINES.items() for way in (False, True)}
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for which, names in functions.items():
            best[which] = min(best[which], best_time(names, memory))
    _log.detach()
    print(f"{'':32}{'plain':>8}{'probe':>8}{'to beat':>9}")
    for name, (_, figure) in LINES.items():
        plain, probed = (best[name, way] - best["empty", way] for way in (False, True))
        print(f"{name:32}{plain:8.1f}{probed:8.1f}{figure or '':>9}")


if __name__ == "__main__":
    main()
