#!/usr/bin/python3
"""Controllers that we did not write program the bridge: over TCP and TLS, killed and restarted."""

import os

import harness
from bridged import BRIDGE
from controllers import Pki, free_port, os_ken, test_controller
from harness import require_tool, wait_until
from openflow import OpenFlowCase
from traffic import ping


class ControllerCase(OpenFlowCase):
    def setUp(self):
        require_tool("ovs-testcontroller", "osken-manager", "openssl")
        super().setUp()
        self.port = free_port()

    def set_controller(self, kind="tcp", secure=True, **columns):
        self.switch.vsctl("set-fail-mode", BRIDGE, "secure" if secure else "standalone", "--", "set-controller", BRIDGE,
                          f"{kind}:127.0.0.1:{self.port}")  # fmt: skip
        if columns:
            words = [f"{column}={value}" for column, value in columns.items()]
            self.switch.vsctl("set", "Controller", BRIDGE, *words)

    def set_tls(self, pki, ca=None):
        self.switch.vsctl("set-ssl", pki.file("switch", "key"), pki.file("switch", "pem"), ca or pki.file("ca", "pem"))

    def is_connected(self):
        return self.switch.get("Controller", BRIDGE, "is_connected")

    def status(self):
        return self.switch.get("Controller", BRIDGE, "status")

    def wait_connected(self):
        wait_until(self.is_connected, 40, "the controller's connection", interval=0.2)

    def pings(self, timeout=30):
        wait_until(lambda: ping(self.a, "10.0.0.2", count=1, timeout=1), timeout, "a ping through the controller")

    def assert_programs(self):
        """The learning switch answers to packets, and installs flows."""
        self.wait_connected()
        self.pings()
        wait_until(lambda: (ping(self.a, "10.0.0.2", count=1, timeout=1), self.learned_flows())[1], 30,
                   "flows of the controller")  # fmt: skip

    def learned_flows(self):
        return [flow for flow in self.switch.flows() if "dl_dst=" in flow]


class TestController(ControllerCase):
    def test_over_tcp(self):
        self.set_controller()
        test_controller(self.lab, self.port)
        self.assert_programs()
        self.assertEqual(self.switch.get("Controller", BRIDGE, "role"), "other")
        self.assertEqual(self.status()["state"], "ACTIVE")

    def test_over_tls(self):
        pki = Pki(os.path.join(self.lab.scratch, "pki"))
        self.set_tls(pki)
        self.set_controller("ssl")
        test_controller(self.lab, self.port, pki)
        self.assert_programs()

    def test_another_authority_is_refused_and_said(self):
        pki, other = (Pki(os.path.join(self.lab.scratch, name)) for name in ("pki", "other"))
        self.set_tls(pki, other.file("ca", "pem"))
        self.set_controller("ssl")
        test_controller(self.lab, self.port, pki)
        wait_until(lambda: "certificate" in self.status().get("last_error", ""), 30, "the refusal in the status",
                   interval=0.2)  # fmt: skip
        self.assertFalse(self.is_connected())

    def test_plain_text_where_tls_is_meant_is_said(self):
        pki = Pki(os.path.join(self.lab.scratch, "pki"))
        self.set_tls(pki)
        self.set_controller("ssl")
        test_controller(self.lab, self.port)
        wait_until(lambda: self.status().get("last_error"), 30, "the refusal in the status", interval=0.2)
        self.assertFalse(self.is_connected())

    def test_secure_keeps_its_flows_without_the_controller(self):
        self.set_controller(inactivity_probe=1000)
        controller = test_controller(self.lab, self.port)
        self.wait_connected()
        self.switch.ofctl("add-flow", "priority=65535,actions=NORMAL")
        controller.stop()
        wait_until(lambda: not self.is_connected(), 30, "the loss of the controller", interval=0.2)
        self.pings()
        self.assertIn("priority=65535 actions=NORMAL", "\n".join(self.switch.flows()))
        controller.start(self.port)
        self.wait_connected()

    def test_standalone_stands_in_and_hands_back(self):
        self.set_controller(secure=False, inactivity_probe=1000)
        hidden = lambda: "priority=61680" in self.switch.appctl("bridge/dump-flows", BRIDGE)
        wait_until(hidden, 40, "the flow that stands in", interval=0.2)
        self.pings()
        self.assertEqual(self.switch.flows(), [])
        test_controller(self.lab, self.port)
        self.wait_connected()
        wait_until(lambda: not hidden(), 40, "the end of it", interval=0.2)
        self.assert_programs()

    def test_without_controllers_normal_is_back(self):
        self.set_controller()
        wait_until(lambda: self.switch.flows() == [], 10, "no flows")
        self.switch.vsctl("del-controller", BRIDGE, "--", "del-fail-mode", BRIDGE)
        wait_until(lambda: self.switch.flows() == ["table=0, priority=0 actions=NORMAL"], 10, "the normal flow")
        self.pings()


class OsKen(ControllerCase):
    def run_switch(self, version, pki=None):
        self.set_controller("ssl" if pki else "tcp")
        os_ken(self.lab, self.port, version, pki)
        self.assert_programs()

    def test_version_10(self):
        self.run_switch("1.0")

    def test_version_13(self):
        self.run_switch("1.3")

    def test_version_15(self):
        self.run_switch("1.5")

    def test_version_13_over_tls(self):
        pki = Pki(os.path.join(self.lab.scratch, "pki"))
        self.set_tls(pki)
        self.run_switch("1.3", pki)


if __name__ == "__main__":
    harness.main(580)
