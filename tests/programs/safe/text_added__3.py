"""Packets in one byte string: a length, then so many bytes, added in one step."""

import threading


def make_encoder():
    stream = b""
    lock = threading.Lock()

    def packet(payload):
        nonlocal stream
        with lock:
            stream += bytes([len(payload)]) + payload

    def all_bytes():
        return stream

    return packet, all_bytes


packet, all_bytes = make_encoder()


def device(payload):
    for _ in range(50):
        packet(payload)


threads = [threading.Thread(target=device, args=(given,)) for given in (b"xy", b"abcd", b"-")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
rest = all_bytes()
while rest:
    size, payload, rest = rest[0], rest[1 : rest[0] + 1], rest[rest[0] + 1 :]
    if payload not in (b"xy", b"abcd", b"-") or size != len(payload):
        print("broken: not a packet", payload)
        break
else:
    print("all packets can be read")
