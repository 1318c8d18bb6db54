"""A lock is held from the test to the login."""

import asyncio


class Session:
    def __init__(self):
        self.user = None
        self.lock = asyncio.Lock()

    async def login(self, name):
        async with self.lock:
            if self.user is None:
                await asyncio.sleep(0)
                self.user = name

    async def logout(self):
        async with self.lock:
            self.user = None
            await asyncio.sleep(0)


session = Session()


async def worker(name):
    for i in range(30):
        if i % 2:
            await session.logout()
        else:
            await session.login(name)


async def main():
    await asyncio.gather(worker("ann"), worker("bob"), worker("cid"))
    print(session.user is None)


asyncio.run(main())
