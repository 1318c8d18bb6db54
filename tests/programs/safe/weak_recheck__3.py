"""Questions while a stage is open, one a fan: both are looked at again under the lock."""

import threading


class Stage:
    def __init__(self):
        self.open = True
        self.questions = {}
        self.late = 0
        self._lock = threading.Lock()

    def ask(self, fan, question):
        if not self.open:
            return
        if fan in self.questions:
            return
        with self._lock:
            if not self.open or fan in self.questions:
                return
            self.questions[fan] = question

    def close(self):
        with self._lock:
            self.open = False
            return len(self.questions)


stages = [Stage() for _ in range(60)]
answered = []


def fan(name):
    for stage in stages:
        stage.ask(name, "why?")


def host():
    for stage in stages:
        answered.append(stage.close())


threads = [
    threading.Thread(target=fan, args=("ann",)),
    threading.Thread(target=fan, args=("bob",)),
    threading.Thread(target=host),
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
unanswered = sum(len(stage.questions) for stage in stages) - sum(answered)
print(f"broken: {unanswered} questions came after the end" if unanswered else "all questions were answered")
