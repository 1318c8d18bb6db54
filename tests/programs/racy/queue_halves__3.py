# expect: Uploader.upload
# within: visitor
# level: suspect

"""A file goes up as its name and its bytes, with a turn of the event loop between the two."""

import asyncio


class Uploader:
    def __init__(self):
        self.outbox = asyncio.Queue()

    async def upload(self, name, data):
        await self.outbox.put(name)  # bug
        await asyncio.sleep(0)
        await self.outbox.put(data)  # bug


async def visitor(uploader, name):
    for _ in range(20):
        await uploader.upload(name, name.encode())


async def main():
    uploader = Uploader()
    await asyncio.gather(*(visitor(uploader, name) for name in ("a.txt", "b.txt", "c.txt")))
    sent = []
    while not uploader.outbox.empty():
        sent.append(uploader.outbox.get_nowait())
    files = zip(sent[::2], sent[1::2], strict=True)
    bad = sum(not isinstance(name, str) or name.encode() != data for name, data in files)
    print(f"broken: {bad} files with other bytes" if bad else "fine")


asyncio.run(main())
