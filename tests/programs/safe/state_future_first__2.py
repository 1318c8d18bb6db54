"""The price is looked up first: nothing is awaited between the question and the answer."""

import asyncio


async def price_of(bidder):
    await asyncio.sleep(0)
    return 10 + bidder


async def bid(winner, bidder):
    price = await price_of(bidder)
    if not winner.done():
        try:
            winner.set_result((bidder, price))
        except asyncio.InvalidStateError:
            return 1
    return 0


async def main():
    winner = asyncio.get_running_loop().create_future()
    refused = await asyncio.gather(*(bid(winner, bidder) for bidder in range(3)))
    print("broken: won already" if sum(refused) else "won", winner.done())


asyncio.run(main())
