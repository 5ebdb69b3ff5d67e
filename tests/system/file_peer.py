#!/usr/bin/python3
"""One end of a file transfer over TCP: `send ADDRESS PORT BYTES SEED`, or `receive ADDRESS PORT`
for one connection. Both print one line of JSON with the SHA-256 of what they sent or received; the
receiver also says how long it waited for the next byte at most."""

import hashlib
import json
import random
import socket
import sys
import time

BLOCK = 1 << 20


def send(address, port, size, seed):
    # One random megabyte, shifted by a counter, repeats nowhere and costs little to make.
    block = random.Random(seed).randbytes(BLOCK)
    digest = hashlib.sha256()
    start = time.monotonic()
    with socket.create_connection((address, port), timeout=30) as s:
        sent = 0
        while sent < size:
            piece = sent.to_bytes(8, "big") + block[8:]
            piece = memoryview(piece)[: size - sent]
            s.sendall(piece)
            digest.update(piece)
            sent += len(piece)
        s.shutdown(socket.SHUT_WR)
        s.recv(1)  # until the receiver has read to the end and closed
    return {"sha256": digest.hexdigest(), "bytes": sent, "seconds": time.monotonic() - start}


def receive(address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    digest = hashlib.sha256()
    total = 0
    longest = 0.0
    with socket.create_server((address, port), family=family) as listener:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(60)
            buffer = bytearray(BLOCK)
            last = time.monotonic()
            while n := connection.recv_into(buffer):
                now = time.monotonic()
                longest = max(longest, now - last)
                digest.update(memoryview(buffer)[:n])
                total += n
                last = time.monotonic()
    return {"sha256": digest.hexdigest(), "bytes": total, "longest_wait": longest}


if __name__ == "__main__":
    if sys.argv[1] == "send":
        print(json.dumps(send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))))
    else:
        print(json.dumps(receive(sys.argv[2], int(sys.argv[3]))))
