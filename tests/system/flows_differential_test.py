#!/usr/bin/python3
"""The same flow tables and packets in Debian's Open vSwitch and in ours: the same packets leave by the same ports.

Both run in userspace with dummy ports, which write what they send into capture files.
SEED=N repeats a run; PACKETS=N sets how many packets are sent.
"""

import collections
import os
import re
import struct
import time
import unittest

import harness
from bridged import Bridged
from flow_lines import GROUPS, PORTS, Flows, Packets
from harness import Lab, run, wait_until
from ovs_peer import OvsPeer
from sluice import call

FLOWS = 300
PACKETS = int(os.environ.get("PACKETS", 20000))
SYNC = 9  # the port by which a switch says that it has done all before
MARK = bytes.fromhex("0200000000ee0200000000ef88b6") + bytes(50)


def frames_in(path):
    """The frames of a classic pcap file."""
    with open(path, "rb") as f:
        data = f.read()
    frames, at = [], 24
    while at + 16 <= len(data):
        (size,) = struct.unpack_from("=I", data, at + 8)
        frames.append(data[at + 16 : at + 16 + size])
        at += 16 + size
    return frames


class Side:
    """One of the two switches."""

    def __init__(self, lab, name, vsctl, control):
        self._vsctl, self._control, self.name = vsctl, control, name
        self._folder = os.path.join(lab.scratch, name)
        os.mkdir(self._folder)
        for port in [*PORTS, SYNC]:
            vsctl("add-port", "br0", f"p{port}", "--", "set", "Interface", f"p{port}", "type=dummy",
                  f"ofport_request={port}", f"options:tx_pcap={self.path(port)}")  # fmt: skip

    def path(self, port):
        return os.path.join(self._folder, f"{port}.pcap")

    def appctl(self, *arguments):
        return call(self._control(), *arguments)

    def load(self, rundir, groups, flows):
        target = f"unix:{rundir}/br0.mgmt"
        path = os.path.join(self._folder, "flows")
        with open(path, "w", encoding="ascii") as f:
            f.write("\n".join(flows) + "\n")
        run("ovs-ofctl", "-O", "OpenFlow13", "del-flows", target)
        for group in groups:
            run("ovs-ofctl", "-O", "OpenFlow13", "add-group", target, group)
        run("ovs-ofctl", "-O", "OpenFlow13", "add-flows", target, path)

    def _marks(self):
        with open(self.path(SYNC), "rb") as f:
            return f.read().count(MARK)

    def send(self, packets):
        marks = 0
        by_port = collections.defaultdict(list)
        for number, (port, frame) in enumerate(packets, 1):
            by_port[port].append(frame.hex())
            if number % 60 == 0 or number == len(packets):
                for at, frames in by_port.items():
                    self.appctl("netdev-dummy/receive", f"p{at}", *frames, MARK.hex())
                    marks += 1
                by_port.clear()
                wait_until(lambda expected=marks: self._marks() >= expected, 20, f"{self.name} to send mark {marks}")
        time.sleep(0.2)

    def sent(self):
        return {port: collections.Counter(frames_in(self.path(port))) for port in PORTS}

    def datapath_actions(self, flow):
        """What ofproto/trace says, with ports by name."""
        text = self.appctl("ofproto/trace", "br0", flow)
        actions = re.search(r"Datapath actions: (.*)", text)[1]
        numbers = {number: name for number, name in
                   re.findall(r"port (\d+): (\S+)", self.appctl("dpctl/show"))}  # fmt: skip
        return re.sub(r"(?<![\w.:=/])(\d+)(?=[,)]|$)", lambda n: numbers.get(n[1], n[1]), actions)


class FlowsDifferential(unittest.TestCase):
    seed = int(os.environ.get("SEED", int(time.time())))

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        ours = Bridged(self.lab, host=self.lab.netns("s"))
        theirs = OvsPeer(self.lab, self.lab.netns("o"))
        self.ours = Side(self.lab, "ours", ours.vsctl, lambda: ours.socket)
        self.theirs = Side(self.lab, "theirs", theirs.vsctl, lambda: theirs.control)
        print(f"seed {self.seed}", flush=True)
        mark = f"table=0,priority=65535,dl_type=0x88b6,actions=output:{SYNC}"
        self.flows = [mark, *Flows(self.seed).lines(FLOWS)]
        self.ours.load(ours.rundir, GROUPS, self.flows)
        self.theirs.load(theirs.rundir, GROUPS, self.flows)

    def test_same_packets_leave(self):
        packets = list(Packets(self.seed).some(PACKETS))
        for side in (self.ours, self.theirs):
            side.send(packets)
        ours, theirs = self.ours.sent(), self.theirs.sent()
        self.assertGreater(sum(sum(frames.values()) for frames in theirs.values()), PACKETS / 2)
        for port in PORTS:
            missing, extra = theirs[port] - ours[port], ours[port] - theirs[port]
            said = "\n".join(f"{what} {count} x {frame.hex()}" for what, frames in (("-", missing), ("+", extra))
                             for frame, count in list(frames.items())[:5])  # fmt: skip
            self.assertFalse(missing or extra, f"port {port}, seed {self.seed}: {len(missing)} missing, "
                                               f"{len(extra)} more\n{said}")  # fmt: skip

    def test_same_datapath_actions(self):
        flows = ["in_port={0},tcp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst={1},"
                 "nw_ttl=64,tp_src=5000,tp_dst={2}",
                 "in_port={0},udp6,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:01:03,ipv6_src=fd00::1,"
                 "ipv6_dst=fd00::2,nw_ttl=64,udp_src={2},udp_dst=53",
                 "in_port={0},arp,dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa={1},"
                 "arp_tpa=10.0.0.2",
                 "in_port={0},icmp,dl_vlan=7,dl_vlan_pcp=1,dl_dst=02:00:00:00:00:02,nw_src={1},nw_dst=10.0.1.7,"
                 "nw_ttl=64,icmp_type=8,icmp_code=0"]  # fmt: skip
        for flow in flows:
            for port in PORTS:
                for address in ("10.0.0.2", "10.9.0.1"):
                    for l4 in (80, 5001):
                        line = flow.format(port, address, l4)
                        with self.subTest(seed=self.seed, flow=line):
                            self.assertEqual(self.ours.datapath_actions(line), self.theirs.datapath_actions(line))


if __name__ == "__main__":
    harness.require_root()
    harness.main(time_limit=300)
