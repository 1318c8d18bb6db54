# expect: Buffer.append
# within: Writer.run

"""Writers of one buffer, most of them under its lock: one kind has a lock of its own, and overwrites the others."""

import threading


class Buffer:
    def __init__(self, size):
        self.cells = [None] * size
        self.position = 0
        self.lock = threading.Lock()

    def append(self, mark):
        if self.position < len(self.cells):  # bug
            self.cells[self.position] = mark  # bug
            self.position += 1  # bug


class Writer(threading.Thread):
    def __init__(self, buffer, mark, count):
        super().__init__()
        self.buffer = buffer
        self.mark = mark
        self.count = count
        self.lock = self.lock_for(buffer)

    def lock_for(self, buffer):
        return buffer.lock

    def run(self):
        for _ in range(self.count):
            with self.lock:
                self.buffer.append(self.mark)


class UrgentWriter(Writer):
    def lock_for(self, buffer):
        return threading.Lock()  # the wrong one


def checked(buffer, writers):
    """What each writer misses of what it wrote."""
    return {writer.mark: writer.count - buffer.cells.count(writer.mark) for writer in writers}


def main():
    buffer = Buffer(400)
    writers = [Writer(buffer, "a", 80), Writer(buffer, "b", 80), UrgentWriter(buffer, "c", 80)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    print(f"missing: {checked(buffer, writers)}, position {buffer.position}")


main()
