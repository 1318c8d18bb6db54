"""Tasks, all open at once: each adds to a counter, waits for the others, and adds again."""

import asyncio
import sys


class Counter:
    n = 0


async def work(counter: Counter) -> None:
    counter.n += 1
    await asyncio.sleep(0)
    counter.n += 1


async def main() -> None:
    counter = Counter()
    await asyncio.gather(*(work(counter) for _ in range(int(sys.argv[1]))))


asyncio.run(main())
