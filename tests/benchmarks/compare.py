#!/usr/bin/python3
"""Sluice beside Open vSwitch and the kernel bridge: namespace - port - switch - port - namespace.

Starts every switch itself, alternates between them run by run, and undoes everything, also on
Ctrl-C. Needs root, a built tree and `utilities/install-deps --bench`.
"""

import argparse
import json
import os
import statistics
import sys
import time

import tables
from peers import KernelBridge, Ovs, Rig, SluiceContender
from harness import Lab, require_root  # peers has put tests/system on the path
from traffic import machine_cpu_seconds, ping, process_cpu_seconds

_HERE = os.path.dirname(os.path.abspath(__file__))
GIB = 1 << 30


def progress(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def veth_rigs(lab):
    yield Rig(lab, SluiceContender(lab))
    yield Rig(lab, SluiceContender(lab, kernel=False))
    yield Rig(lab, Ovs(lab))
    yield Rig(lab, Ovs(lab, raised=True))
    yield Rig(lab, KernelBridge(lab))


def mtu_rigs(lab):
    """Frames of one MTU: the namespaces segment. OVS without TSO needs `tx off` there."""
    for switch in (SluiceContender(lab), SluiceContender(lab, kernel=False), Ovs(lab, tso=False), KernelBridge(lab)):
        rig = Rig(lab, switch)
        if isinstance(switch, Ovs):
            rig.offloads(tx="off")
        rig.offloads(tso="off", gso="off")
        yield rig


def tap_rigs(lab):
    yield Rig(lab, SluiceContender(lab), internal=True)
    yield Rig(lab, Ovs(lab), internal=True)


def throughput(rigs, options, streams):
    """Alternating runs of iperf3; per switch the list of runs."""
    runs = {rig.name: [] for rig in rigs}
    for number in range(options.runs):
        # The order turns with every run, so that no switch always follows the same other one.
        turned = rigs[number % len(rigs):] + rigs[: number % len(rigs)]
        for rig in turned:
            before = rig.counters()
            measured = rig.tcp(options.seconds, streams)
            time.sleep(0.3)  # counters that the switch gathers from its threads
            proof = rig.packet_sizes(before, rig.counters())
            runs[rig.name].append({
                "gbps": measured.gbps,
                "retransmits_per_10s": measured.retransmits_per_10s,
                "cpu_s_per_gib": measured.cpu_per_gib,
                "switch_cpu_s_per_gib": measured.switch_cpu * GIB / max(measured.bytes, 1),
                **proof,
                # Headers come on top of what arrived: fewer bytes would mean another path.
                "path_proved": proof["bytes_through"] >= measured.bytes,
            })  # fmt: skip
            progress(f"run {number + 1}/{options.runs} {rig.name}: {measured.gbps:.2f} Gb/s")
    return runs


def throughput_table(runs):
    ours = next(iter(runs))
    column = lambda name, key: [run[key] for run in runs[name]]
    rows = []
    for name in runs:
        same = name == ours
        ratio = tables.ratios(column(ours, "gbps"), column(name, "gbps"))
        cpu = tables.ratios(column(ours, "cpu_s_per_gib"), column(name, "cpu_s_per_gib"))
        median = lambda key: statistics.median(column(name, key))
        proved = all(column(name, "path_proved"))
        rows.append([
            name,
            tables.spread(column(name, "gbps")),
            f"{median('retransmits_per_10s'):,.0f}",
            tables.spread(column(name, "cpu_s_per_gib"), 2),
            f"{median('bytes_per_packet_in'):,.0f}/{median('bytes_per_packet_out'):,.0f}"
            + ("" if proved else " NOT PROVED"),
            "" if same else tables.spread(ratio, 2),
            "" if same else f"{statistics.median(cpu):.2f}",
        ])  # fmt: skip
    return tables.table(["switch", "Gb/s", "retr/10s", "CPU s/GiB", "B/packet in/out",
                         "Sluice/it Gb/s", "CPU"], rows)  # fmt: skip


def latency(rigs, options):
    """Median round trips in milliseconds: first packet after idling, steady 1 and 100 per second."""
    target = Rig.ADDRESS["b"][4]
    found = {rig.name: {"after_idle": [], "1pps": [], "100pps": []} for rig in rigs}
    for number in range(options.runs):
        progress(f"run {number + 1}/{options.runs}: all idle for {options.idle} s")
        time.sleep(options.idle)
        for rig in rigs:
            found[rig.name]["after_idle"] += ping(rig.a, target, count=1)
        for rig in rigs:
            found[rig.name]["1pps"] += ping(rig.a, target, count=4, interval=1)[1:]
            found[rig.name]["100pps"] += ping(rig.a, target, count=100, interval=0.01)[1:]
    return found


def latency_table(found):
    ours = next(iter(found))
    rows = []
    for name, values in found.items():
        row = [name] + [tables.spread(values[key], 3) for key in values]
        for key in values:
            ratio = statistics.median(found[ours][key]) / statistics.median(values[key])
            row.append("" if name == ours else f"{ratio:.2f}")
        rows.append(row)
    return tables.table(["switch", "after idle, ms", "1/s, ms", "100/s, ms", "ratio idle", "1/s",
                         "100/s"], rows)  # fmt: skip


def idle_cpu(rigs, options):
    """CPU of each switch's process while nothing is sent, in percent of a core."""
    measured = [rig for rig in rigs if rig.switch.pid]
    time.sleep(2)
    before = {rig.name: process_cpu_seconds(rig.switch.pid) for rig in measured}
    time.sleep(options.idle)
    return {rig.name: 100 * (process_cpu_seconds(rig.switch.pid) - before[rig.name]) / options.idle
            for rig in measured}  # fmt: skip


def flows(rigs, options):
    """Small UDP datagrams over 1 to 10,000 flows: packets per second and CPU per packet."""
    absent = "10.0.0.99"  # nobody's address: b counts the packet on its interface and drops it
    found = {rig.name: {} for rig in rigs}
    for rig in rigs:
        address = rig.b.run("cat", f"/sys/class/net/{rig.links[1]}/address").strip()
        rig.a.run("ip", "neigh", "replace", absent, "lladdr", address, "dev", rig.links[0])
    for count in (1, 100, 1000, 10000):
        for number in range(options.runs):
            for rig in rigs:
                one = _flow_run(rig, absent, count, options.seconds)
                found[rig.name].setdefault(count, []).append(one)
                progress(f"{count} flows, run {number + 1}/{options.runs} {rig.name}: "
                         f"{one['packets_per_second'] / 1e3:,.0f} kpps")  # fmt: skip
    return found


def _flow_run(rig, target, count, seconds):
    before = rig.b.counters(rig.links[1])["rx_packets"]
    switch = process_cpu_seconds(rig.switch.pid) if rig.switch.pid else 0.0
    machine = machine_cpu_seconds()
    sent = json.loads(
        rig.a.run("/usr/bin/python3", os.path.join(_HERE, "flow_sender.py"), target, count,
                  seconds))  # fmt: skip
    time.sleep(0.2)
    arrived = rig.b.counters(rig.links[1])["rx_packets"] - before
    switch = process_cpu_seconds(rig.switch.pid) - switch if rig.switch.pid else 0.0
    return {
        "packets_per_second": arrived / sent["seconds"],
        "sent_per_second": sent["sent"] / sent["seconds"],
        "switch_ns_per_packet": switch * 1e9 / max(arrived, 1),
        "machine_ns_per_packet": (machine_cpu_seconds() - machine) * 1e9 / max(arrived, 1),
    }


def flows_table(found):
    rows = []
    for name, by_count in found.items():
        for count, runs in by_count.items():
            column = lambda key, these=runs: [run[key] for run in these]
            rows.append([
                name,
                f"{count:,}",
                tables.spread([n / 1e3 for n in column("packets_per_second")], 0),
                tables.spread([n for n in column("switch_ns_per_packet") if n], 0),
                tables.spread(column("machine_ns_per_packet"), 0),
            ])  # fmt: skip
    return tables.table(["switch", "flows", "kpps", "switch ns/packet", "machine ns/packet"], rows)


def scenarios():
    """name -> (title, rigs, measure, table)."""
    one = lambda rigs, options: throughput(rigs, options, 1)
    four = lambda rigs, options: throughput(rigs, options, 4)
    idle_table = lambda found: tables.table(
        ["switch", "% of a core"], [[name, f"{value:.2f}"] for name, value in found.items()])
    return {
        "tso": ("veth, TSO on, 1 TCP stream", veth_rigs, one, throughput_table),
        "tso4": ("veth, TSO on, 4 TCP streams", veth_rigs, four, throughput_table),
        "mtu": ("veth, MTU-sized frames, 1 TCP stream", mtu_rigs, one, throughput_table),
        "mtu4": ("veth, MTU-sized frames, 4 TCP streams", mtu_rigs, four, throughput_table),
        "tap": ("internal (tap) ports, TSO on, 1 TCP stream", tap_rigs, one, throughput_table),
        "latency": ("ping round trip", veth_rigs, latency, latency_table),
        "idle": ("CPU while idle", veth_rigs, idle_cpu, idle_table),
        "flows": ("small UDP datagrams over many flows", veth_rigs, flows, flows_table),
    }  # fmt: skip


def parse_arguments(known):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--scenario", action="append", choices=known,
                        help="only this one; may be repeated (default: all)")  # fmt: skip
    parser.add_argument("--runs", type=int, default=5, help="alternating runs (default: 5)")
    parser.add_argument("--seconds", type=int, default=5, help="of each run (default: 5)")
    parser.add_argument("--idle", type=float, default=10, help="seconds of idling (default: 10)")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--without", action="append", default=[], metavar="SWITCH",
                        help='leave a switch out, e.g. "OVS 32M"; may be repeated')  # fmt: skip
    return parser.parse_args()


def main():
    known = scenarios()
    options = parse_arguments(known)
    require_root()
    results = {}
    for name in options.scenario or known:
        title, make_rigs, measure, to_table = known[name]
        progress(f"{name}: {title}")
        with Lab() as lab:
            rigs = [rig for rig in make_rigs(lab) if rig.name not in options.without]
            results[name] = measure(rigs, options)
        if options.format == "text":
            print(f"\n{title} ({options.runs} alternating runs)\n\n{to_table(results[name])}",
                  flush=True)  # fmt: skip
    if options.format == "json":
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
