"""The test case that most system tests share: two namespaces joined by the switch.

After every test the daemon must still be alive, have nothing to say on stderr (a sanitizer's
report would be there), and every frame that it received must be sent, dropped by name or
consumed.
"""

import os
import unittest

from bridged import Bridged
from harness import Lab, read_file, wait_until
from sluice import Sluice
from traffic import iperf3, ping, transfer


class SwitchCase(unittest.TestCase):
    """a (10.0.0.1, fd00::1) - Sluice - b (10.0.0.2, fd00::2), over veths."""

    ADDRESS = {"a": {4: "10.0.0.1", 6: "fd00::1"}, "b": {4: "10.0.0.2", 6: "fd00::2"}}
    mtu = 1500
    tso = True

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.make_switch()
        self.a, self.b = self.lab.netns("a"), self.lab.netns("b")
        self.ports = [self.lab.veth(namespace, mtu=self.mtu) for namespace in (self.a, self.b)]
        self.address("a", self.a)
        self.address("b", self.b)
        for port in self.ports:
            self.switch.add_port(port)
        self.switch.connect(*self.ports)
        self.wait_for_packets()

    def make_switch(self):
        return Sluice(self.lab, tso=self.tso)

    def address(self, end, namespace, link="eth0"):
        namespace.address(link, self.ADDRESS[end][4] + "/24", self.ADDRESS[end][6] + "/64")

    def wait_for_packets(self, timeout=10):
        for family in (4, 6):
            wait_until(lambda f=family: ping(self.a, self.ADDRESS["b"][f], count=1, timeout=1),
                       timeout, f"a ping over IPv{family}")  # fmt: skip

    def tearDown(self):
        if self.switch.process.poll() is None:
            self.assert_conserved()
        self.assert_healthy()

    def assert_healthy(self):
        code = self.switch.process.poll()
        stderr = read_file(os.path.join(self.switch.rundir, "stderr.log"))
        self.assertIsNone(code, f"vswitchd ended with {code}:\n{self.switch.said()}")
        self.assertNotRegex(stderr, r"Sanitizer|runtime error", self.switch.said())
        # The end of the process is where leaks are reported.
        self.assertEqual(self.switch.stop(), 0, self.switch.said())
        stderr = read_file(os.path.join(self.switch.rundir, "stderr.log"))
        self.assertNotRegex(stderr, r"Sanitizer|runtime error", self.switch.said())

    def assert_conserved(self):
        """received == sent + dropped + consumed, in wire frames, over all ports."""
        stats = self.switch.idle()
        sum_of = lambda key: sum(port[key] for port in stats.values())
        account = self.switch.conservation()
        text = f"{account}\n{stats}\n{self.switch.drops()}"
        self.assertTrue(account["balanced"], text)
        # The account includes ports that are gone; those that are there cannot exceed it.
        self.assertGreaterEqual(account["received"], sum_of("rx_frames"), text)
        self.assertGreaterEqual(account["sent"], sum_of("tx_frames"), text)

    def tcp(self, seconds=1, streams=1, family=4, reverse=False, **options):
        client, server, target = (self.b, self.a, "a") if reverse else (self.a, self.b, "b")
        return iperf3(self.lab, client, server, self.ADDRESS[target][family], seconds=seconds,
                      streams=streams, switch_pid=self.switch.pid, **options)  # fmt: skip

    def assert_transferred(self, size, family=4, reverse=False, seed=0, timeout=120):
        client, server, target = (self.b, self.a, "a") if reverse else (self.a, self.b, "b")
        sent, arrived, report = transfer(self.lab, client, server, self.ADDRESS[target][family],
                                           size, seed=seed, timeout=timeout)  # fmt: skip
        where = f"{size} bytes over IPv{family} {'b to a' if reverse else 'a to b'}"
        self.assertEqual(report["bytes"], size, where)
        self.assertEqual(sent, arrived, f"SHA-256 differs: {where}")
        return report


class BridgeCase(SwitchCase):
    """The same two namespaces, on ports of the bridge br0 that the database asks for."""

    def make_switch(self):
        return Bridged(self.lab, tso=self.tso)
