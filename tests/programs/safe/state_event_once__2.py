"""The event is set in the same step in which it is asked, before anything is awaited."""

import asyncio


async def fetch_key(keys):
    await asyncio.sleep(0)
    return len(keys)


async def open_shop(is_open, keys):
    if not is_open.is_set():
        is_open.set()
        keys.append(await fetch_key(keys))


async def main():
    is_open = asyncio.Event()
    keys = []
    await asyncio.gather(*(open_shop(is_open, keys) for _ in range(3)))
    print("broken: opened twice" if len(keys) > 1 else "opened")


asyncio.run(main())
