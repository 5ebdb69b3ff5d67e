#!/usr/bin/python3
"""VLAN modes: the same frames through Sluice as went through the kernel's bridge (vlan_oracle.json)."""

import json
import unittest

import harness
from bridged import BRIDGE, Bridged
from harness import Lab
from vlan_oracle import SCENARIOS, TABLE, Stations, play


def refused(ports, description):
    """Whether it is a frame that arrives at an access port with the tag of that port's own VLAN:
    the kernel takes it, and ovs-vswitchd.conf.db(5) says to drop it."""
    number, tags = description.split()[:2]
    port = ports[int(number)]
    vlan = tags.split("/")[0].split(".")[0].rstrip("a")
    return port.mode == "access" and vlan == str(port.tag)


class VlanOracle(unittest.TestCase):
    def compare(self, scenario):
        with open(TABLE, encoding="ascii") as f:
            expected = json.load(f)[scenario.name]["results"]
        with Lab() as lab:
            stations = Stations(lab, scenario)
            switch = Bridged(lab)
            for port in scenario.ports:
                link = stations.links[port.number]
                switch.add_port(link)
                words = [f"vlan_mode={port.mode}"]
                words += [f"tag={port.tag}"] if port.mode != "trunk" else []
                words += [f"trunks={','.join(map(str, port.trunks))}"] if port.trunks else []
                switch.vsctl("set", "Port", link, *words)
            # The local port is a trunk of all VLANs: it takes no part.
            self.assertIn(BRIDGE, switch.vsctl("list-br"))
            found = play(scenario, stations)
            said = switch.appctl("fdb/show", BRIDGE) + switch.appctl("dpctl/dump-flows")
            self.assertEqual(switch.stop(), 0, switch.said())
        ports = {port.number: port for port in scenario.ports}
        for description, leaves in expected.items():
            if scenario.floods and refused(ports, description):
                leaves = ""
            with self.subTest(scenario=scenario.name, frame=description):
                self.assertEqual(found[description], leaves, said)


for _scenario in SCENARIOS:
    _name = "test_" + _scenario.name.replace(".", "_")
    setattr(VlanOracle, _name, lambda self, scenario=_scenario: self.compare(scenario))


if __name__ == "__main__":
    harness.main(time_limit=300)
