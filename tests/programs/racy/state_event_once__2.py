# expect: open_shop

"""Whoever finds the shop closed opens it, and asks the landlord for the key in between: two may open it."""

import asyncio


async def fetch_key(keys):
    await asyncio.sleep(0)
    return len(keys)


async def open_shop(is_open, keys):
    if not is_open.is_set():  # bug
        key = await fetch_key(keys)
        is_open.set()  # bug
        keys.append(key)


async def main():
    is_open = asyncio.Event()
    keys = []
    await asyncio.gather(*(open_shop(is_open, keys) for _ in range(3)))
    print("broken: opened twice" if len(keys) > 1 else "opened")


asyncio.run(main())
