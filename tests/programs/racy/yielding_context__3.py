# expect: renumbered
# within: importer

"""An asynchronous context manager reads the next number, and stores the one after the block's last."""

import asyncio
from contextlib import asynccontextmanager

numbers = {"next": 0}


@asynccontextmanager
async def renumbered():
    first = numbers["next"]  # bug
    given = []
    yield first, given
    numbers["next"] = first + len(given)  # bug


async def importer(rows):
    for row in range(rows):
        async with renumbered() as (first, given):
            await asyncio.sleep(0)
            given.append((first, row))


async def main():
    await asyncio.gather(importer(20), importer(20), importer(20))
    print("numbers" if numbers["next"] == 60 else "broken: numbers", numbers["next"], "of 60")


asyncio.run(main())
