"""Jobs of thread pools: which thread of a pool does a job is chance, so that jobs of one thread may run in parallel.

Each racy program stands beside the nearest ones in which jobs are in order, or have data of their own. Whichever thread
of a pool does which job in these plain runs, the answer is the same.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_replay import HEAD as BOX
from test_replay import predicted

import atomsan
from atomsan import Report
from atomsan.trace.events import Op

HEAD = """
import asyncio
import queue
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from multiprocessing.pool import ThreadPool

def add(by=1):
    seen = box.n
    box.n = seen + by

def add_locked(by=1):
    with box.lock:
        box.n += by
"""


def of_program(tmp_path: Path, code: str) -> Report:
    return predicted(tmp_path, HEAD + code, "")


RACY = {
    "submit": """
with ThreadPoolExecutor(3) as pool:
    for _ in range(4):
        pool.submit(add)
""",
    "submit with keywords": """
pool = ThreadPoolExecutor(max_workers=2)
jobs = [pool.submit(add, by=number) for number in range(4)]
for job in jobs:
    job.result()
pool.shutdown()
""",
    "map": """
with ThreadPoolExecutor(3) as pool:
    list(pool.map(add, range(4)))
""",
    "as_completed": """
with ThreadPoolExecutor() as pool:
    for job in as_completed([pool.submit(add) for _ in range(4)]):
        job.result()
""",
    "subclass": """
class Pool(ThreadPoolExecutor):
    def submit(self, fn, *args):
        return super().submit(fn, *args)

with Pool(2) as pool:
    for _ in range(4):
        pool.submit(add)
""",
    "two at a time": """
with ThreadPoolExecutor(2) as pool:
    for _ in range(2):
        wait([pool.submit(add), pool.submit(add)])
""",
    "result of another job": """
with ThreadPoolExecutor(2) as pool:
    for _ in range(3):
        first, second = pool.submit(add), pool.submit(add)
        first.result()
""",
    "to_thread": """
async def main():
    await asyncio.gather(*(asyncio.to_thread(add) for _ in range(4)))

asyncio.run(main())
""",
    "run_in_executor": """
async def main():
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.run_in_executor(None, add) for _ in range(4)))

asyncio.run(main())
""",
    "container of the module": """
counts = {}

def count(word):
    counts[word] = counts.get(word, 0) + 1

with ThreadPoolExecutor(3) as pool:
    list(pool.map(count, "abab"))
""",
    "job that asks who it is for something else": """
names = []

def work(by):
    names.append(threading.current_thread().name)
    add(by)

with ThreadPoolExecutor(3) as pool:
    list(pool.map(work, range(4)))
""",
    "threads of multiprocessing, map": """
with ThreadPool(3) as pool:
    pool.map(add, range(4))
""",
    "threads of multiprocessing, one by one": """
with ThreadPool(3) as pool:
    jobs = [pool.apply_async(add, (number,)) for number in range(4)]
    for job in jobs:
        job.get()
""",
    "threads of multiprocessing, imap": """
with ThreadPool(processes=2) as pool:
    for _ in pool.imap_unordered(add, range(4)):
        pass
""",
    "sum of a list": """
cells = [2] * 40
sums = []

def move(at):
    with box.lock:
        cells[at] -= 1
    with box.lock:
        cells[at + 1] += 1

def measure():
    with box.lock:
        sums.append(sum(cells))

with ThreadPoolExecutor(3) as pool:
    jobs = [pool.submit(move, 3), pool.submit(measure), pool.submit(move, 20), pool.submit(measure)]
""",
}


@pytest.mark.parametrize("name", RACY)
def test_jobs_of_a_pool_may_run_in_parallel(tmp_path: Path, name: str) -> None:
    report = of_program(tmp_path, RACY[name])
    assert report.findings, report


SAFE = {
    "pool of one thread": """
with ThreadPoolExecutor(1) as pool:
    for _ in range(4):
        pool.submit(add)
""",
    "pool of one thread, by name": """
with ThreadPoolExecutor(max_workers=1, thread_name_prefix="only") as pool:
    list(pool.map(add, range(4)))
""",
    "one result before the next job": """
with ThreadPoolExecutor(3) as pool:
    for _ in range(4):
        pool.submit(add).result()
""",
    "results of a map before the next one": """
with ThreadPoolExecutor(3) as pool:
    for _ in range(4):
        list(pool.map(add, [1]))
""",
    "waited for": """
with ThreadPoolExecutor(3) as pool:
    for _ in range(4):
        wait([pool.submit(add)])
""",
    "callback submits the next job": """
over = queue.Queue()
left = [1, 2, 3]

def go_on(job):
    if left:
        pool.submit(add, left.pop()).add_done_callback(go_on)
    else:
        over.put(True)

with ThreadPoolExecutor(3) as pool:
    pool.submit(add).add_done_callback(go_on)
    over.get()
""",
    "job submits the next job at its end": """
over = queue.Queue()

def step(number):
    add(number)
    if number:
        pool.submit(step, number - 1)
    else:
        over.put(True)

with ThreadPoolExecutor(3) as pool:
    pool.submit(step, 4)
    over.get()
""",
    "pool of its own for each": """
for _ in range(4):
    with ThreadPoolExecutor(3) as pool:
        pool.submit(add)
""",
    "looked at after the pool": """
with ThreadPoolExecutor(3) as pool:
    for _ in range(4):
        pool.submit(add_locked)
add()
""",
    "looked at before the pool": """
add()
with ThreadPoolExecutor(3) as pool:
    for _ in range(4):
        pool.submit(add_locked)
""",
    "threads of multiprocessing, only one": """
with ThreadPool(1) as pool:
    pool.map(add, range(4))
""",
    "threads of multiprocessing, each result before the next call": """
with ThreadPool(3) as pool:
    for number in range(3):
        pool.apply(add, (number,))
        pool.map(add, [number])
        pool.apply_async(add, (number,)).wait()
        list(pool.imap(add, [number]))
""",
    "threads of multiprocessing, looked at with the result": """
with ThreadPool(3) as pool:
    pool.map(add_locked, range(4))
    add()
""",
    "threads of multiprocessing, called back": """
over = []

def finish(_):
    over.append(1)
    add()

with ThreadPool(3) as pool:
    pool.apply_async(add, callback=finish).get()
    add()
""",
    "locked": """
with ThreadPoolExecutor(3) as pool:
    for _ in range(4):
        pool.submit(add_locked)
""",
    "awaited one by one": """
async def main():
    for _ in range(4):
        await asyncio.to_thread(add)

asyncio.run(main())
""",
    "objects of each job": """
class Part:
    def __init__(self):
        self.n = 0

def work(number):
    part = Part()
    for _ in range(3):
        part.n = part.n + number
    return part.n

with ThreadPoolExecutor(3) as pool:
    print(sum(pool.map(work, range(4))))
""",
}


@pytest.mark.parametrize("name", SAFE)
def test_jobs_in_order_are_no_violation(tmp_path: Path, name: str) -> None:
    report = of_program(tmp_path, SAFE[name])
    assert not report.findings, report
    assert not report.suspects, report


# Data that each thread of a pool has of its own: whether another thread has other data is not known.
OWN = {
    "thread-local": """
own = threading.local()

def cache():
    if not hasattr(own, "known"):
        own.known = {}
    return own.known

def work(number):
    known = cache()
    if number not in known:
        known[number] = number * number
    return known[number]
""",
    "thread-local by initializer": """
own = threading.local()

def setup():
    own.known = {}

def work(number):
    known = own.known
    if number not in known:
        known[number] = number * number
    return known[number]
""",
    "by the number of the thread": """
known = {}

def work(number):
    mine = threading.get_ident()
    if mine not in known:
        known[mine] = []
    known[mine].append(number)
    return len(known[mine])
""",
    "by the thread": """
known = {}

def work(number):
    mine = threading.current_thread().name
    known[mine] = known.get(mine, 0) + number
""",
}


@pytest.mark.parametrize("name", OWN)
def test_data_of_each_thread_of_a_pool_is_no_finding(tmp_path: Path, name: str) -> None:
    setup = ", initializer=setup" if "def setup" in OWN[name] else ""
    report = of_program(
        tmp_path, f"{OWN[name]}\nwith ThreadPoolExecutor(3{setup}) as pool:\n    list(pool.map(work, [1, 2, 1, 2]))\n"
    )
    assert not report.findings, report


def test_bundle_keeps_what_is_known_of_pools(tmp_path: Path) -> None:
    code = """
own = threading.local()

def work(by):
    own.last = threading.get_ident()
    if own.last:
        pass
    add(by)

with ThreadPoolExecutor(3) as pool:
    pool.submit(work, 1)
    pool.submit(work, 2)
"""
    program = tmp_path / "program.py"
    program.write_text(f"{BOX}{HEAD}{code}")
    bundle = tmp_path / "run.atomtrace"
    command = [sys.executable, "-m", "atomsan", "record", "--quiet", "-o", str(bundle), str(program)]
    subprocess.run(command, check=True, cwd=tmp_path)
    trace = atomsan.load(bundle)
    starts = [name for name in trace.symbols.handovers if name.endswith(" start")]
    workers = trace.symbols.handovers.columns["workers"]
    assert len(starts) == 2
    assert [count for count in workers if count] == [3, 3]
    fields = trace.symbols.locations.columns["field"]
    selves = {number for number, field in enumerate(fields) if field == "<self>"}
    seen = [event for event in trace if event.op <= Op.WRITE and trace.symbols.locations.find(event.target) in selves]
    # get_ident() and the read of a threading.local, in each job; a write is that of the thread's own
    assert [event.op for event in seen] == [Op.READ] * 4
    assert atomsan.predict(str(bundle)).findings


# ---- traces


def of_trace(notation: str, workers: int = 2) -> Report:
    """The hand-overs h1, h2, ... are jobs of a pool of so many threads."""
    trace = atomsan.parse(notation, format="notation")
    handovers = trace.symbols.handovers
    for number in range(len(handovers)):
        if handovers[number].startswith("h"):
            handovers.set(number, "workers", workers)
    return atomsan.predict(trace)


def atomic(report: Report) -> bool | None:
    assert report.prediction
    return report.prediction.conflict_atomic


UPDATE = "W:begin(add) W:r(x) W:w(x) W:end"
HANDED = "M:fork(W) M:post(h1) M:post(h2) "


def test_jobs_of_one_thread_are_parallel_if_the_pool_has_two() -> None:
    jobs = f"{HANDED} W:take(h1) {UPDATE} W:take(h2) {UPDATE}"
    assert atomic(of_trace(jobs)) is False
    assert atomic(of_trace(jobs, workers=1)) is True


def test_names_of_jobs_are_those_of_their_thread() -> None:
    report = of_trace(f"{HANDED} W:take(h1) {UPDATE} W:take(h2) {UPDATE}")
    (finding,) = report.findings
    assert {step.thread for step in finding.witness} == {"W", "W (job 2)"}
    assert [step.number for step in finding.witness if step.op == "write"][-1] < 12
    assert report.trace.threads == 2


def test_job_that_another_one_handed_over_comes_after_it() -> None:
    chained = f"M:fork(W) M:post(h1) W:take(h1) {UPDATE} W:post(h2) W:take(h2) {UPDATE}"
    assert atomic(of_trace(chained)) is True


def test_job_comes_after_what_its_thread_did_before_the_first_one() -> None:
    first = f"{UPDATE} W:take(h1) W:begin(look) W:r(x) W:r(x) W:end W:take(h2) W:begin(look) W:r(x) W:r(x) W:end"
    assert atomic(of_trace(f"{HANDED} {first}")) is True
    # and so what another thread of the pool does first is parallel to it
    other = " V:begin(add) V:r(x) V:w(x) V:end V:take(h3) V:begin(none) V:end"
    assert atomic(of_trace(f"M:fork(V) M:post(h3) {HANDED} {first} {other}")) is False


def test_joining_a_thread_of_a_pool_joins_its_jobs() -> None:
    jobs = f"{HANDED} W:take(h1) W:begin(look) W:r(x) W:end W:take(h2) W:begin(look) W:r(y) W:r(x) W:end"
    after = " M:begin(change) M:w(x) M:w(y) M:end"
    assert atomic(of_trace(f"{jobs} M:join(W) {after}")) is True
    assert atomic(of_trace(f"{jobs} {after}")) is False


def test_result_of_a_job_orders_that_job_only() -> None:
    look = "W:begin(look) W:r(y) W:r(x) W:end"
    jobs = f"{HANDED} W:take(h1) {look} W:post(done1) W:take(h2) W:begin(none) W:r(z) W:end W:post(done2)"
    change = "M:begin(change) M:w(x) M:w(y) M:w(z) M:end"
    assert atomic(of_trace(f"{jobs} M:take(done1) {change}")) is True
    assert atomic(of_trace(f"{jobs} M:take(done2) {change}")) is False


def test_take_inside_a_region_begins_no_job() -> None:
    nested = f"{HANDED} W:begin(loop) W:take(h1) W:r(x) W:w(x) W:take(h2) W:r(x) W:w(x) W:end"
    assert of_trace(nested).findings == of_trace(nested, workers=1).findings == []


def test_very_many_jobs_share_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from atomsan.trace import jobs

    monkeypatch.setattr(jobs, "MOST_KNOWN", 60)
    count = 20  # three threads beside that of the pool
    posts = " ".join(f"M:post(h{number})" for number in range(count))
    done = " ".join(f"W:take(h{number}) {UPDATE}" for number in range(count))
    report = of_trace(f"M:fork(W) {posts} {done}")
    assert atomic(report) is False
    look = "W:begin(look) W:r(x) W:r(x) W:end"
    looks = " ".join(f"W:take(h{number}) {look}" for number in range(count))
    harmless = of_trace(f"M:w(x) M:fork(W) {posts} {looks}")
    assert atomic(harmless) is None
    assert harmless.prediction
    assert "too many jobs" in harmless.prediction.reasons["conflict"]
    assert {step.thread for finding in report.findings for step in finding.witness} <= {
        "W",
        "W (job 2)",
        "W (job 3)",
        "W (job 4)",
    }
