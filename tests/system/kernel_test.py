#!/usr/bin/python3
"""Flows that the kernel forwards by itself: that it does, and that it never does what the switch
would not."""

import os
import threading
import time

import harness
from case import SwitchCase
from harness import end_process, read_file, run, wait_until
from sluice import DATAPATH
from traffic import iperf3, offloads, ping, udp_segments


class KernelForwarding(SwitchCase):
    def setUp(self):
        super().setUp()
        self.background = []

    def tearDown(self):
        for process in self.background:
            end_process(process)
        super().tearDown()

    def forwarded(self):
        return self.switch.appctl("sluice/kernel-flows", DATAPATH, as_json=True)

    def start_traffic(self):
        """TCP from a to b, with the kernel, until the test ends."""
        server = self.lab.spawn(*self.b.command("iperf3", "-s"))
        time.sleep(0.3)
        client = ["iperf3", "-c", self.ADDRESS["b"][4], "-t", "120", "-C", "cubic"]
        self.background += [self.lab.spawn(*self.a.command(*client)), server]
        self.wait_for_the_kernel()

    def wait_for_the_kernel(self):
        before = self.forwarded()["packets"]
        wait_until(lambda: self.forwarded()["packets"] > before + 1000, 15, "the kernel to forward")

    def assert_user_space_only(self, seconds=0.5):
        before = self.forwarded()["packets"]
        time.sleep(seconds)
        self.assertEqual(self.forwarded()["packets"], before)

    def seen_at_b(self, interface="eth0"):
        return self.b.counters(interface)["rx_packets"]

    def test_tcp_is_forwarded_and_counted_exactly(self):
        for family in (4, 6):
            before, stats = self.forwarded(), self.switch.port_stats()
            measured = self.tcp(seconds=2, family=family)
            after, now = self.forwarded(), self.switch.idle()
            share = (after["bytes"] - before["bytes"]) / measured.bytes
            self.assertGreater(share, 0.9, f"IPv{family}: {before} {after}")
            moved = lambda port, key: now[port][key] - stats[port][key]
            for key in ("frames", "bytes", "packets", "super_packets"):
                came, went = moved(self.ports[0], f"rx_{key}"), moved(self.ports[1], f"tx_{key}")
                self.assertEqual(came, went, key)
            # Headers come on top of what arrived.
            self.assertGreater(moved(self.ports[1], "tx_bytes"), measured.bytes)
        # What the devices say of themselves: packets, and bytes with one header per packet.
        device = self.b.counters("eth0")
        self.assertEqual(device["rx_packets"], self.switch.idle()[self.ports[1]]["tx_packets"])

    def test_flow_statistics_include_the_kernel(self):
        self.tcp(seconds=1)
        self.switch.idle()
        text = self.switch.appctl("dpctl/dump-flows", DATAPATH)
        packets = sum(int(word.split(":")[1]) for word in text.replace(",", " ").split()
                      if word.startswith("packets:"))  # fmt: skip
        sent = sum(port["tx_packets"] for port in self.switch.port_stats().values())
        self.assertEqual(packets, sent, text)
        histogram = self.switch.appctl("sluice/segment-histogram", as_json=True)
        for port, ways in histogram.items():
            stats = self.switch.port_stats()[port]
            for way in ("rx", "tx"):
                self.assertEqual(ways[way]["segments"], stats[f"{way}_frames"], port)

    def test_switched_off_everything_takes_the_way_through_user_space(self):
        self.start_traffic()
        self.switch.appctl("sluice/kernel-forwarding", "off")
        self.assert_user_space_only()
        self.switch.appctl("sluice/kernel-forwarding", "on")
        self.wait_for_the_kernel()

    def test_deleted_flow_stops_at_once(self):
        self.start_traffic()
        one, two = (self.switch.ports[port] for port in self.ports)
        for _ in range(5):
            self.switch.appctl("dpctl/del-flow", DATAPATH, f"in_port({one})")
            before = self.seen_at_b()
            kernel = self.forwarded()["packets"]
            time.sleep(0.3)
            # What was on its way in the kernel at that moment is a packet per processor at most.
            self.assertLessEqual(self.seen_at_b() - before, os.cpu_count())
            self.assertEqual(self.forwarded()["packets"], kernel)
            self.switch.appctl("dpctl/add-flow", DATAPATH, f"in_port({one})", two)
            self.wait_for_the_kernel()

    def test_modified_flow_goes_to_its_new_port(self):
        other = self.lab.netns("c")
        third = self.lab.veth(other)
        self.switch.add_port(third)
        other.run("ip", "link", "set", "eth0", "up")
        one, two, three = (self.switch.ports[port] for port in (*self.ports, third))
        self.start_traffic()
        for target in (three, two, three, two):
            self.switch.appctl("dpctl/mod-flow", DATAPATH, f"in_port({one})", target)
            at_b = self.seen_at_b()
            time.sleep(0.5)
            if target == three:
                self.assertLessEqual(self.seen_at_b() - at_b, os.cpu_count())
                self.assertGreater(other.counters("eth0")["rx_packets"], 0)
            else:
                self.wait_for_the_kernel()

    def test_digests_hold_while_tso_mtu_and_the_switch_change(self):
        stop = threading.Event()
        port = self.ports[1]
        # What the ends send fits the smaller MTU: what is tested is the switch.
        for namespace in (self.a, self.b):
            namespace.run("ip", "link", "set", "eth0", "mtu", 1400)

        def toggle():
            for number in range(10_000):
                if stop.is_set():
                    break
                self.switch.tso(number % 2 == 1)
                run("ip", "link", "set", port, "mtu", 1500 if number % 4 < 2 else 1400)
                if number % 3 == 0:
                    self.switch.appctl("sluice/kernel-forwarding", "off" if number % 6 else "on")
                stop.wait(0.1)

        thread = threading.Thread(target=toggle)
        thread.start()
        try:
            for family in (4, 6):
                for reverse in (False, True):
                    self.assert_transferred(64 << 20, family=family, reverse=reverse)
        finally:
            stop.set()
            thread.join()
        run("ip", "link", "set", port, "mtu", 1500)
        self.switch.tso(True)
        self.switch.appctl("sluice/kernel-forwarding", "on")
        self.assertGreater(self.forwarded()["packets"], 0)

    def test_no_super_packet_passes_once_tso_is_off(self):
        self.start_traffic()
        for number in range(4):
            self.switch.tso(False)
            log = os.path.join(self.lab.scratch, f"large{number}")
            capture = self.b.command("tcpdump", "-i", "eth0", "-n", "-l", "-Q", "in", "greater 1515")
            process = self.lab.spawn(*capture, log=log)
            time.sleep(0.8)
            end_process(process)
            self.assertNotIn(" IP ", read_file(log))
            self.assert_user_space_only(0.1)
            self.switch.tso(True)
            self.wait_for_the_kernel()

    def test_mtu_of_the_egress_becomes_smaller_under_traffic(self):
        self.start_traffic()
        run("ip", "link", "set", self.ports[1], "mtu", 1000)
        time.sleep(0.5)
        before = self.seen_at_b()
        time.sleep(0.5)
        # Retransmissions of segments that are too long all end in a drop with a name.
        self.assertLessEqual(self.seen_at_b() - before, 20)
        drops = self.switch.drops()[self.ports[1]]
        self.assertGreater(drops.get("tx_over_mtu", 0), 0, drops)
        run("ip", "link", "set", self.ports[1], "mtu", 1500)
        self.wait_for_packets()

    def test_device_is_removed_and_made_again(self):
        self.start_traffic()
        for process in self.background:
            end_process(process)
        self.background = []
        self.b.delete()
        wait_until(lambda: self.ports[1] not in self.lab.host.links(), 10, "the veth to go")
        self.b = self.lab.netns("b")
        self.lab.veth(self.b, outer=self.ports[1], mtu=self.mtu)
        self.address("b", self.b)
        self.a.run("ip", "neigh", "flush", "all")
        self.wait_for_packets()
        before = self.forwarded()["bytes"]
        measured = self.tcp(seconds=1)
        self.assertGreater(self.forwarded()["bytes"] - before, measured.bytes / 2)

    def test_removed_port_is_not_forwarded_to(self):
        self.start_traffic()
        self.switch.del_port(self.ports[1])
        before = self.seen_at_b()
        self.assert_user_space_only()
        self.assertEqual(self.seen_at_b(), before)
        self.switch.add_port(self.ports[1])
        self.switch.appctl("dpctl/del-flows", DATAPATH)
        self.switch.connect(*self.ports)
        self.wait_for_packets()

    def test_killed_daemon_forwards_nothing(self):
        self.start_traffic()
        self.switch.kill()
        time.sleep(0.1)
        before = self.seen_at_b()
        time.sleep(0.5)
        self.assertEqual(self.seen_at_b(), before)
        self.switch.start()
        for port in self.ports:
            self.switch.add_port(port)
        self.switch.connect(*self.ports)
        self.wait_for_packets()

    def test_mtu_sized_frames_are_forwarded(self):
        for namespace in (self.a, self.b):
            offloads(namespace, tso="off", gso="off")
        before = self.forwarded()
        measured = self.tcp(seconds=1)
        self.assertGreater(self.forwarded()["bytes"] - before["bytes"], measured.bytes * 0.9)
        self.assert_transferred(8 << 20)

    def test_udp_and_its_super_packets_are_forwarded(self):
        target = self.ADDRESS["b"][4]
        before = self.forwarded()["packets"]
        iperf3(self.lab, self.a, self.b, target, seconds=1, udp="100M")
        self.assertGreater(self.forwarded()["packets"], before + 1000)
        before = self.switch.idle()[self.ports[1]]["tx_super_packets"]
        packets = self.forwarded()["packets"]
        udp_segments(self.lab, self.a, self.b, target, seconds=1, gbps=1)
        self.assertGreater(self.forwarded()["packets"], packets + 500)
        self.assertGreater(self.switch.idle()[self.ports[1]]["tx_super_packets"], before + 500)

    def test_ping_gets_the_short_way_and_keeps_it(self):
        ping(self.a, self.ADDRESS["b"][4], count=40, interval=0.01)
        before = self.forwarded()["packets"]
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=10, interval=0.01)), 10)
        self.assertGreaterEqual(self.forwarded()["packets"] - before, 20)
        time.sleep(11)
        before = self.forwarded()["packets"]
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=1)), 1)
        self.assertEqual(self.forwarded()["packets"] - before, 2)

    def test_fragments_take_the_way_through_user_space(self):
        target = self.ADDRESS["b"][4]
        self.assertEqual(len(ping(self.a, target, count=40, interval=0.01, size=1000)), 40)
        before = self.forwarded()["packets"]
        for _ in range(20):
            self.a.run("ping", "-n", "-c", 1, "-s", 4000, target)
        self.assertEqual(self.forwarded()["packets"], before)

    def test_many_flows(self):
        """Many exact flows of one megaflow, all of them taken back with it."""
        self.tcp(seconds=2, streams=32)
        installed = self.forwarded()["installed"]
        self.assertGreaterEqual(installed, 32)
        self.switch.appctl("dpctl/del-flows", DATAPATH)
        self.assertEqual(self.forwarded()["flows"], 0)
        self.switch.connect(*self.ports)
        self.tcp(seconds=1, streams=32)
        self.assertGreaterEqual(self.forwarded()["installed"], installed + 32)


if __name__ == "__main__":
    harness.main(240)
