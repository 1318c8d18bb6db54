# expect: Session.login
# within: worker

"""Two tasks both see that nobody is logged in."""

import asyncio


class Session:
    def __init__(self):
        self.user = None

    async def login(self, name):
        if self.user is None:  # bug
            await asyncio.sleep(0)
            self.user = name  # bug

    async def logout(self):
        self.user = None  # bug
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
