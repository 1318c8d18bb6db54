"""A file goes up as one entry, name and bytes together."""

import asyncio


class Uploader:
    def __init__(self):
        self.outbox = asyncio.Queue()

    async def upload(self, name, data):
        await asyncio.sleep(0)
        await self.outbox.put((name, data))


async def visitor(uploader, name):
    for _ in range(20):
        await uploader.upload(name, name.encode())


async def main():
    uploader = Uploader()
    await asyncio.gather(*(visitor(uploader, name) for name in ("a.txt", "b.txt", "c.txt")))
    sent = []
    while not uploader.outbox.empty():
        sent.append(uploader.outbox.get_nowait())
    bad = sum(name.encode() != data for name, data in sent)
    print(f"broken: {bad} files with other bytes" if bad else "fine")


asyncio.run(main())
