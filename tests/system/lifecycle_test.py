#!/usr/bin/python3
"""Ports and their devices come and go under traffic, and the daemon dies: what is left recovers."""

import time

import harness
from case import SwitchCase
from harness import end_process, run, wait_until
from sluice import CommandFailed
from traffic import ping


def hooks(interface):
    """What hangs at an interface's tc ingress: clsact filters, in words."""
    return run("tc", "filter", "show", "dev", interface, "ingress", check=False).strip()


class Lifecycle(SwitchCase):
    def setUp(self):
        super().setUp()
        self.traffic = []

    def tearDown(self):
        for process in self.traffic:
            end_process(process)
        super().tearDown()

    def background_traffic(self):
        """TCP and ICMPv6 that go on whatever happens, until the test ends."""
        target = self.ADDRESS["b"]
        server = self.lab.spawn(*self.b.command("iperf3", "-s"))
        time.sleep(0.3)
        self.traffic = [
            self.lab.spawn(*self.a.command("iperf3", "-c", target[4], "-t", "120", "-C", "cubic")),
            self.lab.spawn(*self.a.command("ping", "-f", "-i", "0.01", target[6])),
            server,
        ]
        time.sleep(0.5)

    def test_namespace_dies_with_its_veth_and_comes_back(self):
        self.background_traffic()
        for _ in range(3):
            self.b.delete()
            wait_until(lambda: self.ports[1] not in self.lab.host.links(), 10, "the veth to go")
            self.switch.appctl("dpctl/show")
            self.b = self.lab.netns("b")
            self.lab.veth(self.b, outer=self.ports[1], mtu=self.mtu)
            self.address("b", self.b)
            self.a.run("ip", "neigh", "flush", "all")  # the new eth0 has another address
            self.wait_for_packets()
        self.assert_transferred(1 << 20)
        self.assert_transferred(1 << 20, family=6, reverse=True)

    def test_link_goes_down_and_up(self):
        self.background_traffic()
        run("ip", "link", "set", self.ports[1], "down")
        self.assertEqual(ping(self.a, self.ADDRESS["b"][4], count=2, timeout=1), [])
        run("ip", "link", "set", self.ports[1], "up")
        self.wait_for_packets()

    def test_other_ports_come_and_go(self):
        self.background_traffic()
        other = self.lab.netns("c")
        for _ in range(10):
            port = self.lab.veth(other, inner="eth0")
            self.switch.add_port(port)
            tap = self.lab.name("t")
            self.switch.add_port(tap, kind="tap")
            self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=2, interval=0.05)), 2)
            self.switch.del_port(port)
            self.switch.del_port(tap)
            run("ip", "link", "del", port)
            self.assertNotIn(tap, self.lab.host.links())
        self.assert_transferred(1 << 20)

    def test_port_is_removed_and_added_under_traffic(self):
        self.background_traffic()
        for _ in range(5):
            self.switch.del_port(self.ports[0])
            self.switch.add_port(self.ports[0])
            self.switch.appctl("dpctl/del-flows")
            self.switch.connect(*self.ports)
            self.wait_for_packets()
        self.assert_transferred(1 << 20)

    def test_wrong_requests_change_nothing(self):
        before = self.switch.appctl("dpctl/show")
        for wrong in (f"{self.ports[0]},type=system", "slcnothere0,type=system",
                      "slcx,type=no-such-type", "slcx,type=dummy,n_rxq=none"):  # fmt: skip
            if wrong.startswith("slcnothere0"):
                # As in Open vSwitch a port may be refused or wait for its device: either way it
                # must be possible to take it away again.
                try:
                    self.switch.add_port("slcnothere0")
                    self.switch.del_port("slcnothere0")
                except CommandFailed as error:
                    self.assertIn("slcnothere0", str(error))
                continue
            with self.assertRaises(CommandFailed) as caught:
                self.switch.appctl("dpctl/add-if", "netdev@dp0", wrong)
            self.assertIn(wrong.split(",")[0], str(caught.exception))
        names = lambda text: [line.split()[2] for line in text.splitlines() if "port " in line]
        self.assertEqual(names(self.switch.appctl("dpctl/show")), names(before))

    def test_pmd_threads_change_under_traffic(self):
        self.background_traffic()
        for mask in ("3", "1", "2", "3", "1"):
            self.switch.appctl("sluice/pmd-cpu-mask", mask)
            self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=3, interval=0.05)), 3)
        self.assert_transferred(1 << 20)


class Death(SwitchCase):
    def restart_after_kill(self):
        self.switch.kill()
        self.switch.start()
        for port in self.ports:
            self.switch.add_port(port)
        self.switch.connect(*self.ports)
        self.wait_for_packets()

    def test_killed_and_restarted_with_the_same_veths(self):
        for _ in range(3):
            self.restart_after_kill()
        self.assert_transferred(1 << 20)

    def test_killed_and_restarted_with_the_same_taps(self):
        internal = self.lab.name("t")
        tap = self.lab.name("t")
        run("ip", "tuntap", "add", tap, "mode", "tap")  # persistent: outlives the daemon
        self.lab.defer(run, "ip", "link", "del", tap, check=False)
        for _ in range(2):
            self.switch.add_port(internal, kind="internal")
            self.switch.add_port(tap, kind="tap")
            self.assertIn(internal, self.lab.host.links())
            self.switch.kill()
            self.switch.start()
        self.switch.add_port(internal, kind="internal")
        self.switch.del_port(internal)
        self.assertNotIn(internal, self.lab.host.links())
        self.assertIn(tap, self.lab.host.links())
        for port in self.ports:
            self.switch.add_port(port)

    def test_no_tc_filter_outlives_its_port(self):
        """After removal, after death and a clean exit the host's stack hears the interface again."""
        port, namespace = self.ports[0], self.a
        host_address = "10.0.0.77"
        run("ip", "addr", "add", host_address + "/24", "dev", port)
        self.assertEqual(ping(namespace, host_address, count=2, timeout=1), [], "host answered")
        self.switch.del_port(port)
        self.assertEqual(hooks(port), "")
        self.assertEqual(len(ping(namespace, host_address, count=2)), 2, "after del-if")
        self.switch.add_port(port)
        self.assertEqual(ping(namespace, host_address, count=1, timeout=1), [], "host answered")
        self.switch.stop()
        self.assertEqual(hooks(port), "")
        self.assertEqual(len(ping(namespace, host_address, count=2)), 2, "after a clean exit")
        self.switch.start()
        self.switch.add_port(port)
        self.switch.kill()
        self.switch.start()
        self.switch.add_port(port)
        self.switch.del_port(port)
        self.assertEqual(hooks(port), "")
        self.assertEqual(len(ping(namespace, host_address, count=2)), 2, "after kill and restart")


if __name__ == "__main__":
    harness.main(time_limit=480)
