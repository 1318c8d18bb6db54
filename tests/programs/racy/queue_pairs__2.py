# expect: Inbox.message
# within: reader

"""Tasks read messages from a queue of lines: a subject, then a text. In between they look who is to get it."""

import asyncio


class Inbox:
    def __init__(self):
        self.lines = asyncio.Queue()

    async def message(self):
        subject = await self.lines.get()  # bug
        await asyncio.sleep(0)
        text = await self.lines.get()  # bug
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
