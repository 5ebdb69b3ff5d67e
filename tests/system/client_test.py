#!/usr/bin/python3
"""Debian's ovs-appctl, which we did not write, drives the daemon."""

import os
import unittest

import harness
from harness import CommandError, Lab, run
from sluice import Sluice, program


class DebianClient(unittest.TestCase):
    def setUp(self):
        harness.require_tool("ovs-appctl")
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.switch = Sluice(self.lab)
        self.clients = (["ovs-appctl"], [program("appctl")])

    def ask(self, client, *arguments):
        words = " ".join(f"'{word}'" for word in [*client, *arguments])
        return run("sh", "-c", f"OVS_RUNDIR={self.switch.rundir} {words}")

    def test_default_target_is_found(self):
        for client in self.clients:
            self.assertIn("vswitchd", self.ask(client, "version"))
            self.assertIn("dpctl/show", self.ask(client, "list-commands"))

    def test_ports_and_flows(self):
        for number, client in enumerate(self.clients):
            name = self.lab.name("d")
            self.ask(client, "dpctl/add-if", "netdev@dp0", f"{name},type=dummy")
            self.assertIn(name, self.ask(client, "dpctl/show"))
            port = self.switch.port_number(name)
            flow = "in_port(%d),eth(),eth_type(0x0800),ipv4(frag=no)" % port
            self.ask(client, "dpctl/add-flow", "netdev@dp0", flow, str(port))
            self.assertIn("eth_type(0x0800)", self.ask(client, "dpctl/dump-flows", "netdev@dp0"))
            self.ask(client, "dpctl/del-flows", "netdev@dp0")
            self.assertNotIn("eth_type", self.ask(client, "dpctl/dump-flows", "netdev@dp0"), number)

    def test_errors_are_the_clients_exit_code(self):
        for client in self.clients:
            with self.assertRaises(CommandError) as caught:
                self.ask(client, "dpctl/del-if", "netdev@dp0", "nosuchport")
            self.assertIn("nosuchport", str(caught.exception))
            with self.assertRaises(CommandError):
                self.ask(client, "no/such-command")

    def test_exit(self):
        self.ask(["ovs-appctl"], "exit")
        self.assertEqual(self.switch.process.wait(10), 0)
        self.assertFalse(os.path.exists(self.switch.pid_file))


if __name__ == "__main__":
    harness.main(time_limit=120)
