"""Random OpenFlow tables and packets for comparing two switches: the same lines, the same bytes for both.

Left out is what may differ by right: which bucket or link a hash picks, in what order addresses are learned.
"""

import random
import struct
import subprocess

from scapy.all import (ARP, ICMP, IP, SCTP, TCP, UDP, Dot1AD, Dot1Q, Ether, ICMPv6EchoRequest, ICMPv6ND_NA,
                       ICMPv6ND_NS, IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, Raw)  # fmt: skip
from scapy.contrib.mpls import MPLS

PORTS = [1, 2, 3, 4, 5]
TABLES = 6
MACS = ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:01:03", "01:00:5e:00:00:05", "ff:ff:ff:ff:ff:ff"]
V4 = ["10.0.0.1", "10.0.0.2", "10.0.1.7", "10.9.0.1", "192.168.3.4", "224.0.0.5"]
V6 = ["fd00::1", "fd00::2", "fd00:1::7", "fe80::3", "ff02::1:ff00:2"]
L4 = [22, 53, 80, 443, 1024, 5000, 5001, 65535]
VLANS = [0, 5, 7, 100, 4094]

GROUPS = [
    "group_id=1,type=all,bucket=actions=output:1,bucket=actions=mod_dl_dst:02:00:00:00:00:99,output:2",
    "group_id=2,type=indirect,bucket=actions=set_field:10.77.0.1->ip_dst,output:3",
    "group_id=3,type=all,bucket=actions=push_vlan:0x8100,set_field:4105->vlan_vid,output:4,bucket=actions=output:5",
    "group_id=4,type=ff,bucket=watch_port:1,actions=output:1,bucket=watch_port:2,actions=output:2",
    "group_id=5,type=select,bucket=actions=output:3",
]


class Flows:
    """`lines(n)`: so many different flows, as add-flow takes them, in OpenFlow 1.3's words."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def lines(self, count):
        flows = {}
        for table in range(TABLES):
            self._add(flows, table, "", "", 0)
        while len(flows) < count:
            table = self._random.choice([0, 0, 0, 1, 1, 2, 3, 4, 5])
            match, kind = self._match(table)
            self._add(flows, table, match, kind, self._random.choice([1, 2, 3, 10, 100, 1000, 32768]))
        return list(flows.values())

    def _add(self, flows, table, match, kind, priority):
        """With the first random actions that go with the match: one action may take another's field away."""
        while True:
            words = [f"table={table}", f"priority={priority}", match, f"actions={self._actions(kind, table)}"]
            line = ",".join(filter(None, words))
            if subprocess.run(["ovs-ofctl", "-O", "OpenFlow13", "parse-flow", line], capture_output=True,
                              check=False).returncode == 0:  # fmt: skip
                flows[(table, match, priority)] = line
                return

    def _pick(self, *choices):
        return self._random.choice(choices)

    def _match(self, table):
        """The match and which protocol it makes sure of."""
        r = self._random
        items = []
        if r.random() < 0.4:
            items.append(f"in_port={r.choice(PORTS)}")
        if r.random() < 0.2:
            items.append(self._pick(f"dl_src={r.choice(MACS)}", f"dl_dst={r.choice(MACS)}",
                                    "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00"))  # fmt: skip
        if r.random() < 0.2:
            items.append(self._pick(f"dl_vlan={r.choice(VLANS)}", "vlan_tci=0x0000/0x1fff",
                                    "vlan_tci=0x1000/0x1000", f"dl_vlan=7,dl_vlan_pcp={r.randrange(8)}"))  # fmt: skip
        if table > 0 and r.random() < 0.4:
            items.append(self._pick(f"reg0={r.randrange(4)}", f"reg1={r.randrange(4):#x}/0x3",
                                    f"metadata={r.randrange(4):#x}/0xf", f"reg2={r.randrange(3)}"))  # fmt: skip
        protocol, kind = r.choice([
            (lambda: [], ""), (lambda: [], ""), (self._ipv4, "ip"), (self._ipv6, "ipv6"), (self._arp, "arp"),
            (lambda: ["tcp", *self._ipv4(whole=True)[1:], *self._l4(), *self._tcp_flags()], "tcp"),
            (lambda: ["udp", *self._ipv4(whole=True)[1:], *self._l4()], "udp"),
            (lambda: ["sctp", *self._l4()], "sctp"),
            (lambda: ["icmp", *self._some(f"icmp_type={r.choice([0, 3, 8])}")], "icmp"),
            (lambda: ["tcp6", *self._ipv6()[1:], *self._l4()], "tcp6"),
            (lambda: ["udp6", *self._l4()], "udp6"),
            (lambda: ["icmp6", f"icmp_type={self._pick(135, 136, 128)}"], "icmp6"),
            (lambda: ["icmp6", "icmp_type=135", f"nd_target={r.choice(V6)}"], "icmp6"),
            (lambda: ["mpls", *self._some("mpls_label=100"), *self._some("mpls_bos=1")], "mpls"),
            (lambda: [f"dl_type={self._pick('0x88cc', '0x88b5', '0x8100')}"], ""),
        ])  # fmt: skip
        return ",".join(protocol() + items), kind

    def _some(self, item):
        return [item] if self._random.random() < 0.5 else []

    def _ipv4(self, whole=False):
        """`whole`: ports go with it, which a fragment does not have."""
        r = self._random
        items = ["ip"]
        items += self._some(f"nw_src={r.choice(V4)}/{self._pick(8, 16, 24, 30, 32)}")
        items += self._some(f"nw_dst={r.choice(V4)}/{self._pick(8, 16, 24, 30, 32)}")
        if r.random() < 0.2:
            fragments = [] if whole else ["nw_frag=yes", "nw_frag=first", "nw_frag=later", "nw_frag=not_later"]
            items.append(self._pick("nw_tos=32", "nw_ecn=1", "nw_ttl=64", "nw_frag=no", *fragments))
        return items

    def _ipv6(self):
        r = self._random
        items = ["ipv6"]
        items += self._some(f"ipv6_src={r.choice(V6)}/{self._pick(16, 32, 64, 127, 128)}")
        items += self._some(f"ipv6_dst={r.choice(V6)}/{self._pick(16, 32, 64, 127, 128)}")
        if r.random() < 0.1:
            items.append(self._pick("ipv6_label=0x12345", "nw_ttl=64", "nw_ecn=2"))
        return items

    def _arp(self):
        r = self._random
        return ["arp", *self._some(f"arp_op={self._pick(1, 2)}"), *self._some(f"arp_spa={r.choice(V4)}/24"),
                *self._some(f"arp_tpa={r.choice(V4)}"), *self._some(f"arp_sha={r.choice(MACS)}")]  # fmt: skip

    def _l4(self):
        r = self._random
        return (self._some(self._pick(f"tp_src={r.choice(L4)}", "tp_src=0x400/0xfc00"))
                + self._some(self._pick(f"tp_dst={r.choice(L4)}", "tp_dst=0x1388/0xfffe")))  # fmt: skip

    def _tcp_flags(self):
        return [self._pick("tcp_flags=+syn-ack", "tcp_flags=+ack", "tcp_flags=+fin")] if self._random.random() < 0.2 else []

    def _actions(self, kind, table):
        r = self._random
        if r.random() < 0.08:
            return "drop"
        actions = [self._action(kind, table) for _ in range(r.choice([1, 1, 2, 2, 3, 4]))]
        if table + 1 < TABLES and r.random() < 0.35:
            if r.random() < 0.3:
                actions.append(f"write_metadata:{r.randrange(4):#x}/0xf")
            actions.append(f"goto_table:{r.randrange(table + 1, TABLES)}")
        return ",".join(actions)

    def _action(self, kind, table):
        r = self._random
        general = [
            f"output:{r.choice(PORTS)}", f"output:{r.choice(PORTS)}", f"output:{r.choice(PORTS)}", "in_port",
            "all", "flood", f"group:{r.randrange(1, 6)}",
            f"mod_dl_src:{r.choice(MACS)}", f"mod_dl_dst:{r.choice(MACS)}",
            "set_field:00:00:00:00:00:aa/00:00:00:00:00:ff->eth_src",
            f"mod_vlan_vid:{r.choice(VLANS)}", "strip_vlan",
            f"push_vlan:0x8100,set_field:{4096 + r.choice(VLANS)}->vlan_vid",
            f"load:{r.randrange(4)}->NXM_NX_REG0[]", f"set_field:{r.randrange(4)}->reg1",
            f"load:{r.randrange(1, 6)}->NXM_NX_REG3[0..15],output:NXM_NX_REG3[0..15]",
            "move:NXM_OF_IN_PORT[]->NXM_NX_REG2[0..15]", "move:NXM_NX_REG0[0..1]->NXM_NX_REG1[0..1]",
            "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]",
            "push:NXM_NX_REG0[],load:9->NXM_NX_REG0[],pop:NXM_NX_REG0[]",
            f"clone(mod_dl_src:02:00:00:00:00:77,output:{r.choice(PORTS)})", "note:00.11.22",
            f"output(port={r.choice(PORTS)},max_len={self._pick(64, 100, 1500)})",
            f"bundle(eth_src,0,active_backup,ofport,members:{r.choice(PORTS)},{r.choice(PORTS)})",
        ]  # fmt: skip
        if table + 1 < TABLES:
            general += [f"resubmit(,{r.randrange(table + 1, TABLES)})"] * 4
            general += [f"resubmit({r.choice(PORTS)},{r.randrange(table + 1, TABLES)})"]
        special = {
            "ip": [f"mod_nw_src:{r.choice(V4)}", f"mod_nw_dst:{r.choice(V4)}", "dec_ttl", "mod_nw_tos:64",
                   "mod_nw_ecn:2", "mod_nw_ttl:7", "set_field:10.0.5.0/255.255.255.0->ip_src",
                   "move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[]", "push_mpls:0x8847,set_field:200->mpls_label"],
            "ipv6": [f"set_field:{r.choice(V6)}->ipv6_dst", "dec_ttl", "set_field:0x54321->ipv6_label",
                     "set_field:3->ip_ecn"],
            "arp": [f"set_field:{self._pick(1, 2)}->arp_op", f"set_field:{r.choice(V4)}->arp_tpa",
                    f"set_field:{r.choice(MACS)}->arp_sha", "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]"],
            "tcp": [f"mod_tp_src:{r.choice(L4)}", f"mod_tp_dst:{r.choice(L4)}", "set_field:0x10/0xf0->tcp_dst"],
            "udp": [f"mod_tp_src:{r.choice(L4)}", f"mod_tp_dst:{r.choice(L4)}"],
            "sctp": [f"set_field:{r.choice(L4)}->sctp_dst"],
            "icmp": ["set_field:3->icmp_code"],
            "icmp6": [],
            "mpls": ["dec_mpls_ttl", "set_field:300->mpls_label", "pop_mpls:0x0800", "set_field:5->mpls_tc"],
        }  # fmt: skip
        special["tcp"] += special["ip"]
        special["udp"] += special["ip"]
        special["tcp6"] = special["udp6"] = special["ipv6"]
        own = special.get(kind, [])
        return r.choice(own) if own and r.random() < 0.5 else r.choice(general)


class Packets:
    """(port, bytes) of frames that meet the tables of Flows, some of them cut or with bytes changed."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def some(self, count, templates=2500):
        made = [self._template() for _ in range(min(count, templates))]
        for _ in range(count):
            yield self._random.choice(PORTS), self._edged(self._random.choice(made))

    def _edged(self, frame):
        r = self._random
        chance = r.random()
        if chance < 0.05:
            return frame[: r.randrange(14, len(frame) + 1)]
        if chance < 0.15:
            broken = bytearray(frame)
            for _ in range(r.randint(1, 3)):
                broken[r.randrange(12, len(broken))] = r.randrange(256)
            return bytes(broken)
        return frame

    def _template(self):
        r = self._random
        packet = Ether(src=r.choice(MACS[:3]), dst=r.choice(MACS))
        tags = r.random()
        if tags < 0.25:
            packet /= Dot1Q(vlan=r.choice(VLANS), prio=r.randrange(8))
        elif tags < 0.32:
            packet /= Dot1AD(vlan=r.choice(VLANS)) / Dot1Q(vlan=r.choice(VLANS))
        payload = Raw(r.randbytes(r.choice([0, 1, 20, 46, 100, 400, 1000])))
        v4 = IP(src=r.choice(V4), dst=r.choice(V4), ttl=r.choice([1, 2, 64, 64, 255]), tos=r.choice([0, 32, 33, 3]),
                id=r.randrange(1 << 16))  # fmt: skip
        v6 = IPv6(src=r.choice(V6), dst=r.choice(V6), hlim=r.choice([1, 64, 64]), fl=r.choice([0, 0x12345]),
                  tc=r.choice([0, 2, 3]))  # fmt: skip
        l4 = {"sport": r.choice(L4), "dport": r.choice(L4)}
        packet /= r.choice([
            lambda: v4 / TCP(**l4, flags=r.choice(["S", "SA", "A", "FA", "R"])) / payload,
            lambda: v4 / TCP(**l4, flags="A") / payload,
            lambda: v4 / UDP(**l4) / payload,
            lambda: v4 / UDP(**l4, chksum=0) / payload,
            lambda: v4 / SCTP(**l4) / payload,
            lambda: v4 / ICMP(type=r.choice([0, 3, 8])) / payload,
            lambda: IP(src=r.choice(V4), dst=r.choice(V4), flags="MF", proto=17) / UDP(**l4) / payload,
            lambda: IP(src=r.choice(V4), dst=r.choice(V4), frag=20, proto=6) / payload,
            lambda: IP(src=r.choice(V4), dst=r.choice(V4), options=b"\x01\x01\x01\x00") / TCP(**l4) / payload,
            lambda: v6 / TCP(**l4) / payload,
            lambda: v6 / UDP(**l4) / payload,
            lambda: v6 / IPv6ExtHdrHopByHop() / UDP(**l4) / payload,
            lambda: v6 / IPv6ExtHdrFragment(offset=5, id=9) / payload,
            lambda: v6 / ICMPv6EchoRequest() / payload,
            lambda: v6 / ICMPv6ND_NS(tgt=r.choice(V6)) / Raw(b"\x01\x01\x02\0\0\0\0\x01"),
            lambda: v6 / ICMPv6ND_NA(tgt=r.choice(V6)) / Raw(b"\x02\x01\x02\0\0\0\0\x02"),
            lambda: ARP(op=r.choice([1, 2]), psrc=r.choice(V4), pdst=r.choice(V4), hwsrc=r.choice(MACS)),
            lambda: MPLS(label=r.choice([100, 7]), s=1, ttl=r.choice([1, 64])) / v4 / UDP(**l4) / payload,
            lambda: MPLS(label=100, s=0, ttl=9) / MPLS(label=3, s=1, ttl=8) / v4 / UDP(**l4),
            lambda: Raw(struct.pack("!H", 0x88B5) + r.randbytes(60)),
        ])()  # fmt: skip
        data = bytes(packet)
        return data if len(data) >= 60 else data + bytes(60 - len(data))
