# expect: bid

"""A bid is only made if nobody has won yet, but the price is looked up after the question."""

import asyncio


async def price_of(bidder):
    await asyncio.sleep(0)
    return 10 + bidder


async def bid(winner, bidder):
    if not winner.done():  # bug
        price = await price_of(bidder)
        try:
            winner.set_result((bidder, price))  # bug
        except asyncio.InvalidStateError:
            return 1
    return 0


async def main():
    winner = asyncio.get_running_loop().create_future()
    refused = await asyncio.gather(*(bid(winner, bidder) for bidder in range(3)))
    print("broken: won already" if sum(refused) else "won", winner.done())


asyncio.run(main())
