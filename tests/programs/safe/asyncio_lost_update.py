"""Nothing is awaited between the read and the write."""

import asyncio


class Account:
    def __init__(self):
        self.balance = 0

    async def deposit(self, amount):
        await asyncio.sleep(0)
        balance = self.balance
        self.balance = balance + amount


account = Account()


async def worker():
    for _ in range(30):
        await account.deposit(1)


async def main():
    await asyncio.gather(worker(), worker(), worker())
    print(account.balance)


asyncio.run(main())
