"""Library-heavy: four threads match, split and hash texts; most of the time is spent in C."""

import hashlib
import re
import sys
import threading
import zlib

LOG = re.compile(
    r"(?P<host>\S+) - \[(?P<time>[^\]]+)\] \"(?P<verb>GET|POST) (?P<path>\S+)\" (?P<code>\d+) (?P<size>\d+)"
)


class Summary:
    def __init__(self):
        self.lock = threading.Lock()
        self.codes = {}
        self.bytes = 0
        self.digest = 0

    def add(self, codes, size, digest):
        with self.lock:
            for code, number in codes.items():
                self.codes[code] = self.codes.get(code, 0) + number
            self.bytes += size
            self.digest ^= digest


def work(seed, count, summary):
    codes, size, digest = {}, 0, 0
    for number in range(count):
        key = number * 31 + seed
        line = (
            f'10.0.{key % 256}.{key % 99} - [{key}] "GET /item/{key % 1000}/view?x={key}" {200 + key % 5} {key % 5000}'
        )
        match = LOG.match(line)
        codes[match["code"]] = codes.get(match["code"], 0) + 1
        size += int(match["size"])
        parts = [part for part in re.split(r"[/?=]", match["path"]) if part]
        text = " ".join(sorted(parts)).encode()
        digest ^= zlib.crc32(text) ^ hashlib.sha256(text * 20).digest()[0]
    summary.add(codes, size, digest)


def main(count):
    summary = Summary()
    threads = [threading.Thread(target=work, args=(seed, count, summary)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(summary.codes.items()), summary.bytes, summary.digest)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 120_000)
