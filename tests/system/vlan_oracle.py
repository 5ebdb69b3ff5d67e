#!/usr/bin/python3
"""What the kernel's own bridge (vlan_filtering 1) makes of frames with VLAN tags.

The results are in vlan_oracle.json. Run as root on a kernel with CONFIG_BRIDGE_VLAN_FILTERING,
this program makes that file again; vlan_oracle_test.py compares a switch with it.

Tags as text, outer first: "10" is VLAN 10, "10.5" with priority 5, "10a" with TPID 0x88a8,
"10a/7" above a tag 7, "-" none. What leaves: "2(-) 3(10)", sorted by port.
"""

import dataclasses
import json
import os
import platform
import re
import struct
import subprocess
import sys

from harness import Lab, run

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vlan_oracle.json")
_ETHER_TYPE = 0x88B5  # for local experiments
_MAGIC = b"vlan"
_BROADCAST = "ff:ff:ff:ff:ff:ff"


@dataclasses.dataclass
class Port:
    number: int
    mode: str  # vlan_mode
    tag: int = 0
    trunks: tuple = ()


@dataclasses.dataclass
class Scenario:
    name: str
    protocol: str  # of the bridge: 802.1Q, 802.1ad
    ports: list
    floods: list  # (port, tags): broadcast from an address of its own
    steps: list = dataclasses.field(default_factory=list)  # (port, tags, from, to): one by one


_TAGS = ("-", "0", "0.5", "10", "10.5", "20", "20.7", "30", "40", "4094", "10/7", "10/10", "20.3/7",
         "40/10")  # fmt: skip
_PORTS = [
    Port(1, "trunk", trunks=(10, 20, 30)),
    Port(2, "access", 10),
    Port(3, "access", 20),
    Port(4, "native-untagged", 10, (20,)),
    Port(5, "native-tagged", 10, (20,)),
    Port(6, "trunk", trunks=(10,)),
    Port(7, "access", 30),
    Port(8, "native-untagged", 20, (10, 30)),
]
_SERVICE_PORTS = [
    Port(1, "trunk", trunks=(10,)),
    Port(2, "dot1q-tunnel", 10),
    Port(3, "dot1q-tunnel", 10),
    Port(4, "dot1q-tunnel", 20),
    Port(5, "trunk", trunks=(10, 20)),
]
A, B, C = "02:00:00:00:0a:01", "02:00:00:00:0a:02", "02:00:00:00:0a:03"

SCENARIOS = [
    Scenario("802.1Q", "802.1Q", _PORTS, [(p.number, tags) for p in _PORTS for tags in _TAGS]),
    # Customers' frames with a tag of their own or none; on the trunks, frames of this and of other providers' VLANs.
    Scenario("802.1ad", "802.1ad", _SERVICE_PORTS,
             [(port, tags) for port in (2, 3, 4) for tags in ("-", "7", "7.5", "10", "0.5", "7/8")]
             + [(port, tags) for port in (1, 5) for tags in
                ("-", "10a", "10.5a", "10a/7", "10.5a/7.3", "20a/7", "30a", "30a/10", "10a/7/8")]),
    Scenario("learning", "802.1Q", _PORTS, [], [
        (2, "-", A, _BROADCAST),
        (1, "10", B, A), (1, "10.3", B, A), (4, "-", B, A), (5, "10", C, A),
        (3, "-", B, A), (1, "20", C, A),  # in VLAN 20 A is not known
        (3, "-", A, _BROADCAST), (1, "20", B, A), (1, "10", B, A),  # both now
        (4, "-", A, _BROADCAST), (1, "10", B, A), (2, "-", B, A),  # A has moved in VLAN 10
        (4, "-", C, A),  # and sends nothing back to where it is
        (8, "30", C, _BROADCAST), (7, "-", B, C), (1, "30", B, C), (2, "-", B, C),
        (8, "-", A, B), (5, "20", B, A),
    ]),
]  # fmt: skip


def encode_tags(text):
    tags = b""
    for tag in [] if text == "-" else text.split("/"):
        vid, priority, service = re.fullmatch(r"(\d+)(?:\.(\d))?(a?)", tag).groups()
        tags += struct.pack(">HH", 0x88A8 if service else 0x8100, int(priority or 0) << 13 | int(vid))
    return tags


def decode_tags(data):
    """The tags at the start of `data` as text, and what follows them."""
    tags = []
    while data[:2] in (b"\x81\x00", b"\x88\xa8"):
        (tci,) = struct.unpack(">H", data[2:4])
        priority = f".{tci >> 13}" if tci >> 13 else ""
        tags.append(f"{tci & 0xfff}{priority}{'a' if data[0] == 0x88 else ''}")
        data = data[4:]
    return "/".join(tags) or "-", data


def make_frame(tags, source, target, number):
    mac = lambda text: bytes.fromhex(text.replace(":", ""))
    body = _MAGIC + struct.pack(">I", number) + bytes(range(60))
    return mac(target) + mac(source) + encode_tags(tags) + struct.pack(">H", _ETHER_TYPE) + body


def read_frame(frame):
    """(number, tags), or None for a frame that is not one of these."""
    tags, rest = decode_tags(frame[12:])
    if rest[:2] != struct.pack(">H", _ETHER_TYPE) or rest[2:6] != _MAGIC:
        return None
    if rest[10:70] != bytes(range(60)):
        raise ValueError(f"damaged: {frame.hex()}")
    return struct.unpack(">I", rest[6:10])[0], tags


class Stations:
    """A namespace with an interface sPORT per port of a scenario, each at the other end of a veth."""

    def __init__(self, lab, scenario, quiet=0.3):
        self.namespace = lab.netns("st")
        self.links = {}
        for port in scenario.ports:
            name = f"s{port.number}"
            self.links[port.number] = lab.veth(self.namespace, inner=name)
            self.namespace.silence(name)
            self.namespace.run("ip", "link", "set", name, "up")
        script = os.path.join(os.path.dirname(TABLE), "vlan_stations.py")
        names = [f"s{port.number}" for port in scenario.ports]
        self._process = subprocess.Popen(
            self.namespace.command("/usr/bin/python3", script, quiet, *names),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        lab.defer(self._process.stdout.close)
        lab.defer(self._process.wait)
        lab.defer(self._process.stdin.close)

    def exchange(self, frames):
        """Sends [(port, frame)]; returns {number: what left}."""
        self._process.stdin.write(json.dumps([(port, f.hex()) for port, f in frames]) + "\n")
        self._process.stdin.flush()
        left = {}
        for port, data in json.loads(self._process.stdout.readline()):
            frame = read_frame(bytes.fromhex(data))
            if frame is not None:
                left.setdefault(frame[0], []).append((port, frame[1]))
        return {number: " ".join(f"{port}({tags})" for port, tags in sorted(outputs))
                for number, outputs in left.items()}  # fmt: skip


def play(scenario, stations):
    """All frames of a scenario: {description: what left}."""
    table = {}
    frames = [(port, make_frame(tags, f"02:00:00:00:01:{number:02x}", _BROADCAST, number))
              for number, (port, tags) in enumerate(scenario.floods)]  # fmt: skip
    for at in range(0, len(frames), 16):
        left = stations.exchange(frames[at : at + 16])
        for number, (port, tags) in list(enumerate(scenario.floods))[at : at + 16]:
            table[f"{port} {tags}"] = left.get(number, "")
    for number, (port, tags, source, target) in enumerate(scenario.steps):
        left = stations.exchange([(port, make_frame(tags, source, target, number))])
        table[f"{number}: {port} {tags} {source} > {target}"] = left.get(number, "")
    return table


def kernel_bridge(lab, scenario, links):
    name = lab.name("br")
    run("ip", "link", "add", name, "type", "bridge", "vlan_filtering", "1", "vlan_protocol", scenario.protocol,
        "vlan_default_pvid", "0", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0")  # fmt: skip
    lab.defer(run, "ip", "link", "del", name, check=False)
    lab.host.silence(name)
    for port in scenario.ports:
        link = links[port.number]
        run("ip", "link", "set", link, "master", name)
        for vlan in port.trunks:
            run("bridge", "vlan", "add", "dev", link, "vid", vlan)
        if port.mode == "native-tagged":
            run("bridge", "vlan", "add", "dev", link, "vid", port.tag, "pvid")
        elif port.mode != "trunk":
            run("bridge", "vlan", "add", "dev", link, "vid", port.tag, "pvid", "untagged")
    run("ip", "link", "set", name, "up")


def main():
    tables = {"kernel": platform.release()}
    for scenario in SCENARIOS:
        with Lab() as lab:
            stations = Stations(lab, scenario)
            kernel_bridge(lab, scenario, stations.links)
            ports = [dataclasses.asdict(port) for port in scenario.ports]
            tables[scenario.name] = {"ports": ports, "results": play(scenario, stations)}
    with open(sys.argv[1] if len(sys.argv) > 1 else TABLE, "w", encoding="ascii") as f:
        # A line per result.
        f.write(re.sub(r"\n {4,}|\n {3}(?=[\]}])", " ", json.dumps(tables, indent=1)) + "\n")


if __name__ == "__main__":
    main()
