# expect: Counter.add
# within: worker

"""Each call makes a lock of its own, which excludes nobody."""

import asyncio


class Counter:
    def __init__(self):
        self.value = 0

    async def add(self, n):
        async with asyncio.Lock():
            value = self.value  # bug
            await asyncio.sleep(0)
            self.value = value + n  # bug


async def worker(counter):
    for _ in range(30):
        await counter.add(1)


async def main():
    counter = Counter()
    await asyncio.gather(*(worker(counter) for _ in range(3)))
    print(counter.value)


asyncio.run(main())
