"""An asyncio service: thousands of tasks pass requests through a limiter, a cache and a store."""

import asyncio
import sys


class Store:
    def __init__(self):
        self.rows = {}
        self.reads = 0
        self.lock = asyncio.Lock()

    async def read(self, key):
        self.reads += 1
        await asyncio.sleep(0)
        return self.rows.get(key, 0)

    async def add(self, key, amount):
        async with self.lock:
            value = await self.read(key)
            self.rows[key] = value + amount


class Service:
    def __init__(self, store):
        self.store = store
        self.limit = asyncio.Semaphore(20)
        self.done = 0

    async def handle(self, number):
        async with self.limit:
            total = 0
            for part in range(20):
                total += (number * part) % 11
            await self.store.add(number % 50, total)
            self.done += 1


async def serve(count):
    service = Service(Store())
    for start in range(0, count, 500):
        await asyncio.gather(*(service.handle(number) for number in range(start, start + 500)))
    print(service.done, sum(service.store.rows.values()), service.store.reads)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 120_000))
