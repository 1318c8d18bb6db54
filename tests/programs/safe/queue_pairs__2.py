"""Tasks read messages from a queue of lines: a subject, then a text, both under the lock of the inbox."""

import asyncio


class Inbox:
    def __init__(self):
        self.lines = asyncio.Queue()
        self.reading = asyncio.Lock()

    async def message(self):
        async with self.reading:
            subject = await self.lines.get()
            await asyncio.sleep(0)
            text = await self.lines.get()
        return f"{subject}: {text}"


async def reader(inbox, seen):
    for _ in range(25):
        seen.append(await inbox.message())


async def main():
    inbox, seen = Inbox(), []
    for number in range(50):
        inbox.lines.put_nowait(f"subject {number}")
        inbox.lines.put_nowait(f"text {number}")
    await asyncio.gather(reader(inbox, seen), reader(inbox, seen))
    wrong = [one for one in seen if one.split(":")[0].split()[-1] != one.split()[-1]]
    print("broken: texts under other subjects" if wrong else "all texts under their subjects")


asyncio.run(main())
