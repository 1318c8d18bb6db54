"""Makes findings from witnesses in one line: `T read A.x > U write A.x > T write A.x`."""

from __future__ import annotations

from dataclasses import replace

from atomsan.findings.access_facts import ANY_KEY, ELEMENT, QUEUE, STRUCTURE
from atomsan.findings.finding import Finding, ShownStep, SiteShown

OPERATIONS = {"len": "read", "in": "read", "look": "read", "get_nowait": "write"}
FIELDS = {"#": STRUCTURE, "$": QUEUE, "*": ANY_KEY, "[": ELEMENT}


def step(words: str, number: int) -> ShownStep:
    """`T1@3 append A.items#`: thread, event, operation, location; its last sign is a part of a container."""
    who, operation, location = words.split()
    thread, _, event = who.partition("@")
    at = int(event) if event else number
    op = operation if operation in ("read", "write", "release", "acquire") else OPERATIONS.get(operation, "write")
    field = FIELDS.get(location[-1], location.rpartition(".")[2])
    return ShownStep(
        thread=thread,
        transaction=1,
        region=f"m:{thread}",
        event=at,
        place="",
        op=op,
        location=location,
        path=location,
        site=SiteShown("m.py", at, 0, "C.method", f"line {at}"),
        to=0,
        edge="",
        target=abs(hash(location)),
        number=at,
        field=field,
        object=location.rstrip("#$*[") if field in FIELDS.values() else location.partition(".")[0],
        owner_object=location.partition(".")[0] if field in FIELDS.values() and "." in location else None,
        operation=operation,
    )


def made(path: str, kind: str = "atomicity") -> Finding:
    steps = [step(words, number) for number, words in enumerate(path.split(" > "))]
    steps = [
        replace(one, edge="program-order" if one.thread == other.thread else f"{one.op}-{other.op}")
        for one, other in zip(steps, [*steps[1:], steps[0]], strict=True)
    ]
    return Finding(
        id=path,
        status="observed",
        kind="cycle" if kind == "cycle" else "atomicity",
        pattern="",
        region="m:T",
        count=1,
        first_event=0,
        witness=tuple(steps),
        span=(0, len(steps) - 1),
    )
