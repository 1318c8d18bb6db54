"""A free block is found and marked in one critical section, inside the vector."""

import threading

FREE = 0
TAKEN = 1


class AllocationVector:
    def __init__(self, size):
        self.blocks = [FREE] * size
        self.lock = threading.Lock()

    def take_free(self):
        """The index of a block that was free, None if there is none."""
        with self.lock:
            for index, state in enumerate(self.blocks):
                if state == FREE:
                    self.blocks[index] = TAKEN
                    return index
            return None

    def mark_free(self, index):
        with self.lock:
            self.blocks[index] = FREE


def allocate(vector):
    return vector.take_free()


def release(vector, indices):
    for index in indices:
        vector.mark_free(index)


class Worker(threading.Thread):
    def __init__(self, vector):
        super().__init__()
        self.vector = vector
        self.refused = 0

    def run(self):
        for wanted in (1, 3, 2, 4) * 8:
            mine = []
            for _ in range(wanted):
                index = allocate(self.vector)
                if index is None:
                    self.refused += 1
                else:
                    mine.append(index)
            release(self.vector, mine)


vector = AllocationVector(10)
workers = [Worker(vector) for _ in range(3)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(f"{vector.blocks.count(FREE)} blocks are free, {sum(worker.refused for worker in workers)} times none was")
