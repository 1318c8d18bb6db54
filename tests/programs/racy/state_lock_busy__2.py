# expect: refresh

"""A task that finds the lock free asks for the address first, and takes the lock after it: so does another one."""

import asyncio


async def address():
    await asyncio.sleep(0)
    return "there"


async def refresh(lock, fetched):
    if lock.locked():  # bug
        return
    place = await address()
    async with lock:  # bug
        fetched.append(place)
        await asyncio.sleep(0)


async def main():
    lock = asyncio.Lock()
    fetched = []
    await asyncio.gather(*(refresh(lock, fetched) for _ in range(3)))
    print("broken: fetched twice" if len(fetched) > 1 else "fetched")


asyncio.run(main())
