"""All writers have the lock of the buffer; an urgent one keeps it until all it has is written."""

import threading


class Buffer:
    def __init__(self, size):
        self.cells = [None] * size
        self.position = 0
        self.lock = threading.Lock()

    def append(self, mark):
        if self.position < len(self.cells):
            self.cells[self.position] = mark
            self.position += 1


class Writer(threading.Thread):
    def __init__(self, buffer, mark, count):
        super().__init__()
        self.buffer = buffer
        self.mark = mark
        self.count = count

    def run(self):
        for _ in range(self.count):
            with self.buffer.lock:
                self.buffer.append(self.mark)


class UrgentWriter(Writer):
    """Writes all it has in one go."""

    def run(self):
        with self.buffer.lock:
            for _ in range(self.count):
                self.buffer.append(self.mark)


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
