"""The server first says that it is at work on the call: from then on it cannot be given up."""

import threading
from concurrent.futures import Future, InvalidStateError


class Call:
    def __init__(self):
        self.answer = Future()

    def finish(self, value):
        if self.answer.set_running_or_notify_cancel():
            self.answer.set_result(value)

    def give_up(self):
        return self.answer.cancel()


def server(calls, failed):
    for number, call in enumerate(calls):
        try:
            call.finish(number)
        except InvalidStateError:
            failed.append(number)


def caller(calls):
    for call in calls:
        call.give_up()


calls = [Call() for _ in range(50)]
failed = []
threads = [threading.Thread(target=server, args=(calls, failed)), threading.Thread(target=caller, args=(calls,))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: answered what was given up" if failed else "answered", all(call.answer.done() for call in calls))
