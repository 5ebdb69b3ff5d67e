#!/usr/bin/python3
"""The demonstration of utilities/quickstart: Sluice beside a kernel bridge, in one table."""

import argparse
import os
import platform
import sys
import time

import tables
from peers import KernelBridge, Rig, SluiceContender
from harness import Lab, require_root  # peers has put tests/system on the path

EXPLANATION = """
Two network namespaces, each on a veth port of a bridge (vsctl add-br, add-port); a to b and back. TCP: one iperf3 stream,
cubic. UDP: datagrams that the sender hands to its kernel 45 at a time (UDP_SEGMENT); what arrived.
TSO on   super-packets of up to 64 KiB cross the switch whole
TSO off  Sluice: userspace-tso-enable=false, nothing is changed in the namespaces
         bridge: `ethtool -K eth0 tso off gso off` in the namespaces
CPU s/GiB: CPU seconds of the whole machine, sender and receiver included, per GiB that arrived.
For UDP, the share that was lost stands in place of the retransmits.
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "")
    return f"{os.cpu_count()} cores, {model}, Linux {platform.release()}"


class Demonstration:
    """Rows are kinds of traffic; both switches see each kind right after one another."""

    def __init__(self, lab, seconds):
        self._seconds = seconds
        self._rigs = [Rig(lab, SluiceContender(lab)), Rig(lab, KernelBridge(lab))]

    def rows(self):
        kinds = [("TCP, TSO on", self._tso_on, Rig.tcp), ("TCP, TSO off", self._tso_off, Rig.tcp),
                 ("UDP, USO", self._tso_on, Rig.udp)]  # fmt: skip
        for title, prepare, send in kinds:
            prepare()
            for family in (4, 6):
                for reverse in (False, True):
                    way = "b to a" if reverse else "a to b"
                    label = f"{title}, IPv{family}, {way}"
                    say(f"[{time.strftime('%H:%M:%S')}] {label}")
                    yield [label] + self._cells(send, family, reverse)

    def _cells(self, send, family, reverse):
        cells = []
        for rig in self._rigs:
            measured = send(rig, self._seconds, family=family, reverse=reverse)
            lost = (f"{measured.lost_percent:.0f} %" if send is Rig.udp
                    else f"{measured.retransmits_per_10s:,.0f}")  # fmt: skip
            cells += [f"{measured.gbps:.1f}", lost, f"{measured.cpu_per_gib:.2f}"]
        return cells

    def _tso_on(self):
        self._set(True)

    def _tso_off(self):
        self._set(False)

    def _set(self, on):
        sluice, bridge = self._rigs
        sluice.switch.tso(on)
        bridge.offloads(tso="on" if on else "off", gso="on" if on else "off")


HEADINGS = ["", "Sluice Gb/s", "retr/10s", "CPU s/GiB", "bridge Gb/s", "retr/10s", "CPU s/GiB"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement (default: 3)")
    options = parser.parse_args()
    require_root()
    with Lab() as lab:
        rows = list(Demonstration(lab, options.seconds).rows())
    print(f"\n{machine()}\n\n{tables.table(HEADINGS, rows)}\n{EXPLANATION}", flush=True)


if __name__ == "__main__":
    main()
