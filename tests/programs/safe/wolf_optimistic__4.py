"""Tasks edit a shared list of guests: who was too slow, by the edition of the list, begins again."""

import asyncio


class Guests:
    def __init__(self):
        self.names, self.edition = (), 0

    def read(self):
        return self.names, self.edition

    def write(self, names, edition):
        if edition == self.edition:
            self.names = names
            self.edition += 1
            return True
        return False


guests = Guests()


async def invite(name):
    while True:
        names, edition = guests.read()
        await asyncio.sleep(0)
        if guests.write((*names, name), edition):
            return


async def host(letter):
    for number in range(10):
        await invite(f"{letter}{number}")


async def main():
    await asyncio.gather(host("a"), host("b"), host("c"))
    print(len(guests.names), "guests")


asyncio.run(main())
