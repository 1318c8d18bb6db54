"""Sites of puts, gets and looks at queues: where recorded code calls them, also through a library."""

from __future__ import annotations

from pathlib import Path

import atomsan
from atomsan.trace.events import Op
from recorder.running import recorded

PROGRAM = """
    import asyncio, ctypes, queue
    import library

    class Box:
        n = 1

    box = Box()
    ordered, simple, stacked, later = queue.Queue(), queue.SimpleQueue(), queue.LifoQueue(), asyncio.Queue()

    def use(jobs):
        jobs.put(box.n)
        jobs.put_nowait(
            box.n)
        jobs.empty()
        jobs.get()
        jobs.get_nowait()

    def pass_on(jobs):
        library.call(jobs.put, box.n)
        library.call(jobs.get)

    async def tasks():
        await later.put(box.n)
        await later.get()
        later.put_nowait(box.n)
        later.get_nowait()

    use(ordered)
    use(simple)
    use(stacked)
    pass_on(ordered)
    asyncio.run(tasks())
    # what one thread alone used, and what is gone before its log was read, may be left out
    for jobs in (ordered, simple, stacked, later):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(jobs))
"""
USED = [(12, "put"), (13, "put_nowait"), (15, None), (16, "get"), (17, "get_nowait")]
EXPECTED = {
    "program.ordered (items)": ("<queue>", [*USED, (20, None), (21, None)]),
    "program.simple (items)": ("<queue>", USED),
    "program.stacked (items)": ("<items>", USED),
    "program.later (items)": ("<queue>", [(24, "put"), (25, "get"), (26, "put_nowait"), (27, "get_nowait")]),
}


def test_accesses_of_queues_stand_where_they_are_called(tmp_path: Path) -> None:
    trace = atomsan.load(recorded(tmp_path, PROGRAM))
    symbols, seen = trace.symbols, dict[str, tuple[str, list[tuple[int, str | None]]]]()
    for batch in trace.batches():
        for op, target, site in zip(batch.op.tolist(), batch.target.tolist(), batch.site.tolist(), strict=True):
            if op in (Op.READ, Op.WRITE) and symbols.locations[target].endswith(" (items)"):
                _, places = seen.setdefault(symbols.locations[target], (symbols.locations.get(target, "field"), []))
                places.append((symbols.sites.get(site, "line"), symbols.sites.get(site, "operation")))
    assert seen == EXPECTED
