"""The same with asyncio: a wait that is cancelled by its time limit lets others in too."""

import asyncio


class Box:
    def __init__(self):
        self.changed = asyncio.Condition()
        self.items = []
        self.waiting = 0

    async def put(self, item):
        async with self.changed:
            self.items.append(item)
            if self.waiting:
                self.changed.notify()

    async def take(self):
        async with self.changed:
            while not self.items:
                self.waiting += 1
                try:
                    await asyncio.wait_for(self.changed.wait(), 0.001)
                except TimeoutError:
                    pass
                finally:
                    self.waiting -= 1
            return self.items.pop()


async def taker(box):
    for _ in range(5):
        await box.take()


async def main():
    box = Box()
    takers = [asyncio.create_task(taker(box)) for _ in range(3)]
    for i in range(15):
        await asyncio.sleep(0.003)
        await box.put(i)
    await asyncio.gather(*takers)
    print(box.waiting)


asyncio.run(main())
