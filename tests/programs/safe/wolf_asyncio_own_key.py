"""Each task has its own key, before and after the await."""

import asyncio

results = {}


async def fetch(name):
    results[name] = "asked"
    await asyncio.sleep(0)
    if results[name] == "asked":
        await asyncio.sleep(0)
        results[name] = "answered"


async def main():
    await asyncio.gather(*(fetch(i) for i in range(30)))
    print(len(results))


asyncio.run(main())
