"""A manager of memory that counts under its lock, when it gives and when it gets back."""

import threading


class Record:
    def __init__(self, number):
        self.number = number
        self.content = 0
        self.is_free = True


class Manager:
    def __init__(self, size):
        self.records = [Record(number) for number in range(size)]
        self.requested = 0
        self.released = 0
        self.lock = threading.Lock()

    def request(self, count):
        """Some records that nobody else has."""
        with self.lock:
            given = [record for record in self.records if record.is_free][:count]
            for record in given:
                record.is_free = False
            self.requested += len(given)
            return given

    def release(self, record):
        with self.lock:
            record.is_free = True
            self.released += 1


class Client(threading.Thread):
    def __init__(self, manager, count):
        super().__init__()
        self.manager = manager
        self.count = count

    def run(self):
        records = self.manager.request(self.count)
        for record in records:
            record.content += self.count
            self.manager.release(record)


def main():
    manager = Manager(360)
    clients = [Client(manager, 120) for _ in range(3)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    print(f"{manager.requested} records requested, {manager.released} released")


main()
