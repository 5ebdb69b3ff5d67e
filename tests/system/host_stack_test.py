#!/usr/bin/python3
"""The host's own stack does not also process what a port received."""

import harness
from case import SwitchCase
from harness import read_file, run
from traffic import ping


class HostStack(SwitchCase):
    def test_host_answers_neither_arp_nor_icmp(self):
        """The host has an address on the port's device; the namespace must not hear of it."""
        port = self.ports[0]
        run("ip", "addr", "add", "10.0.0.50/24", "dev", port)
        self.assertEqual(ping(self.a, "10.0.0.50", count=3, timeout=1), [])
        neighbour = self.a.run("ip", "neigh", "show", "10.0.0.50")
        self.assertNotIn("lladdr", neighbour, "the host answered ARP")
        mac = read_file(f"/sys/class/net/{port}/address")
        self.a.run("ip", "neigh", "replace", "10.0.0.50", "lladdr", mac, "dev", "eth0")
        self.assertEqual(ping(self.a, "10.0.0.50", count=3, timeout=1), [], "the host answered ICMP")

    def test_host_answers_no_neighbour_discovery(self):
        port = self.ports[0]
        self.lab.host.sysctl(f"ipv6/conf/{port}/disable_ipv6", 0)
        run("ip", "addr", "add", "fd00::50/64", "dev", port, "nodad")
        self.assertEqual(ping(self.a, "fd00::50", count=2, timeout=1), [])
        self.assertNotIn("lladdr", self.a.run("ip", "neigh", "show", "fd00::50"))

    def test_host_address_of_the_peers_is_not_used(self):
        """The host owns the address that a talks to, and still every packet goes to b."""
        run("ip", "addr", "add", self.ADDRESS["b"][4] + "/32", "dev", self.ports[0])
        self.assert_transferred(1 << 20)


if __name__ == "__main__":
    harness.main(time_limit=120)
