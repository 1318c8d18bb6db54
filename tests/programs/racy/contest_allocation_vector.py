# expect: allocate
# within: Worker.run

"""A vector of blocks, each method of it locked: a free block is found by one call and marked by another."""

import threading

FREE = 0
TAKEN = 1


class AllocationVector:
    def __init__(self, size):
        self.blocks = [FREE] * size
        self.lock = threading.Lock()

    def find_free(self):
        """The index of a free block, None if there is none."""
        with self.lock:
            for index, state in enumerate(self.blocks):  # bug
                if state == FREE:
                    return index
            return None

    def mark_taken(self, index):
        """Whether it was free."""
        with self.lock:
            was_free = self.blocks[index] == FREE  # bug
            self.blocks[index] = TAKEN  # bug
            return was_free

    def mark_free(self, index):
        with self.lock:
            self.blocks[index] = FREE


def allocate(vector):
    index = vector.find_free()  # bug
    if index is None:
        return None, True
    return index, vector.mark_taken(index)  # bug


def release(vector, indices):
    for index in indices:
        vector.mark_free(index)


class Worker(threading.Thread):
    def __init__(self, vector):
        super().__init__()
        self.vector = vector
        self.collisions = 0

    def run(self):
        for wanted in (1, 3, 2, 4) * 8:
            mine = []
            for _ in range(wanted):
                index, was_free = allocate(self.vector)
                if not was_free:
                    self.collisions += 1
                elif index is not None:
                    mine.append(index)
            release(self.vector, mine)


vector = AllocationVector(10)
workers = [Worker(vector) for _ in range(3)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(f"{sum(worker.collisions for worker in workers)} blocks were given to two")
