"""A pipeline of three stages with queues between them: parse, transform, collect."""

import json
import queue
import sys
import threading


def produce(out, count):
    for number in range(count):
        record = {
            "id": number,
            "name": f"user{number % 100}",
            "tags": ["a", "b", str(number % 7)],
            "score": number * 1.5,
        }
        out.put(json.dumps(record))
    out.put(None)


def transform(source, out):
    while (text := source.get()) is not None:
        record = json.loads(text)
        record["key"] = (record["name"], record["tags"][2])
        record["score"] = round(record["score"] * 2, 1)
        out.put(record)
    source.put(None)
    out.put(None)


class Collector:
    def __init__(self):
        self.by_key = {}
        self.total = 0.0
        self.lock = threading.Lock()

    def add(self, record):
        with self.lock:
            self.by_key.setdefault(record["key"], []).append(record["id"])
            self.total += record["score"]


def collect(source, collector, workers):
    while workers:
        record = source.get()
        if record is None:
            workers -= 1
        else:
            collector.add(record)


def main(count):
    raw, done, collector = queue.Queue(100), queue.Queue(100), Collector()
    threads = [threading.Thread(target=produce, args=(raw, count))]
    threads += [threading.Thread(target=transform, args=(raw, done)) for _ in range(2)]
    threads += [threading.Thread(target=collect, args=(done, collector, 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(collector.by_key), collector.total)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150_000)
