"""A question goes to a server by one queue and comes back by another: the asker needs the server in between."""

import queue
import threading


class Question:
    def __init__(self):
        self.number = 0
        self.answer = None


asked, answered = queue.Queue(), queue.Queue()


def server():
    while True:
        question = asked.get()
        if question is None:
            break
        question.answer = question.number * 2
        answered.put(question)


def ask(question, number):
    question.number = number
    question.answer = None
    asked.put(question)
    return answered.get().answer


def client():
    question, wrong = Question(), 0
    for number in range(60):
        wrong += ask(question, number) != 2 * number
    asked.put(None)
    print("broken: wrong answers" if wrong else "all answered")


threads = [threading.Thread(target=server), threading.Thread(target=client)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
