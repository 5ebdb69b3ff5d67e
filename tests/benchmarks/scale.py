#!/usr/bin/python3
"""How a bridge takes many ports, many addresses and many new flows, with traffic beside them.

ports   1,000 internal ports added in one transaction and deleted again: seconds, memory, and what a
        running iperf3 lost by it
macs    200,000 addresses learned from random sources, and what another pair's iperf3 lost by it
setup   packets per second, each of a flow never seen before, beside Open vSwitch in alternating runs

Needs root, a built tree and, for `setup`, `utilities/install-deps --bench`.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time

import tables
from peers import Ovs, Rig, SluiceContender
from harness import Lab, read_file, require_root  # peers has put tests/system on the path

_HERE = os.path.dirname(os.path.abspath(__file__))


def progress(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", read_file(f"/proc/{pid}/status"))[1]) / 1024


class Stream:
    """An iperf3 that runs beside something else, and says what it did second by second."""

    def __init__(self, rig, seconds):
        self._rig = rig
        self._server = rig.lab.spawn(*rig.b.command("iperf3", "-s", "-1"))
        time.sleep(0.5)
        self._log = os.path.join(rig.lab.scratch, f"stream-{time.monotonic_ns()}.json")
        self._client = rig.lab.spawn(
            *rig.a.command("iperf3", "-c", Rig.ADDRESS["b"][4], "-t", seconds, "-C", "cubic", "-J",
                           "-i", "0.5"), log=self._log)  # fmt: skip

    def gbps(self):
        """Of each half second, the first one left out."""
        self._client.wait(120)
        self._server.wait(10)
        report = json.loads(read_file(self._log))
        return [i["sum"]["bits_per_second"] / 1e9 for i in report["intervals"]][1:]


def vsctl_ports(switch, names, command):
    words = []
    for name in names:
        words += ["--", command, *(["br0"] if command == "add-port" else []), name]
        if command == "add-port":
            words += ["--", "set", "Interface", name, "type=internal"]
    begin = time.monotonic()
    switch.vsctl(*words[1:], timeout=120)
    return time.monotonic() - begin


def ports(lab, options):
    rig = Rig(lab, SluiceContender(lab))
    switch = rig.switch
    names = [f"sp{os.getpid()}x{n}" for n in range(options.ports)]
    rows, start = [], None
    for number in range(options.runs + 1):
        stream = Stream(rig, 20)
        time.sleep(4)
        before = resident_mib(switch.pid)
        added = vsctl_ports(switch, names, "add-port")
        full = resident_mib(switch.pid)
        time.sleep(1)
        deleted = vsctl_ports(switch, names, "del-port")
        speeds = stream.gbps()
        time.sleep(2)
        after = resident_mib(switch.pid)
        progress(f"run {number}: added in {added:.1f} s, deleted in {deleted:.1f} s")
        if number == 0:
            start = after  # the first time fills pools and caches that stay
            continue
        quiet = statistics.median(speeds[:6])
        rows.append([number, f"{added:.1f}", f"{deleted:.1f}",
                     f"{before:.0f}/{full:.0f}/{after:.0f}", f"{100 * (after / start - 1):+.1f} %",
                     f"{quiet:.1f}", f"{statistics.median(speeds[7:]):.1f}",
                     f"{min(speeds[7:]):.1f}"])  # fmt: skip
    return tables.table(["run", "add s", "delete s", "RSS MiB", "against the start",
                         "Gb/s before", "Gb/s during", "worst 0.5 s"], rows)  # fmt: skip


def send_from_random(rig, limit, seconds, seed):
    """Frames from random sources into a's port, to the address of b. Returns the sender's report."""
    target = rig.b.run("cat", f"/sys/class/net/{rig.links[1]}/address").strip()
    return json.loads(rig.a.run("/usr/bin/python3", os.path.join(_HERE, "mac_sender.py"),
                                rig.links[0], target, seconds, limit, seed,
                                timeout=seconds + 30))  # fmt: skip


def macs(lab, options):
    rig = Rig(lab, SluiceContender(lab))
    switch = rig.switch
    switch.vsctl("set", "Bridge", "br0", "other_config:mac-table-size=400000")
    # The strangers come by a third port, so that the pair's own links are not shared.
    stranger = lab.netns("s")
    switch.add_port(lab.veth(stranger, host=switch.host))
    rows = []
    for number in range(options.runs):
        switch.appctl("fdb/flush", "br0")
        stream = Stream(rig, 16)
        time.sleep(5)
        begin = time.monotonic()
        sent = json.loads(stranger.run("/usr/bin/python3", os.path.join(_HERE, "mac_sender.py"), "eth0",
                                       "02:00:00:00:00:99", 6, 200_000, number, timeout=60))  # fmt: skip
        during = time.monotonic() - begin
        learned = _learned(switch)
        speeds = stream.gbps()
        quiet = statistics.median(speeds[:8])
        busy = statistics.median(speeds[9 : 9 + max(2, int(during * 2))])
        rows.append([number + 1, f"{sent['sent']:,}", f"{learned:,}", f"{sent['seconds']:.1f}",
                     f"{quiet:.1f}", f"{busy:.1f}", f"{100 * busy / quiet:.0f} %"])  # fmt: skip
        progress(f"run {number + 1}: {learned:,} addresses learned")
    return tables.table(["run", "frames", "addresses", "s", "Gb/s before", "Gb/s during", "kept"], rows)


def _learned(switch):
    text = switch.appctl("fdb/stats-show", "br0")
    match = re.search(r"Current.*?(\d+)", text)
    if not match:
        raise RuntimeError(f"fdb/stats-show says nothing of its entries:\n{text}")
    return int(match[1])


def setup(lab, options):
    rigs = [Rig(lab, SluiceContender(lab)), Rig(lab, Ovs(lab))]
    found = {rig.name: [] for rig in rigs}
    for rig in rigs:
        rig.switch.vsctl("set", "Bridge", "br0", "other_config:mac-table-size=1000000")
    for number in range(options.runs):
        for rig in rigs if number % 2 == 0 else rigs[::-1]:
            before = rig.b.counters(rig.links[1])["rx_packets"]
            sent = send_from_random(rig, 10**9, options.seconds, number)
            time.sleep(1.5)
            arrived = rig.b.counters(rig.links[1])["rx_packets"] - before
            found[rig.name].append(arrived / sent["seconds"])
            progress(f"run {number + 1} {rig.name}: {arrived / sent['seconds']:,.0f} new flows/s "
                     f"of {sent['sent'] / sent['seconds']:,.0f} offered")  # fmt: skip
            time.sleep(12)  # until idle flows are gone
    ours = next(iter(found))
    rows = [[name, tables.spread([n / 1e3 for n in rates], 1),
             "" if name == ours else tables.spread(tables.ratios(found[ours], rates), 2)]
            for name, rates in found.items()]  # fmt: skip
    return tables.table(["switch", "thousand new flows/s", "Sluice/it"], rows)


SCENARIOS = {"ports": ports, "macs": macs, "setup": setup}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="default: all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3, help="of each run of setup")
    parser.add_argument("--ports", type=int, default=1000)
    options = parser.parse_args()
    require_root()
    for name in options.scenario or SCENARIOS:
        with Lab() as lab:
            print(f"\n{name}\n{SCENARIOS[name](lab, options)}", flush=True)


if __name__ == "__main__":
    main()
