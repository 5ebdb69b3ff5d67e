#!/usr/bin/python3
"""Sends small frames, each from another source address: `INTERFACE TARGET-MAC SECONDS LIMIT SEED`.

Ends after SECONDS or LIMIT frames, whichever is first, and prints one line of JSON: how many frames
it sent and how long that took. What the socket does not take at once is sent again.
"""

import json
import random
import socket
import sys
import time


def main():
    interface, target, seconds, limit, seed = sys.argv[1:6]
    seconds, limit = float(seconds), int(limit)
    chance = random.Random(int(seed))
    target = bytes.fromhex(target.replace(":", ""))
    # A local experimental type (IEEE 802): nothing answers it.
    tail = b"\x88\xb5" + bytes(46)
    sent = 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((interface, 0))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
        begin = time.monotonic()
        while sent < limit and time.monotonic() - begin < seconds:
            sources = chance.randbytes(5 * 64)
            for i in range(0, len(sources), 5):
                s.send(target + b"\x02" + sources[i : i + 5] + tail)
            sent += 64
        elapsed = time.monotonic() - begin
    print(json.dumps({"sent": sent, "seconds": elapsed}))


if __name__ == "__main__":
    main()
