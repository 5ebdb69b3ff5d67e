#!/usr/bin/python3
"""Two namespaces talk through the switch: ping, TCP and UDP, IPv4 and IPv6, MTU 1500 and 9000."""

import os

import harness
from case import SwitchCase
from harness import read_file, wait_until
from traffic import iperf3, offloads, ping, udp_segments


class Forwarding(SwitchCase):
    def test_ping(self):
        for family in (4, 6):
            for end, other in (("a", "b"), ("b", "a")):
                times = ping(getattr(self, end), self.ADDRESS[other][family], count=5, interval=0.05)
                self.assertEqual(len(times), 5, f"IPv{family} from {end}")
        largest = self.mtu - 28
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=2, size=largest)), 2)

    def test_ping_of_fragments(self):
        """8,000 bytes are several fragments at MTU 1500: none may be taken for L4 to offload."""
        text = self.a.run("ping", "-c", "3", "-i", "0.1", "-s", "8000", self.ADDRESS["b"][4])
        self.assertIn("3 received", text)

    def test_tcp(self):
        for family in (4, 6):
            for reverse in (False, True):
                with self.subTest(family=family, reverse=reverse):
                    self.assertGreater(self.tcp(family=family, reverse=reverse).bytes, 10 << 20)

    def test_tcp_uses_super_packets(self):
        before = self.switch.port_stats()[self.ports[0]]
        self.tcp(seconds=1)
        after = self.switch.port_stats()[self.ports[0]]
        frames = after["rx_frames"] - before["rx_frames"]
        packets = after["rx_packets"] - before["rx_packets"]
        self.assertGreater(frames / packets, 5, "segments per packet received from a TSO sender")
        self.assertTrue(self.switch.appctl("sluice/segment-histogram"))

    def test_tcp_four_streams(self):
        self.assertGreater(self.tcp(streams=4).bytes, 10 << 20)

    def test_tcp_small_segments(self):
        self.assertGreater(self.tcp(mss=500).bytes, 10 << 20)

    def test_tcp_mtu_sized_frames(self):
        for namespace in (self.a, self.b):
            offloads(namespace, tso="off", gso="off")
        for reverse in (False, True):
            self.assertGreater(self.tcp(reverse=reverse).bytes, 10 << 20)

    def test_udp(self):
        for family in (4, 6):
            measured = iperf3(self.lab, self.a, self.b, self.ADDRESS["b"][family], seconds=1,
                              udp="100M")  # fmt: skip
            self.assertGreater(measured.bytes, 10_000_000)
            self.assertLess(measured.lost_percent, 5)

    def test_udp_super_packets(self):
        for family, segment in ((4, 1472), (4, 100), (6, 1452)):
            with self.subTest(family=family, segment=segment):
                # About 8,000 datagrams per second: a busy machine shall not lose any.
                gbps = segment * 8 * 8000 / 1e9
                measured = udp_segments(self.lab, self.a, self.b, self.ADDRESS["b"][family],
                                        seconds=1, segment=segment, gbps=gbps)  # fmt: skip
                self.assertGreater(measured.bytes, 4000 * segment)
                self.assertLess(measured.lost_percent, 5)


class ForwardingJumbo(Forwarding):
    mtu = 9000


class ForwardingTsoOff(Forwarding):
    tso = False

    def test_tcp_uses_super_packets(self):
        """There must be none: every packet in the datapath is one frame."""
        self.tcp(seconds=1)
        for name, port in self.switch.port_stats().items():
            self.assertEqual(port["tx_super_packets"], 0, name)

    def test_no_frame_over_mtu_arrives(self):
        """Seen by tcpdump at the far end, while the sender's TSO stays on."""
        log = os.path.join(self.lab.scratch, "tcpdump.log")
        watch = self.lab.spawn(*self.b.command(
            "tcpdump", "-i", "eth0", "-n", "-Q", "in", "-l", "-c", "1", "greater",
            self.mtu + 15), log=log)  # fmt: skip
        wait_until(lambda: "listening on" in read_file(log), 10, "tcpdump")
        self.assert_transferred(32 << 20)
        self.assertIsNone(watch.poll(), f"a frame over MTU: {read_file(log)}")


if __name__ == "__main__":
    harness.require_tool("tcpdump")
    harness.main(time_limit=480)
