# expect: Shelf.borrow

"""A callback of the loop gives a book back while a task waits with the old count."""

import asyncio


class Shelf:
    def __init__(self):
        self.lent = 0

    async def borrow(self):
        lent = self.lent  # bug
        await asyncio.sleep(0)
        self.lent = lent + 1  # bug

    def give_back(self, task):
        self.lent -= 1  # bug


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
