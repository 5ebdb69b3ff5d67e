#!/usr/bin/python3
"""Odd, malformed and oversized frames: what passes is unchanged, what does not has a named drop."""

import contextlib
import os
import random
import time

from scapy.all import ARP, IP, IPv6, TCP, UDP, Dot1AD, Dot1Q, Ether, Raw, RawPcapReader
from scapy.all import ICMP, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop, PadN

import harness
from case import SwitchCase
from harness import run, wait_until

# A veth queues what is sent per processor, 1,000 frames at most: a sender that moves to another processor overtakes
# itself, and one that never pauses loses frames on a busy machine, both before the switch has them.
_SENDER = """
import os, socket, struct, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
data = open(sys.argv[1], "rb").read()
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.setsockopt(socket.SOL_SOCKET, 32, 8 << 20)
s.bind(("eth0", 0))
at = count = 0
while at < len(data):
    count += 1
    if count % 128 == 0:
        time.sleep(0.005)
    (n,) = struct.unpack_from("=I", data, at)
    s.send(data[at + 4 : at + 4 + n])
    at += 4 + n
"""


def frames_in(path):
    with contextlib.closing(RawPcapReader(path)) as reader:
        return [bytes(data) for data, _ in reader]


class Frames(SwitchCase):
    mtu = 1500

    def setUp(self):
        super().setUp()
        # The namespaces must not add frames of their own to what is compared.
        for namespace in (self.a, self.b):
            namespace.silence("eth0")
        self.source = "02:00:00:00:00:01"
        self.target = "02:00:00:00:00:02"

    def capture(self):
        path = os.path.join(self.lab.scratch, f"{time.monotonic_ns()}.pcap")
        process = self.lab.spawn(*self.b.command(
            "tcpdump", "-i", "eth0", "-Q", "in", "-s", "0", "-U", "--immediate-mode", "-B", "65536",
            "-Z", "root", "-w", path, "ether", "src", self.source))  # fmt: skip
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path) >= 24, 10, "tcpdump")
        time.sleep(0.2)
        return path, process

    def send(self, frames, sender=None):
        script = os.path.join(self.lab.scratch, "send.py")
        with open(script, "w", encoding="ascii") as f:
            f.write(_SENDER)
        path = os.path.join(self.lab.scratch, "frames")
        with open(path, "wb") as f:
            for frame in frames:
                f.write(len(frame).to_bytes(4, "little") + frame)
        (sender or self.a).run("/usr/bin/python3", script, path)

    def assert_arrive_unchanged(self, frames):
        path, process = self.capture()
        self.send(frames)
        stats = self.switch.idle()
        # tcpdump may be behind; what has not come after a while will not come.
        expected = 24 + sum(16 + len(frame) for frame in frames)
        deadline = time.monotonic() + 10
        while os.path.getsize(path) < expected and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.2)
        process.terminate()
        process.wait()
        arrived = frames_in(path)
        self.assertEqual(len(arrived), len(frames), f"{stats}\n{self.switch.drops()}")
        # Frames of different flows may overtake one another: a TCP segment waits to the end of its batch for
        # others to merge with. Order within a flow is the matter of the test below.
        for number, (sent, got) in enumerate(zip(sorted(frames), sorted(arrived))):
            self.assertEqual(sent.hex(), got.hex(), f"frame {number} of {len(frames)}")

    def ether(self, **fields):
        return Ether(src=self.source, dst=self.target, **fields)

    def test_protocols_arrive_unchanged(self):
        payload = Raw(bytes(range(200)))
        e = self.ether
        packets = [
            e() / ARP(psrc="10.0.0.1", pdst="10.0.0.2"),
            e() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / payload,
            e() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2, chksum=0) / payload,
            e() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2, chksum=7) / payload,
            e() / IP(dst="10.0.0.2", options=b"\x01\x01\x01\x00") / TCP(flags="PA") / payload,
            e() / IP(dst="10.0.0.2") / TCP(flags="A", chksum=0x1234) / payload,
            e() / IP(dst="10.0.0.2", chksum=0x4321) / TCP(flags="A") / payload,
            e() / IP(dst="10.0.0.2", flags="MF", proto=17) / payload,
            e() / IP(dst="10.0.0.2", frag=25, proto=6) / payload,
            e() / IPv6(dst="fd00::2") / UDP(sport=1, dport=2) / payload,
            e() / IPv6(dst="fd00::2") / IPv6ExtHdrHopByHop(options=PadN(optdata=b"\0" * 4))
            / IPv6ExtHdrDestOpt(options=PadN(optdata=b"\0" * 4)) / TCP() / payload,
            e() / Dot1Q(vlan=7, prio=3) / IP(dst="10.0.0.2") / TCP(flags="A") / payload,
            e() / Dot1AD(vlan=100) / Dot1Q(vlan=7) / IPv6(dst="fd00::2") / TCP() / payload,
            e() / IP(dst="10.0.0.2") / ICMP() / payload,
            e(type=0x88B5) / payload,
        ]  # fmt: skip
        self.assert_arrive_unchanged([bytes(packet) for packet in packets])

    def test_order_and_bytes_of_a_coalescable_flow(self):
        """TCP frames that GRO may merge, with pure ACKs, PSH, gaps and other flows between them."""
        rng = random.Random(1)
        frames, sequence = [], {1: 1000, 2: 5000}
        for number in range(600):
            flow = rng.choice((1, 1, 1, 2))
            size = rng.choice((1448, 1448, 1448, 1448, 700, 1, 0))
            flags = "PA" if rng.random() < 0.1 else "A"
            packet = (self.ether() / IP(src="10.0.0.1", dst="10.0.0.2", id=number, flags="DF")
                      / TCP(sport=flow, dport=80, seq=sequence[flow], flags=flags, ack=1,
                            options=[("NOP", None), ("NOP", None), ("Timestamp", (1, 2))])
                      / Raw(rng.randbytes(size)))  # fmt: skip
            frames.append(bytes(packet))
            sequence[flow] += size if rng.random() > 0.05 else size + 10
        path, process = self.capture()
        self.send(frames)
        self.switch.idle()
        time.sleep(0.2)
        process.terminate()
        process.wait()
        self._assert_same_streams(frames, frames_in(path))

    def _assert_same_streams(self, sent, arrived):
        """Per flow the same bytes at the same sequence numbers, in the same order: the frames may
        arrive merged, since the far end takes super-packets."""
        def pieces(frames):  # fmt: skip
            streams = {}
            for frame in frames:
                packet = Ether(frame)
                segment = packet[TCP]
                size = packet[IP].len - packet[IP].ihl * 4 - segment.dataofs * 4
                body = bytes(segment.payload)[:size]
                stream = streams.setdefault(segment.sport, [])
                if stream and size and stream[-1][0] + len(stream[-1][1]) == segment.seq:
                    stream[-1] = (stream[-1][0], stream[-1][1] + body)
                elif size:
                    stream.append((segment.seq, body))
            return streams

        self.assertEqual(pieces(sent), pieces(arrived))

    def test_random_and_truncated_frames(self):
        """Whatever the bytes say, a frame of legal length leaves as it came."""
        seed = int.from_bytes(os.urandom(4), "big")
        print(f"seed {seed}")
        rng = random.Random(seed)
        whole = bytes(self.ether() / IP(dst="10.0.0.2") / TCP(options=[("MSS", 1)]) / Raw(b"x" * 90))
        six = bytes(self.ether() / IPv6(dst="fd00::2") / IPv6ExtHdrHopByHop() / UDP() / Raw(b"y" * 90))
        frames = [whole[:n] for n in range(15, len(whole))] + [six[:n] for n in range(15, len(six))]
        start = whole[:12]
        for _ in range(1500):
            ether_type = rng.choice((b"\x08\x00", b"\x86\xdd", b"\x08\x06", rng.randbytes(2)))
            # A VLAN tag in random bytes may be moved into metadata and back by the kernel: those
            # are compared in test_protocols_arrive_unchanged.
            if ether_type in (b"\x81\x00", b"\x88\xa8"):
                continue
            frames.append(start + ether_type + rng.randbytes(rng.randint(1, 1500)))
        for _ in range(500):
            broken = bytearray(rng.choice((whole, six)))
            for _ in range(rng.randint(1, 4)):
                broken[rng.randrange(14, len(broken))] = rng.randrange(256)
            frames.append(bytes(broken))
        self.assert_arrive_unchanged(frames)

    def test_jumbo_beyond_the_port_mtu_is_dropped_by_name(self):
        """a may send 9,000 bytes, b's port takes 1,500: no frame over MTU leaves."""
        for namespace, port in ((self.a, self.ports[0]),):
            namespace.run("ip", "link", "set", "eth0", "mtu", "9000")
            run("ip", "link", "set", port, "mtu", "9000")
        time.sleep(0.3)  # the link monitor hears of it
        frame = bytes(self.ether() / IP(dst="10.0.0.2") / UDP(sport=1, dport=2) / Raw(b"j" * 8000))
        before = self.switch.drops()
        self.send([frame] * 10)
        self.switch.idle()
        after = self.switch.drops()
        count = lambda drops: sum(
            port.get(reason, 0) for port in drops.values() for reason in ("tx_over_mtu", "rx_over_mtu"))
        self.assertEqual(count(after) - count(before), 10, after)


if __name__ == "__main__":
    harness.require_tool("tcpdump")
    harness.main(time_limit=300)
