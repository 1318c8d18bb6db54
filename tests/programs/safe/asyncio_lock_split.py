"""Locked from the read to the write."""

import asyncio


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = asyncio.Lock()

    async def add(self, n):
        async with self.lock:
            value = self.value
            await asyncio.sleep(0)
            self.value = value + n


async def worker(counter):
    for _ in range(30):
        await counter.add(1)


async def main():
    counter = Counter()
    await asyncio.gather(*(worker(counter) for _ in range(3)))
    print(counter.value)


asyncio.run(main())
