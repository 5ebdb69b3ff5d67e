#!/usr/bin/python3
"""Sends small UDP datagrams round-robin over many flows: `ADDRESS FLOWS SECONDS`.

Flows differ in their destination port. One line of JSON: datagrams sent and seconds. sendmmsg is
called through ctypes, because Python has no wrapper and one system call per datagram is too slow.
"""

import ctypes
import json
import socket
import struct
import sys
import time

BATCH = 500
FIRST_PORT = 10000
PAYLOAD = b"sluice flow sweep."


class _Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class _Header(ctypes.Structure):  # struct msghdr
    _fields_ = [
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("iovec", ctypes.POINTER(_Iovec)),
        ("iovec_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    ]


class _Message(ctypes.Structure):  # struct mmsghdr
    _fields_ = [("header", _Header), ("sent", ctypes.c_uint)]


def messages(address, flows):
    payload = ctypes.create_string_buffer(PAYLOAD, len(PAYLOAD))
    iovec = _Iovec(ctypes.cast(payload, ctypes.c_void_p), len(PAYLOAD))
    count = max(BATCH, flows)
    names = ctypes.create_string_buffer(16 * flows)
    for flow in range(flows):
        struct.pack_into("=H", names, 16 * flow, socket.AF_INET)
        struct.pack_into("!H4s", names, 16 * flow + 2, FIRST_PORT + flow, socket.inet_aton(address))
    array = (_Message * count)()
    base = ctypes.addressof(names)
    for i in range(count):
        array[i].header.name = base + 16 * (i % flows)
        array[i].header.name_length = 16
        array[i].header.iovec = ctypes.pointer(iovec)
        array[i].header.iovec_count = 1
    return array, (payload, iovec, names)


def main():
    address, flows, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    array, _keep = messages(address, flows)
    sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        sent, at = 0, 0
        start = time.monotonic()
        while time.monotonic() < start + seconds:
            n = sendmmsg(s.fileno(), ctypes.byref(array, at * ctypes.sizeof(_Message)),
                         min(BATCH, len(array) - at), 0)  # fmt: skip
            if n > 0:
                sent += n
                at = (at + n) % len(array)
        elapsed = time.monotonic() - start
    print(json.dumps({"sent": sent, "seconds": elapsed}))


if __name__ == "__main__":
    main()
