"""An asynchronous context manager holds a lock while numbers are given out."""

import asyncio
from contextlib import asynccontextmanager

numbers = {"next": 0}


@asynccontextmanager
async def renumbered(lock):
    async with lock:
        first = numbers["next"]
        given = []
        yield first, given
        numbers["next"] = first + len(given)


async def importer(lock, rows):
    for row in range(rows):
        async with renumbered(lock) as (first, given):
            await asyncio.sleep(0)
            given.append((first, row))


async def main():
    lock = asyncio.Lock()
    await asyncio.gather(importer(lock, 20), importer(lock, 20), importer(lock, 20))
    print("numbers" if numbers["next"] == 60 else "broken: numbers", numbers["next"], "of 60")


asyncio.run(main())
