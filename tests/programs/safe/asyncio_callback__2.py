"""A partial call that the loop makes closes a connection; a task looks and opens without waiting in between."""

import asyncio
import functools


class Pool:
    def __init__(self, most):
        self.most = most
        self.open_count = 0
        self.highest = 0

    async def open(self):
        await asyncio.sleep(0)
        if self.open_count >= self.most:
            return False
        self.open_count = self.open_count + 1
        return True

    def close(self, name):
        self.open_count = self.open_count - 1


pool = Pool(2)


async def client(name):
    for _ in range(10):
        if await pool.open():
            pool.highest = max(pool.highest, pool.open_count)
            asyncio.get_running_loop().call_soon(functools.partial(pool.close, name))
        await asyncio.sleep(0)


async def main():
    await asyncio.gather(*(client(name) for name in ("a", "b", "c", "d")))
    await asyncio.sleep(0)
    print("done")
    if pool.highest > pool.most:
        print("broken:", pool.highest, "are open at once")


asyncio.run(main())
