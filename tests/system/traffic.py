"""Traffic between two namespaces, with what it cost: throughput, retransmits, CPU seconds."""

import dataclasses
import json
import os
import re
import statistics
import time

from harness import CommandError, read_file, run, wait_until

GIB = 1 << 30
_TICKS = os.sysconf("SC_CLK_TCK")
_HERE = os.path.dirname(os.path.abspath(__file__))
_PYTHON = "/usr/bin/python3"


def machine_cpu_seconds():
    """CPU seconds that the whole machine has worked: everything but idle, iowait and steal."""
    user, nice, system, _idle, _iowait, irq, softirq = (
        int(n) for n in read_file("/proc/stat").split("\n")[0].split()[1:8]
    )
    return (user + nice + system + irq + softirq) / _TICKS


def process_cpu_seconds(pid):
    """CPU seconds of all threads of a process, to the nanosecond where the kernel counts so."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            total += int(read_file(f"/proc/{pid}/task/{thread}/schedstat").split()[0])
        except FileNotFoundError:
            continue
    return total / 1e9


@dataclasses.dataclass
class Measured:
    """One run of traffic. Bytes are those that arrived, without headers."""

    gbps: float
    bytes: int
    seconds: float
    machine_cpu: float
    switch_cpu: float = 0.0
    retransmits: int = 0
    lost_percent: float = 0.0

    @property
    def retransmits_per_10s(self):
        return self.retransmits * 10 / self.seconds if self.seconds else 0.0

    @property
    def cpu_per_gib(self):
        return self.machine_cpu * GIB / self.bytes if self.bytes else float("inf")


class _Meter:
    """CPU seconds between `with` and its end: of the machine, and of one process."""

    def __init__(self, pid=None):
        self._pid = pid

    def __enter__(self):
        self._machine = machine_cpu_seconds()
        self._process = process_cpu_seconds(self._pid) if self._pid else 0.0
        return self

    def __exit__(self, *_):
        self.machine = machine_cpu_seconds() - self._machine
        self.process = process_cpu_seconds(self._pid) - self._process if self._pid else 0.0


def _listening(namespace, port):
    tail = f":{port:04X} "
    table = namespace.run("cat", "/proc/net/tcp", "/proc/net/tcp6")
    return any(tail in line and " 0A " in line for line in table.splitlines())


def iperf3(lab, client, server, address, seconds=3, streams=1, switch_pid=None, udp=None, mss=None,
           port=5201):  # fmt: skip
    """Runs iperf3 from `client` to `server` (namespaces) and returns what was Measured.

    TCP with cubic; with udp="rate" (for example "500M") UDP at that rate. The address's family
    decides IPv4 or IPv6.
    """
    listener = lab.spawn(*server.command("iperf3", "-s", "-1", "-p", port))
    wait_until(lambda: _listening(server, port), 5, f"iperf3 to listen on port {port}")
    # Its own report, and the tenth of a second before it, must not fall into the measurement.
    arguments = ["iperf3", "-c", address, "-p", port, "-t", seconds, "-P", streams, "-J",
                 "--connect-timeout", "3000"]  # fmt: skip
    arguments += ["-u", "-b", udp, "-l", "1400"] if udp else ["-C", "cubic"]
    if mss:
        arguments += ["-M", mss]
    try:
        with _Meter(switch_pid) as meter:
            text = client.run(*arguments, timeout=seconds + 30, check=False)
    finally:
        listener.terminate()
        listener.wait()
    report = json.loads(text)
    if "error" in report:
        raise CommandError(f"iperf3 to {address}: {report['error']}")
    end = report["end"]
    received = end["sum"] if udp else end["sum_received"]
    sent = end["sum"] if udp else end["sum_sent"]
    lost = end["sum"].get("lost_percent", 0.0) if udp else 0.0
    return Measured(
        gbps=received["bits_per_second"] / 1e9,
        bytes=received["bytes"],
        seconds=received["seconds"],
        machine_cpu=meter.machine,
        switch_cpu=meter.process,
        retransmits=sent.get("retransmits", 0),
        lost_percent=lost,
    )


def udp_segments(lab, client, server, address, seconds=3, switch_pid=None, segment=1448, gbps=None,
                 port=5300):  # fmt: skip
    """UDP datagrams handed to the kernel as super-packets (UDP_SEGMENT), and counted on arrival.

    `gbps` bounds what the sender offers; without it the sender goes as fast as it can.
    """
    peer = os.path.join(_HERE, "udp_peer.py")
    log = os.path.join(lab.scratch, f"udp-{port}-{time.monotonic_ns()}.json")
    receiver = lab.spawn(*server.command(_PYTHON, peer, "receive", address, port), log=log)
    wait_until(lambda: os.path.exists(log) and os.path.getsize(log), 5, "the UDP receiver")
    with _Meter(switch_pid) as meter:
        sent = json.loads(
            client.run(_PYTHON, peer, "send", address, port, seconds, segment, gbps or 0,
                       timeout=seconds + 30))  # fmt: skip
        time.sleep(0.2)
    receiver.terminate()
    receiver.wait()
    arrived = json.loads(read_file(log).splitlines()[-1])
    return Measured(
        gbps=arrived["bytes"] * 8 / sent["seconds"] / 1e9,
        bytes=arrived["bytes"],
        seconds=sent["seconds"],
        machine_cpu=meter.machine,
        switch_cpu=meter.process,
        lost_percent=100 * (1 - arrived["bytes"] / sent["bytes"]) if sent["bytes"] else 0.0,
    )


def ping(client, address, count=3, interval=0.2, size=None, timeout=2):
    """Round-trip times in milliseconds of the answers that came."""
    extra = ["-s", size, "-M", "do"] if size else []
    text = client.run("ping", "-n", "-c", count, "-i", interval, "-W", timeout, *extra, address,
                      check=False, timeout=count * max(interval, 0.01) + timeout + 30)  # fmt: skip
    return [float(ms) for ms in re.findall(r"time=([\d.]+) ms", text)]


def median_and_range(values):
    return statistics.median(values), min(values), max(values)


def transfer(lab, client, server, address, size, timeout=60, seed=0, port=5400):
    """Sends `size` pseudo-random bytes over TCP; returns the SHA-256 at both ends and what the
    receiver reported (bytes, longest_wait in seconds)."""
    peer = os.path.join(_HERE, "file_peer.py")
    log = os.path.join(lab.scratch, f"file-{port}-{time.monotonic_ns()}.json")
    receiver = lab.spawn(*server.command(_PYTHON, peer, "receive", address, port), log=log)
    wait_until(lambda: _listening(server, port), 5, f"the receiver to listen on port {port}")
    sent = json.loads(
        client.run(_PYTHON, peer, "send", address, port, size, seed, timeout=timeout)
    )
    receiver.wait(timeout)
    arrived = json.loads(read_file(log).splitlines()[-1])
    return sent["sha256"], arrived["sha256"], arrived


def offloads(namespace, interface="eth0", **features):
    """ethtool -K inside a namespace: offloads(ns, tso="off", gso="off")."""
    words = [word for pair in features.items() for word in pair]
    namespace.run("ethtool", "-K", interface, *words)


def host_offloads(interface, **features):
    run("ethtool", "-K", interface, *[word for pair in features.items() for word in pair])
