#!/usr/bin/python3
"""OpenFlow rates beside Open vSwitch, in alternating runs on the same machine.

adds        100,000 flows added one by one, to the barrier's answer: flow mods a second
bundle      the same in one bundle
deletes     all of them deleted one by one
memory      resident bytes a flow has cost
barrier     median microseconds of a barrier with nothing to do
packet_out  packet-outs a second that leave by a port
packet_in   packets a second that a flow sends to the controller, made by packet-outs to the table

Needs root and a built tree; the peer is Debian's openvswitch-switch.
"""

import argparse
import json
import os
import re
import statistics
import struct
import sys
import time

import openflow_client as of
import tables
from peers import Ovs, SluiceContender
from harness import Lab, read_file, require_root  # peers has put tests/system on the path

ETH_TYPE, IPV4_DST, TCP_DST, IP_PROTO = 5, 12, 14, 10
CONTROLLER, TABLE = 0xFFFFFFFD, 0xFFFFFFF9


def progress(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def flow(number, command=0):
    address = struct.pack("!I", 0x0A000000 + number)
    fields = [(ETH_TYPE, b"\x08\x00"), (IPV4_DST, address)]
    return of.flow_mod(fields, b"" if command else of.output(1), command=command, xid=number + 1)


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", read_file(f"/proc/{pid}/status"))[1]) * 1024


def frame(number):
    """A UDP frame to an address that depends on the number."""
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 46, 0, 0, 64, 17, 0, 0x0A000001, 0x0B000000 + number % 64)
    return bytes.fromhex("0200000000020200000000010800") + ip + struct.pack("!HHHH", 1, 2, 26, 0) + bytes(18)


class Bench:
    """One switch, one connection."""

    def __init__(self, lab, switch, rundir, count):
        self.lab, self.switch, self.count = lab, switch, count
        self._path = f"{rundir}/br0.mgmt"
        host = lab.netns("x")
        self.port = lab.veth(host, host=switch.host)
        switch.veth_ports(self.port)
        host.run("ip", "link", "set", "eth0", "up")
        self.client = of.OpenflowClient(self._path)
        self._clear()

    def _clear(self):
        self.client.send(of.flow_mod([], b"", table=0xFF, command=3))
        self.client.barrier()

    def _timed(self, data):
        began = time.monotonic()
        self.client.send(data)
        self.client.barrier()
        return time.monotonic() - began

    def run(self):
        adds = b"".join(flow(n) for n in range(self.count))
        deletes = b"".join(flow(n, command=4) for n in range(self.count))
        figures = {}
        before = resident(self.switch.pid)
        figures["adds"] = self.count / self._timed(adds)
        figures["memory"] = (resident(self.switch.pid) - before) / self.count
        figures["deletes"] = self.count / self._timed(deletes)
        bundle = b"".join([of.bundle_control(0), *(of.bundle_add(flow(n)) for n in range(self.count)),
                           of.bundle_control(2), of.bundle_control(4)])  # fmt: skip
        figures["bundle"] = self.count / self._timed(bundle)
        figures["barrier"] = statistics.median(self._timed(b"") for _ in range(200)) * 1e6
        self._clear()
        outs = b"".join(of.packet_out(frame(n), of.output(1)) for n in range(20000))
        figures["packet_out"] = 20000 / self._timed(outs)
        self.client.send(of.flow_mod([], of.output(CONTROLLER)))
        self.client.barrier()
        figures["packet_in"] = self._packet_ins(of.packet_out(frame(0), of.output(TABLE), in_port=1))
        if self.client.errors:
            raise RuntimeError(f"{self.switch.name} answered with {self.client.errors} errors")
        return figures

    def _packet_ins(self, one, seconds=2.0, window=64):
        """As many as come back in a while, with `window` under way."""
        self.client.send(one * window)
        began, seen = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            self.client.wait_for(of.PACKET_IN)
            new = self.client.counts[of.PACKET_IN] - seen
            self.client.send(one * new)
            seen += new
        return seen / (time.monotonic() - began)


def measure(make, count):
    with Lab() as lab:
        switch, rundir = make(lab)
        return Bench(lab, switch, rundir, count).run()


def sluice(lab):
    switch = SluiceContender(lab)
    return switch, switch.rundir


def ovs(lab):
    switch = Ovs(lab)
    return switch, switch.rundir


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--flows", type=int, default=100000)
    parser.add_argument("--format", choices=["table", "json"], default="table")
    options = parser.parse_args()
    require_root()
    results = {"Sluice": [], "OVS": []}
    for number in range(options.runs):
        for name, make in (("Sluice", sluice), ("OVS", ovs)):
            results[name].append(measure(make, options.flows))
            progress(f"run {number + 1} {name}: " + ", ".join(f"{k} {v:,.0f}" for k, v in results[name][-1].items()))
    if options.format == "json":
        return print(json.dumps(results, indent=1))
    rows = []
    for key in ("adds", "bundle", "deletes", "memory", "barrier", "packet_out", "packet_in"):
        ours, theirs = ([run[key] for run in results[name]] for name in ("Sluice", "OVS"))
        rows.append([key, tables.spread(ours, 0), tables.spread(theirs, 0),
                     tables.spread(tables.ratios(ours, theirs), 2)])  # fmt: skip
    print(f"{os.uname().nodename}: {options.flows} flows, {options.runs} alternating runs, median (lowest-highest)")
    print(tables.table(["", "Sluice", "OVS", "ratio"], rows))


if __name__ == "__main__":
    main()
