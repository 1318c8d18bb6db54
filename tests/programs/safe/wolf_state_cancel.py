"""To cancel what is done already does nothing, so the question before it is only there to save the call."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor


def answer(calls):
    for call in calls:
        if call.set_running_or_notify_cancel():
            call.set_result("answer")


def give_up(calls):
    for call in calls:
        if not call.done():
            call.cancel()


def square(number):
    return number * number


calls = [Future() for _ in range(50)]
threads = [threading.Thread(target=answer, args=(calls,)), threading.Thread(target=give_up, args=(calls,))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with ThreadPoolExecutor(2) as pool:
    jobs = [pool.submit(square, number) for number in range(20)]
    give_up(jobs)
print(all(call.done() for call in (*calls, *jobs)))
