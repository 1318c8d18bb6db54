# expect: Prices.lookup
# within: buyer

"""While a price is fetched it changes, and the old one is cached."""

import asyncio


class Prices:
    def __init__(self):
        self.store = {"tea": 1}
        self.cache = {}

    async def lookup(self, item):
        if item in self.cache:
            return self.cache[item]
        price = self.store[item]  # bug
        await asyncio.sleep(0)
        self.cache[item] = price  # bug
        return price

    async def update(self, item, price):
        self.store[item] = price  # bug
        self.cache.pop(item, None)  # bug


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
