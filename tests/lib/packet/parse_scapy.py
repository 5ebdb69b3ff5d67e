#!/usr/bin/python3
"""Random frames and what scapy reads in them, one frame a line, as the oracle of ParsePacket.

usage: parse_scapy.py SEED COUNT

A line is "HEX FIELD=VALUE...": bytes as hex digits, numbers in decimal, -1 for an offset that is not there.
"""

import logging
import random
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, IPOption_RR
from scapy.layers.inet6 import (ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr,
                                ICMPv6NDOptSrcLLAddr, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment,
                                IPv6ExtHdrHopByHop, IPv6ExtHdrRouting)
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Padding, Raw
from scapy.utils import mac2str
from scapy.utils6 import in6_ptop
import socket


def mac(rng):
    return ":".join("%02x" % rng.randrange(256) for _ in range(6))


def ip4(rng):
    return socket.inet_ntoa(rng.randbytes(4))


def ip6(rng):
    return in6_ptop(socket.inet_ntop(socket.AF_INET6, rng.randbytes(16)))


def payload(rng):
    return Raw(rng.randbytes(rng.choice((1, 2, 7, 18, 100))))


def transport(rng, version):
    kind = rng.randrange(5)
    port = lambda: rng.randrange(65536)
    if kind == 0:
        options = rng.choice(([], [("MSS", 1460)], [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))]))
        flags = rng.randrange(512)
        return TCP(sport=port(), dport=port(), flags=flags, options=options, reserved=0) / payload(rng)
    if kind == 1:
        return UDP(sport=port(), dport=port()) / payload(rng)
    if kind == 2:
        return SCTP(sport=port(), dport=port(), tag=7) / Raw(b"\0\0\0\4")
    if version == 4:
        return ICMP(type=rng.choice((0, 8, 3, 11)), code=rng.randrange(16)) / payload(rng)
    if kind == 3:
        return ICMPv6EchoRequest(id=port(), seq=port()) / payload(rng)
    if rng.randrange(2):
        message = ICMPv6ND_NS(tgt=ip6(rng))
        if rng.randrange(2):
            message /= ICMPv6NDOptSrcLLAddr(lladdr=mac(rng))
    else:
        message = ICMPv6ND_NA(tgt=ip6(rng))
        if rng.randrange(2):
            message /= ICMPv6NDOptDstLLAddr(lladdr=mac(rng))
    return message


def network(rng, mpls=True):
    kind = rng.randrange(8 if mpls else 7)
    if kind < 3:
        options = rng.choice(([], [], [IPOption_NOP()] * 4, [IPOption_RR(routers=["0.0.0.0"] * 3), IPOption_NOP()]))
        fragment = rng.choice(((0, 0), (0, 0), (2, 0), (1, 0), (1, 100), (0, 185)))
        header = IP(src=ip4(rng), dst=ip4(rng), tos=rng.randrange(256), ttl=rng.randrange(256), id=rng.randrange(65536),
                    options=options, flags=fragment[0], frag=fragment[1])
        if fragment[1]:
            header.proto = 6
            return header / payload(rng)
        return header / transport(rng, 4)
    if kind < 6:
        header = IPv6(src=ip6(rng), dst=ip6(rng), tc=rng.randrange(256), fl=rng.randrange(1 << 20),
                      hlim=rng.randrange(256))
        for extension in (IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt, IPv6ExtHdrRouting):
            if rng.randrange(4) == 0:
                header /= extension()
        fragment = rng.choice((None, None, None, (0, 0), (0, 1), (100, 1), (100, 0)))
        if fragment is not None:
            header /= IPv6ExtHdrFragment(offset=fragment[0], m=fragment[1])
            if fragment[0]:
                header.lastlayer().nh = 6
                return header / payload(rng)
        return header / transport(rng, 6)
    if kind == 6:
        return ARP(op=rng.choice((1, 2, 300)), hwsrc=mac(rng), hwdst=mac(rng), psrc=ip4(rng), pdst=ip4(rng))
    depth = rng.randrange(1, 5)
    stack = [MPLS(label=rng.randrange(1 << 20), cos=rng.randrange(8), s=int(i == depth - 1), ttl=rng.randrange(256))
             for i in range(depth)]
    packet = stack[0]
    for entry in stack[1:]:
        packet /= entry
    return packet / IP(src="1.2.3.4", dst="5.6.7.8") / UDP()


def frame(rng):
    addresses = dict(src=mac(rng), dst=mac(rng))
    if rng.randrange(10) == 0:
        if rng.randrange(2):
            return Dot3(**addresses) / LLC(dsap=0x42, ssap=0x42, ctrl=3) / payload(rng)
        return Dot3(**addresses) / LLC() / SNAP() / network(rng, mpls=False)  # scapy knows no MPLS behind SNAP
    packet = Ether(**addresses)
    tag = lambda cls: cls(vlan=rng.randrange(4096), prio=rng.randrange(8))
    tags = rng.randrange(4)
    if tags == 1:
        packet /= tag(Dot1Q)
    elif tags == 2:
        packet /= tag(Dot1AD) / tag(Dot1Q)
    packet /= network(rng)
    if rng.randrange(4) == 0:
        packet /= Padding(b"\0" * rng.randrange(1, 10))
    return packet


def offset_of(packet, layer):
    """Bytes before `layer` of a dissected packet."""
    offset = 0
    while packet is not layer:
        offset += len(packet) - len(packet.payload)
        packet = packet.payload
    return offset


def number_and_bytes(packet):
    """What the flow key of the dissected `packet` must be."""
    key = dict.fromkeys("dst src type tci0 tpid0 tci1 tpid1 proto tos ttl frag nw_src nw_dst label tp_src tp_dst flags "
                        "target sha tha mpls".split(), 0)
    key.update(l3=-1, l4=-1, payload=-1, mpls="0.0.0", nw_src="", nw_dst="", target="00" * 16, sha="00" * 6,
               tha="00" * 6)
    key["dst"], key["src"] = mac2str(packet.dst).hex(), mac2str(packet.src).hex()
    layer, kind = packet.payload, getattr(packet, "type", 0x05ff)
    tags = 0
    while isinstance(layer, (Dot1Q, Dot1AD)):
        key["tpid%d" % tags] = kind
        key["tci%d" % tags] = layer.vlan | layer.prio << 13 | 0x1000
        kind, layer, tags = layer.type, layer.payload, tags + 1
    if isinstance(layer, LLC) and isinstance(layer.payload, SNAP):
        kind, layer = layer.payload.code, layer.payload.payload
    key["type"] = kind
    if isinstance(layer, (IP, IPv6, ARP)):
        key["l3"] = offset_of(packet, layer)
    later = False
    if isinstance(layer, IP):
        key.update(nw_src=socket.inet_aton(layer.src).hex(), nw_dst=socket.inet_aton(layer.dst).hex(), proto=layer.proto,
                   tos=layer.tos, ttl=layer.ttl)
        if layer.frag or layer.flags.MF:
            key["frag"] = 3 if layer.frag else 1
        later = layer.frag != 0
    elif isinstance(layer, IPv6):
        key.update(nw_src=socket.inet_pton(socket.AF_INET6, layer.src).hex(),
                   nw_dst=socket.inet_pton(socket.AF_INET6, layer.dst).hex(), tos=layer.tc, ttl=layer.hlim,
                   label=layer.fl, proto=layer.nh)
        while isinstance(layer.payload, (IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt, IPv6ExtHdrRouting, IPv6ExtHdrFragment)):
            layer = layer.payload
            key["proto"] = layer.nh
            if isinstance(layer, IPv6ExtHdrFragment) and (layer.offset or layer.m):
                key["frag"] = 3 if layer.offset else 1
                if layer.offset:
                    later, key["proto"] = True, 44
    elif isinstance(layer, ARP):
        key.update(nw_src=socket.inet_aton(layer.psrc).hex(), nw_dst=socket.inet_aton(layer.pdst).hex(),
                   sha=mac2str(layer.hwsrc).hex(), tha=mac2str(layer.hwdst).hex())
        key["proto"] = layer.op if layer.op < 256 else 0
    elif isinstance(layer, MPLS):
        entries = []
        while isinstance(layer, MPLS):
            entries.append(int.from_bytes(bytes(layer)[:4], "big"))
            layer = layer.payload
        key["mpls"] = ".".join(map(str, (entries + [0, 0, 0])[:3]))
        return key
    top = layer.payload
    if later or isinstance(layer, ARP):
        return key
    size = 0
    if isinstance(top, TCP):
        size = top.dataofs * 4
        key.update(tp_src=top.sport, tp_dst=top.dport, flags=int(top.flags))
    elif isinstance(top, UDP):
        size = 8
        key.update(tp_src=top.sport, tp_dst=top.dport)
    elif isinstance(top, SCTP):
        size = 12
        key.update(tp_src=top.sport, tp_dst=top.dport)
    elif key["proto"] in (1, 58):
        size = 8
        key.update(tp_src=top.type, tp_dst=top.code)
        if isinstance(top, (ICMPv6ND_NS, ICMPv6ND_NA)):
            key["target"] = socket.inet_pton(socket.AF_INET6, top.tgt).hex()
            option = top.payload
            if isinstance(option, (ICMPv6NDOptSrcLLAddr, ICMPv6NDOptDstLLAddr)):
                key["sha" if option.type == 1 else "tha"] = mac2str(option.lladdr).hex()
    if size:
        key["l4"] = offset_of(packet, top)
        key["payload"] = key["l4"] + size
    return key


def main():
    rng = random.Random(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        data = bytes(frame(rng))
        first = Ether if int.from_bytes(data[12:14], "big") >= 0x600 else Dot3
        key = number_and_bytes(first(data))
        print(data.hex(), " ".join("%s=%s" % item for item in key.items()))


main()
