"""The message is made first: nothing is awaited between the question and the put."""

import asyncio


async def make(number):
    await asyncio.sleep(0)
    return f"message {number}"


async def offer(outbox, number):
    message = await make(number)
    if not outbox.full():
        try:
            outbox.put_nowait(message)
        except asyncio.QueueFull:
            return 1
    return 0


async def main():
    outbox = asyncio.Queue(2)
    refused = await asyncio.gather(*(offer(outbox, number) for number in range(4)))
    print("broken: no room" if sum(refused) else "sent", outbox.qsize())


asyncio.run(main())
