"""Nothing is awaited between the question and the lock, which is free and taken at once."""

import asyncio


async def address():
    await asyncio.sleep(0)
    return "there"


async def refresh(lock, fetched):
    if lock.locked():
        return
    async with lock:
        fetched.append(await address())


async def main():
    lock = asyncio.Lock()
    fetched = []
    await asyncio.gather(*(refresh(lock, fetched) for _ in range(3)))
    print("broken: fetched twice" if len(fetched) > 1 else "fetched")


asyncio.run(main())
