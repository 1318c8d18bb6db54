"""Tasks hand objects over through a queue."""

import asyncio


class Job:
    def __init__(self, n):
        self.n = n


async def producer(jobs):
    for n in range(30):
        job = Job(n)
        await asyncio.sleep(0)
        job.n += 1
        await jobs.put(job)
    await jobs.put(None)


async def consumer(jobs):
    while True:
        job = await jobs.get()
        if job is None:
            break
        n = job.n
        await asyncio.sleep(0)
        job.n = n + 1


async def main():
    jobs = asyncio.Queue(maxsize=2)
    await asyncio.gather(producer(jobs), consumer(jobs))
    print(jobs.qsize())


asyncio.run(main())
