"""Tasks change the same object, but nothing is awaited between the read and the write."""

import asyncio


class Counter:
    def __init__(self):
        self.value = 0

    def add(self, n):
        value = self.value
        self.value = value + n


counter = Counter()


async def worker():
    for _ in range(50):
        counter.add(1)
        await asyncio.sleep(0)


async def main():
    await asyncio.gather(worker(), worker(), worker())
    print(counter.value)


asyncio.run(main())
