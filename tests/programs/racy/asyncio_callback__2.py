# expect: Pool.open

"""A partial call that the loop makes closes a connection while a task opens another one."""

import asyncio
import functools


class Pool:
    def __init__(self, most):
        self.most = most
        self.open_count = 0
        self.highest = 0

    async def open(self):
        if self.open_count >= self.most:  # bug
            return False
        await asyncio.sleep(0)
        self.open_count = self.open_count + 1  # bug
        return True

    def close(self, name):
        self.open_count = self.open_count - 1  # bug


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
