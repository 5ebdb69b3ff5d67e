"""A little OpenFlow 1.4 client that costs less than what it measures: messages are made beforehand as bytes."""

import socket
import struct

VERSION = 5  # OpenFlow 1.4: bundles without an extension
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY = 0, 1, 2, 3
SET_CONFIG, PACKET_IN, PACKET_OUT, FLOW_MOD, BARRIER_REQUEST, BARRIER_REPLY = 9, 10, 13, 14, 20, 21
BUNDLE_CONTROL, BUNDLE_ADD = 33, 34
_NO_BUFFER = 0xFFFFFFFF


def message(kind, body=b"", xid=1):
    return struct.pack("!BBHI", VERSION, kind, 8 + len(body), xid) + body


def _padded(data):
    return data + bytes(-len(data) % 8)


def match(fields=()):
    """`fields`: (OXM field number of the basic class, bytes)."""
    entries = b"".join(struct.pack("!HBB", 0x8000, number << 1, len(value)) + value for number, value in fields)
    return _padded(struct.pack("!HH", 1, 4 + len(entries)) + entries)


def output(port, max_len=0xFFFF):
    return struct.pack("!HHIH6x", 0, 16, port, max_len)


def flow_mod(fields, actions, table=0, priority=100, command=0, xid=1):
    instructions = struct.pack("!HH4x", 4, 8 + len(actions)) + actions if actions else b""
    body = struct.pack("!QQBBHHHIIIHH", 0, 0, table, command, 0, 0, priority, _NO_BUFFER, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0)
    return message(FLOW_MOD, body + match(fields) + instructions, xid)


def packet_out(frame, actions, in_port=0xFFFFFFFD):
    return message(PACKET_OUT, struct.pack("!IIH6x", _NO_BUFFER, in_port, len(actions)) + actions + frame)


def bundle_control(kind, bundle=1):
    return message(BUNDLE_CONTROL, struct.pack("!IHH", bundle, kind, 3))


def bundle_add(inner, bundle=1):
    xid = struct.unpack_from("!I", inner, 4)[0]
    return message(BUNDLE_ADD, struct.pack("!I2xH", bundle, 3) + inner, xid)


class OpenflowClient:
    """One connection to a switch's management socket."""

    def __init__(self, path, timeout=120):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._socket.connect(path)
        self._pending = b""
        self.errors = 0
        self.counts = {}
        self._socket.sendall(message(HELLO, struct.pack("!HHI", 1, 8, 1 << VERSION)))
        self.wait_for(HELLO)
        # A management connection is sent no packets unless it asks.
        self.send(message(SET_CONFIG, struct.pack("!HH", 0, 0xFFFF)))

    def close(self):
        self._socket.close()

    def send(self, data):
        """Sends all of it, and takes what comes meanwhile: a switch may stop reading until it can answer."""
        view = memoryview(data)
        self._socket.setblocking(False)
        try:
            while view:
                try:
                    view = view[self._socket.send(view[: 1 << 18]) :]
                except BlockingIOError:
                    self._receive_some(0.05)
        finally:
            self._socket.settimeout(120)

    def _receive_some(self, timeout):
        self._socket.settimeout(timeout)
        try:
            self._take(self._socket.recv(1 << 20))
        except TimeoutError:
            pass
        finally:
            self._socket.setblocking(False)

    def _take(self, data):
        if not data:
            raise ConnectionError("the switch closed the connection")
        self._pending += data
        at = 0
        while len(self._pending) - at >= 8:
            _, kind, length, _ = struct.unpack_from("!BBHI", self._pending, at)
            if len(self._pending) - at < length:
                break
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if kind == ERROR:
                self.errors += 1
            elif kind == ECHO_REQUEST:
                reply = bytearray(self._pending[at : at + length])
                reply[1] = ECHO_REPLY
                self._socket.sendall(bytes(reply))
            at += length
        self._pending = self._pending[at:]

    def wait_for(self, kind, count=1):
        """Until `count` more messages of the kind have come."""
        wanted = self.counts.get(kind, 0) + count
        while self.counts.get(kind, 0) < wanted:
            self._take(self._socket.recv(1 << 20))

    def barrier(self):
        wanted = self.counts.get(BARRIER_REPLY, 0) + 1
        self.send(message(BARRIER_REQUEST))
        while self.counts.get(BARRIER_REPLY, 0) < wanted:
            self._take(self._socket.recv(1 << 20))
