#!/usr/bin/python3
"""Stations around a switch, in the namespace that this runs in: sends frames and tells which arrived where.

Reads one JSON list of frames [[port, hex], ...] per line from stdin, sends them from the
interfaces sPORT, and answers with one JSON list of what arrived until it was quiet. Tags that
the kernel keeps beside a frame are put back in.
"""

import json
import select
import socket
import struct
import sys
import time

_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_AUXDATA, _PACKET_OUTGOING = 263, 8, 4
_TAG_VALID, _TPID_VALID = 1 << 4, 1 << 6


def open_station(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    s.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
    s.bind((name, _ETH_P_ALL))
    return s


def receive(s):
    """One frame as it was on the wire, or None for what was sent here."""
    data, ancillary, _, address = s.recvmsg(65536, 256)
    if address[2] == _PACKET_OUTGOING:
        return None
    for level, kind, content in ancillary:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", content[:20])
            if status & _TAG_VALID:
                tpid = tpid if status & _TPID_VALID else 0x8100
                data = data[:12] + struct.pack(">HH", tpid, tci) + data[12:]
    return data


def main():
    quiet = float(sys.argv[1])
    stations = {int(name[1:]): open_station(name) for name in sys.argv[2:]}
    port_of = {s.fileno(): port for port, s in stations.items()}
    for line in sys.stdin:
        for port, frame in json.loads(line):
            stations[port].send(bytes.fromhex(frame))
        arrived, deadline = [], time.monotonic() + quiet
        while time.monotonic() < deadline:
            ready, _, _ = select.select(list(port_of), [], [], max(0, deadline - time.monotonic()))
            for fd in ready:
                frame = receive(stations[port_of[fd]])
                if frame is not None:
                    arrived.append([port_of[fd], frame.hex()])
                    deadline = time.monotonic() + quiet
        print(json.dumps(arrived), flush=True)


if __name__ == "__main__":
    main()
