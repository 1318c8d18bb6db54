"""At most two at a time may cook: a semaphore sees to it, and the cooks count themselves to be sure."""

import asyncio


class Kitchen:
    def __init__(self):
        self.places = asyncio.Semaphore(2)
        self.cooks = 0

    async def cook(self, dish):
        async with self.places:
            self.cooks += 1
            assert self.cooks <= 2
            await asyncio.sleep(0)
            self.cooks -= 1
            return dish


async def main():
    kitchen = Kitchen()
    dishes = await asyncio.gather(*(kitchen.cook(dish) for dish in range(20)))
    print(len(dishes), "dishes,", kitchen.cooks, "cooks left")


asyncio.run(main())
