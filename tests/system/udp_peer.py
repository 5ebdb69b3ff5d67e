#!/usr/bin/python3
"""One end of a UDP flow of super-packets: `send ADDRESS PORT SECONDS SEGMENT GBPS`, or
`receive ADDRESS PORT` until SIGTERM. Both print one line of JSON with bytes and datagrams."""

import json
import signal
import socket
import sys
import time

UDP_SEGMENT = 103  # linux/udp.h
UDP_GRO = 104
MAX_SEGMENTS = 45  # as many as 64 KiB hold at 1448 bytes; the kernel allows 64 at least


def open_socket(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.socket(family, socket.SOCK_DGRAM)


def send(address, port, seconds, segment, gbps):
    with open_socket(address) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, segment)
        s.connect((address, port))
        payload = bytes(segment * min(MAX_SEGMENTS, 65000 // segment))
        gap = len(payload) * 8 / (gbps * 1e9) if gbps else 0
        start = time.monotonic()
        sent = 0
        while (now := time.monotonic()) < start + seconds:
            if gap and start + sent * gap > now:
                time.sleep(0.0005)
                continue
            try:
                s.send(payload)
            except (BlockingIOError, ConnectionRefusedError):
                continue
            except OSError as error:
                if error.errno != 105:  # ENOBUFS: the queue is full, try again
                    raise
                continue
            sent += 1
        elapsed = time.monotonic() - start
    return {"bytes": sent * len(payload), "sends": sent, "seconds": elapsed}


def receive(address, port):
    with open_socket(address) as s:
        s.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE
        s.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
        s.bind((address, port))
        total = count = 0

        def report(*_):
            print(json.dumps({"bytes": total, "receives": count}), flush=True)
            sys.exit(0)

        signal.signal(signal.SIGTERM, report)
        print("ready", flush=True)
        buffer = bytearray(1 << 16)
        while True:
            total += s.recv_into(buffer)
            count += 1


if __name__ == "__main__":
    if sys.argv[1] == "send":
        where, port, seconds, segment, gbps = sys.argv[2:7]
        print(json.dumps(send(where, int(port), float(seconds), int(segment), float(gbps))))
    else:
        receive(sys.argv[2], int(sys.argv[3]))
