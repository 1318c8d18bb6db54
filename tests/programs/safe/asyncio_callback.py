"""A callback of the loop gives a book back; a task counts without waiting in between."""

import asyncio


class Shelf:
    def __init__(self):
        self.lent = 0

    async def borrow(self):
        await asyncio.sleep(0)
        lent = self.lent
        self.lent = lent + 1

    def give_back(self, task):
        self.lent -= 1


shelf = Shelf()


async def read():
    await shelf.borrow()


async def main():
    readers = []
    for _ in range(20):
        reader = asyncio.create_task(read())
        reader.add_done_callback(shelf.give_back)
        readers.append(reader)
        await asyncio.sleep(0)
    await asyncio.gather(*readers)
    await asyncio.sleep(0)
    print("lent:", shelf.lent)
    if shelf.lent != 0:
        print("broken: books are missing")


asyncio.run(main())
