"""Fetching and caching are one critical section, as is the update."""

import asyncio


class Prices:
    def __init__(self):
        self.store = {"tea": 1}
        self.cache = {}
        self.lock = asyncio.Lock()

    async def lookup(self, item):
        async with self.lock:
            if item in self.cache:
                return self.cache[item]
            price = self.store[item]
            await asyncio.sleep(0)
            self.cache[item] = price
            return price

    async def update(self, item, price):
        async with self.lock:
            self.store[item] = price
            self.cache.pop(item, None)


prices = Prices()


async def buyer():
    for _ in range(40):
        await prices.lookup("tea")
        await asyncio.sleep(0)


async def seller():
    for price in range(40):
        await prices.update("tea", price)
        await asyncio.sleep(0)


async def main():
    await asyncio.gather(buyer(), buyer(), seller())
    print(prices.store["tea"])


asyncio.run(main())
