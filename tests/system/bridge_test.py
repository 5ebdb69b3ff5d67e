#!/usr/bin/python3
"""Bridges as the database describes them: ports of every type, errors, columns, restarts."""

import os
import threading
import time

import harness
from bridged import BRIDGE, Bridged
from case import BridgeCase
from files_test import MIB, Toggler
from harness import CommandError, read_file, run, wait_until
from sluice import program
from traffic import ping


class Columns(BridgeCase):
    def test_an_interface_says_what_it_is(self):
        name = self.ports[0]
        get = lambda column: self.switch.get("Interface", name, column)
        address = read_file(f"/sys/class/net/{name}/address")
        self.assertEqual(get("mac_in_use"), address)
        self.assertEqual(get("ifindex"), int(read_file(f"/sys/class/net/{name}/ifindex")))
        self.assertEqual((get("mtu"), get("admin_state"), get("link_state")), (1500, "up", "up"))
        self.assertEqual((get("link_speed"), get("duplex")), (10_000_000_000, "full"))
        self.assertEqual(get("error"), [])
        self.assertIn("driver_name", get("status"))
        run("ip", "link", "set", name, "mtu", 1400)
        wait_until(lambda: get("mtu") == 1400, 8, "the new MTU in the database")
        run("ip", "link", "set", name, "down")
        wait_until(lambda: get("admin_state") == "down", 8, "admin_state=down")
        run("ip", "link", "set", name, "up", "mtu", 1500)
        wait_until(lambda: get("admin_state") == "up", 8, "admin_state=up")

    def test_statistics_grow_with_traffic(self):
        before = self.switch.get("Interface", self.ports[0], "statistics").get("rx_packets", 0)
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=10, interval=0.01)), 10)
        wait_until(lambda: self.switch.get("Interface", self.ports[0], "statistics")
                   .get("rx_packets", 0) >= before + 10, 12, "statistics of 10 packets")  # fmt: skip

    def test_the_switch_says_what_it_can(self):
        self.assertLessEqual({"system", "internal", "tap", "patch", "dummy"},
                             set(self.switch.get("Open_vSwitch", ".", "iface_types")))  # fmt: skip
        self.assertIn("netdev", self.switch.get("Open_vSwitch", ".", "datapath_types"))
        self.assertRegex(self.switch.get("Bridge", BRIDGE, "datapath_id"), "^[0-9a-f]{16}$")
        self.switch.set_switch("enable-statistics", "true")
        wait_until(lambda: "memory" in self.switch.get("Open_vSwitch", ".", "statistics"), 12,
                   "statistics of the system")  # fmt: skip

    def test_requested_numbers_and_mtu(self):
        tap = self.lab.name("t")
        self.switch.vsctl("add-port", BRIDGE, tap, "--", "set", "Interface", tap, "type=internal",
                          "ofport_request=77", "mtu_request=1400")  # fmt: skip
        self.assertEqual(self.switch.get("Interface", tap, "ofport"), 77)
        wait_until(lambda: self.switch.get("Interface", tap, "mtu") == 1400, 8, "mtu_request")
        self.assertEqual(read_file(f"/sys/class/net/{tap}/mtu"), "1400")
        self.switch.vsctl("del-port", tap)
        self.assertNotIn(tap, self.lab.host.links())


class Errors(BridgeCase):
    def failed(self, name):
        self.assertEqual(self.switch.get("Interface", name, "ofport"), -1)
        return self.switch.get("Interface", name, "error")

    def test_an_unknown_type_harms_no_other_port(self):
        self.assertEqual(self.switch.add_port("slcwrong0", kind="warp-drive"), -1)
        self.assertIn("warp-drive", self.failed("slcwrong0"))
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=3, interval=0.05)), 3)

    def test_a_device_that_comes_later_is_taken(self):
        other, name = self.lab.netns("c"), self.lab.name("v")
        self.assertEqual(self.switch.add_port(name), -1)
        self.assertIn(name, self.failed(name))
        other.silence("lo")
        self.lab.veth(other, outer=name)
        other.address("eth0", "10.0.0.3/24")
        wait_until(lambda: self.switch.get("Interface", name, "ofport") != -1, 10,
                   "the device to be taken")  # fmt: skip
        wait_until(lambda: ping(other, self.ADDRESS["b"][4], count=1, timeout=1), 10, "a ping")
        self.assertEqual(self.switch.get("Interface", name, "error"), [])

    def test_a_mistyped_option_is_named(self):
        tap = self.lab.name("t")
        self.assertEqual(self.switch.add_port(tap, kind="internal", n_rxq="many"), -1)
        self.assertIn("n_rxq", self.failed(tap))
        self.switch.vsctl("set", "Interface", tap, "options:n_rxq=1", "options:foo=bar")
        wait_until(lambda: self.switch.get("Interface", tap, "ofport") != -1, 5, "the port")


class Topology(BridgeCase):
    def test_internal_port_of_the_bridge(self):
        """The host takes part by the bridge's own port."""
        run("ip", "addr", "add", "10.0.0.10/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        wait_until(lambda: ping(self.a, "10.0.0.10", count=1, timeout=1), 10, "the host to answer")

    def test_patch_ports_join_bridges(self):
        other, port = self.lab.netns("c"), None
        port = self.lab.veth(other)
        other.address("eth0", "10.0.0.3/24")
        name = self.lab.name("b")
        self.switch.vsctl(
            "add-br", name, "--", "add-port", name, port,
            "--", "add-port", BRIDGE, "slcp0", "--", "set", "Interface", "slcp0", "type=patch",
            "options:peer=slcp1",
            "--", "add-port", name, "slcp1", "--", "set", "Interface", "slcp1", "type=patch",
            "options:peer=slcp0")  # fmt: skip
        wait_until(lambda: ping(other, self.ADDRESS["b"][4], count=1, timeout=1), 10,
                   "a ping over the patch")  # fmt: skip
        self.switch.vsctl("del-port", "slcp1")
        time.sleep(1)
        self.assertEqual(ping(other, self.ADDRESS["b"][4], count=1, timeout=1), [])
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=3, interval=0.05)), 3)
        self.switch.vsctl("del-br", name)
        self.assertNotIn(name, self.lab.host.links())

    def test_vlans_separate(self):
        self.switch.vsctl("set", "Port", self.ports[0], "tag=10")
        time.sleep(1)
        self.assertEqual(ping(self.a, self.ADDRESS["b"][4], count=1, timeout=1), [])
        self.switch.vsctl("set", "Port", self.ports[1], "tag=10")
        self.wait_for_packets()
        self.assertIn("10", self.switch.appctl("fdb/show", BRIDGE))

    def test_config_survives_a_restart(self):
        self.switch.set_switch("userspace-tso-enable", "false")
        tap = self.lab.name("t")
        self.switch.add_port(tap, kind="internal")
        self.switch.vsctl("del-port", self.ports[0], "--", "add-port", BRIDGE, self.ports[0])
        self.switch.del_port(tap)
        numbers = {name: self.switch.get("Interface", name, "ofport") for name in self.ports}
        self.switch.stop()
        self.switch.start()
        self.wait_for_packets()
        for name, number in numbers.items():
            self.assertEqual(self.switch.get("Interface", name, "ofport"), number)
        self.switch.kill()
        self.switch.start()
        self.wait_for_packets()


class TsoToggled(BridgeCase):
    """By vsctl, every 100 ms, while a checked transfer is under way."""

    def assert_transferred_while(self, toggle, seconds=8):
        toggles, waits = 0, []
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with Toggler(toggle) as toggler:
                waits.append(self.assert_transferred(512 * MIB, seed=toggles)["longest_wait"])
            self.assertIsNone(toggler.error)
            toggles += toggler.count
        print(f"{toggles} toggles, longest wait {max(waits) * 1e3:.0f} ms")
        self.assertGreater(toggles, 20)
        self.assertLess(max(waits), 2.0)

    def test_globally(self):
        self.assert_transferred_while(self.switch.tso)

    def test_on_one_interface_no_frame_over_its_mtu_while_off(self):
        port = self.ports[1]
        log = os.path.join(self.lab.scratch, "large.log")
        self.switch.tso(False, port)
        time.sleep(0.2)
        capture = self.lab.spawn(*self.b.command(
            "tcpdump", "-i", "eth0", "-n", "-Q", "in", "-l", "-c", "1", "greater", 1515),
            log=log)  # fmt: skip
        wait_until(lambda: "listening on" in read_file(log), 10, "tcpdump")
        other = self.ports[0]
        self.assert_transferred_while(lambda on: self.switch.tso(on, other))
        self.assertIsNone(capture.poll(), f"a frame over the MTU: {read_file(log)}")
        capture.terminate()
        capture.wait()
        self.assert_transferred_while(lambda on: self.switch.tso(on, port))


class Clients(BridgeCase):
    def test_debians_clients_are_served(self):
        harness.require_tool("ovs-vsctl", "ovsdb-client", "ovs-appctl")
        vsctl = lambda *words: run("ovs-vsctl", f"--db={self.switch.database}", "--timeout=20",
                                   *words)  # fmt: skip
        self.assertEqual(vsctl("list-br").split(), [BRIDGE])
        self.assertEqual(set(vsctl("list-ports", BRIDGE).split()), set(self.ports))
        vsctl("add-br", "slcbr9", "--", "set", "bridge", "slcbr9", "datapath_type=netdev")
        self.assertIn("slcbr9", self.lab.host.links())
        vsctl("del-br", "slcbr9")
        self.assertNotIn("slcbr9", self.lab.host.links())
        self.assertIn("Open_vSwitch", run("ovsdb-client", "list-dbs", self.switch.database))
        self.assertIn(self.ports[0], run("ovsdb-client", "dump", self.switch.database))
        shown = run("ovs-appctl", "-t", self.switch.socket, "fdb/show", BRIDGE)
        self.assertRegex(shown, r"port +VLAN +MAC +Age")

    def test_many_clients_at_once(self):
        errors = []

        def work(number):
            try:
                for _ in range(5):
                    self.switch.vsctl("set", "Open_vSwitch", ".", f"external_ids:k{number}=v")
                    self.switch.vsctl("remove", "Open_vSwitch", ".", "external_ids", f"k{number}")
            except CommandError as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])


class External(BridgeCase):
    """A running ovsdb-server of Debian's in place of the embedded one."""

    def make_switch(self):
        harness.require_tool("ovsdb-server", "ovsdb-tool")
        return External.Switch(self.lab)

    class Switch(Bridged):
        def start(self):
            self.serve()
            super().start()

        def serve(self):
            database = os.path.join(self.rundir, "external.db")
            if not os.path.exists(database):
                run("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
            self.server = self._lab.spawn(
                "ovsdb-server", database, f"--remote=punix:{self.rundir}/external.sock",
                f"--unixctl={self.rundir}/ovsdb.ctl", env=self.env,
                log=f"{self.rundir}/ovsdb.log")  # fmt: skip
            self.database = f"unix:{self.rundir}/external.sock"
            wait_until(lambda: os.path.exists(f"{self.rundir}/external.sock"), 10, "ovsdb-server")

        def arguments(self):
            return [self.database]

        def prepare(self):
            self.vsctl("--no-wait", "init")
            super().prepare()

    def test_traffic_goes_on_while_the_server_is_away(self):
        self.switch.server.kill()
        self.switch.server.wait()
        time.sleep(1)
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=20, interval=0.05)), 20)
        os.unlink(f"{self.switch.rundir}/external.sock")
        self.switch.serve()
        self.switch.vsctl("add-br", "slcbr8", timeout=30)
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=3, interval=0.05)), 3)
        self.switch.vsctl("del-br", "slcbr8")

    def test_a_second_daemon_waits_for_the_lock(self):
        log = f"{self.switch.rundir}/second.log"
        second = self.lab.spawn(
            program("vswitchd"), self.switch.database, f"--log-file={log}",
            f"--unixctl={self.switch.rundir}/second.ctl", env=self.switch.env)  # fmt: skip
        wait_until(lambda: os.path.exists(log) and "waiting for the lock" in read_file(log), 10,
                   "the second daemon to wait")  # fmt: skip
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=3, interval=0.05)), 3)
        second.terminate()
        self.assertEqual(second.wait(10), 0)


if __name__ == "__main__":
    harness.require_tool("tcpdump")
    harness.main(time_limit=540)
