# expect: offer

"""A message is offered if there is room, and made after the question: others fill the queue meanwhile."""

import asyncio


async def make(number):
    await asyncio.sleep(0)
    return f"message {number}"


async def offer(outbox, number):
    if not outbox.full():  # bug
        message = await make(number)
        try:
            outbox.put_nowait(message)  # bug
        except asyncio.QueueFull:
            return 1
    return 0


async def main():
    outbox = asyncio.Queue(2)
    refused = await asyncio.gather(*(offer(outbox, number) for number in range(4)))
    print("broken: no room" if sum(refused) else "sent", outbox.qsize())


asyncio.run(main())
