#!/usr/bin/python3
"""OpenFlow as ovs-ofctl speaks it: the commands that look and change, in several versions."""

import os
import re

import harness
from bridged import BRIDGE
from harness import read_file, run, wait_until
from openflow import OpenFlowCase
from traffic import ping


class Commands(OpenFlowCase):
    def test_show(self):
        shown = self.switch.ofctl("show")
        dpid = self.switch.get("Bridge", BRIDGE, "datapath_id")
        self.assertIn(f"dpid:{dpid}", shown)
        self.assertIn("n_tables:254", shown)
        for port in self.ports:
            self.assertRegex(shown, rf" \d+\({port[:15]}\): addr:")
        self.assertIn(f"LOCAL({BRIDGE})", shown)
        for version in ("OpenFlow13", "OpenFlow14", "OpenFlow15"):
            self.assertIn(f"LOCAL({BRIDGE})", self.switch.ofctl("show", version=version))

    def test_a_new_bridge_has_the_normal_flow(self):
        self.assertEqual(self.switch.flows(), ["table=0, priority=0 actions=NORMAL"])

    def test_flows_are_added_listed_changed_and_deleted_in_every_version(self):
        for version in (None, "OpenFlow11", "OpenFlow12", "OpenFlow13", "OpenFlow14", "OpenFlow15"):
            with self.subTest(version=version):
                ofctl = lambda *words: self.switch.ofctl(*words, version=version)
                ofctl("del-flows")
                ofctl("add-flow", "priority=7,ip,nw_dst=10.0.0.0/8,actions=output:1")
                ofctl("add-flow", "table=3,priority=9,tcp,tp_dst=80,actions=drop")
                both = ["table=0, priority=7,ip,nw_dst=10.0.0.0/8 actions=output:1",
                        "table=3, priority=9,tcp,tp_dst=80 actions=drop"]  # fmt: skip
                shown = [line.replace("send_flow_rem ", "").replace("reset_counts ", "")
                         for line in self.switch.flows(version=version)]  # fmt: skip
                self.assertEqual([line if line.startswith("table") else f"table=0, {line}" for line in shown], both)
                ofctl("mod-flows", "ip,nw_dst=10.0.0.0/8,actions=output:2")
                self.assertIn("actions=output:2", "\n".join(self.switch.flows(version=version)))
                ofctl("del-flows", "tcp")
                self.assertEqual(len(self.switch.flows(version=version)), 1)
                self.assertEqual(len(self.switch.flows("table=3", version=version)), 0)

    def test_errors_name_what_is_wrong(self):
        self.assertIn("OFPBAC_BAD_OUT_GROUP",
                      self.switch.refused("add-flow", "actions=group:77", version="OpenFlow13"))  # fmt: skip
        self.switch.ofctl("add-flow", "priority=5,ip,actions=drop")
        self.assertIn("OFPFMFC_OVERLAP", self.switch.refused(
            "add-flow", "check_overlap,priority=5,ip,nw_dst=1.2.3.4,actions=drop"))  # fmt: skip
        self.assertIn("OFPBRC_BAD_PORT", self.switch.ofctl("dump-ports", "1000"))

    def test_ports(self):
        stats = self.switch.ofctl("dump-ports")
        self.assertIn("OFPST_PORT reply", stats)
        self.assertIn("3 ports", stats)
        before = self.counter(self.one)
        self.assertEqual(len(ping(self.a, "10.0.0.2", count=5, interval=0.01)), 5)
        self.assertGreaterEqual(self.counter(self.one), before + 5)
        self.switch.ofctl("mod-port", str(self.two), "no-flood")
        self.assertRegex(self.switch.ofctl("show"), rf"(?s)\b{self.two}\([^)]*\): addr:\S+\s+config:\s+NO_FLOOD")
        self.switch.ofctl("mod-port", str(self.two), "flood")
        self.assertNotIn("NO_FLOOD", self.switch.ofctl("show"))

    def counter(self, port):
        shown = self.switch.ofctl("dump-ports", str(port))
        return int(re.search(r"rx pkts=(\d+)", shown)[1])

    def test_tables(self):
        self.switch.ofctl("add-flow", "table=5,actions=drop")
        shown = self.switch.ofctl("dump-tables")
        self.assertRegex(shown, r"table 5[^\n]*:\s+active=1,")
        self.assertIn("table 0", self.switch.ofctl("dump-table-features", version="OpenFlow13"))

    def test_groups(self):
        ofctl = lambda *words: self.switch.ofctl(*words, version="OpenFlow13")
        ofctl("add-group", "group_id=5,type=all,bucket=output:1,bucket=output:2")
        self.assertRegex(ofctl("dump-groups"), r"group_id=5,type=all,bucket=actions=output:1,bucket=actions=output:2")
        ofctl("add-flow", "priority=3,actions=group:5")
        self.assertRegex(ofctl("dump-group-stats"), r"group_id=5,.*ref_count=1,")
        ofctl("mod-group", "group_id=5,type=all,bucket=output:2")
        self.assertNotIn("output:1", ofctl("dump-groups"))
        ofctl("del-groups", "group_id=5")
        self.assertNotIn("group:5", "\n".join(self.switch.flows(version="OpenFlow13")))

    def test_meters(self):
        ofctl = lambda *words: self.switch.ofctl(*words, version="OpenFlow13")
        ofctl("add-meter", "meter=3 kbps burst stats bands=type=drop rate=1000 burst_size=100")
        self.assertRegex(ofctl("dump-meters"), r"meter=3 kbps burst stats bands=\s+type=drop rate=1000 burst_size=100")
        ofctl("add-flow", "priority=3,actions=meter:3,output:1")
        self.assertRegex(ofctl("meter-stats"), r"meter:3 flow_count:1 ")
        ofctl("del-meter", "meter=3")
        self.assertNotIn("meter=3", ofctl("dump-meters"))
        self.assertNotIn("meter:3", "\n".join(self.switch.flows(version="OpenFlow13")))

    def test_a_bundle_is_taken_whole_or_not_at_all(self):
        before = self.switch.flows()
        bad = self.scratch("bad", "add priority=5,ip,actions=drop\nadd priority=6,actions=group:9\n")
        with self.assertRaises(harness.CommandError):
            self.switch.ofctl("add-flows", bad, "--bundle", version="OpenFlow14")
        self.assertEqual(self.switch.flows(), before)
        good = self.scratch("good", "add priority=5,ip,actions=drop\nadd priority=6,arp,actions=NORMAL\n")
        self.switch.ofctl("add-flows", good, "--bundle", version="OpenFlow14")
        self.assertEqual(len(self.switch.flows()), len(before) + 2)

    def test_thousands_of_flows(self):
        lines = "".join(f"priority={100 + n % 1000},ip,nw_src=10.{n // 256}.{n % 256}.1,actions=output:2\n"
                        for n in range(5000))  # fmt: skip
        self.switch.ofctl("add-flows", self.scratch("many", lines))
        self.assertEqual(len(self.switch.flows()), 5001)
        self.assertIn("flow_count=5001", self.switch.ofctl("dump-aggregate"))

    def test_timeouts_and_removal(self):
        log = os.path.join(self.lab.scratch, "monitor.log")
        monitor = self.monitor(log, "128")
        self.switch.ofctl("add-flow", "priority=9,ip,nw_src=9.9.9.9,hard_timeout=1,send_flow_rem,actions=drop")
        wait_until(lambda: re.search(r"(OFPT|NXT)_FLOW_REMOVED.*reason=hard", read_file(log)), 20, "the flow's removal")
        harness.end_process(monitor)

    def monitor(self, log, *arguments):
        """It says that it is there by what it is told of a packet that we send to it."""
        process = self.lab.spawn("ovs-ofctl", "monitor", self.switch.target, *arguments, log=log,
                                 env=self.switch.env)  # fmt: skip
        frame = "ffffffffffff0200000000aa88b5" + "00" * 46

        def is_told():
            self.switch.ofctl("packet-out", f"in_port=controller packet={frame} actions=controller")
            return "_PACKET_IN" in read_file(log)

        wait_until(is_told, 20, "a packet-in at the monitor", interval=0.1)
        return process

    def test_watching_flows(self):
        log = os.path.join(self.lab.scratch, "watch.log")
        watch = self.lab.spawn("ovs-ofctl", "monitor", self.switch.target, "watch:", log=log, env=self.switch.env)
        wait_until(lambda: "event=ADDED" in read_file(log), 20, "the flows that are there")
        self.switch.ofctl("add-flow", "priority=9,udp,actions=drop")
        wait_until(lambda: re.search(r"event=ADDED.*udp", read_file(log)), 20, "the added flow")
        self.switch.ofctl("del-flows", "udp")
        wait_until(lambda: re.search(r"event=DELETED.*udp", read_file(log)), 20, "the deleted flow")
        harness.end_process(watch)

    def test_packet_out(self):
        frame = "ffffffffffff0200000000aa88b5" + "00" * 46
        before = self.b.counters("eth0")["rx_packets"]
        for version in (None, "OpenFlow13", "OpenFlow15"):
            words = f"in_port=controller packet={frame} actions=output:{self.two}"
            self.switch.ofctl("packet-out", words, version=version)
        wait_until(lambda: self.b.counters("eth0")["rx_packets"] >= before + 3, 20, "three packets at b")

    def test_protocols_restrict_the_versions(self):
        self.switch.vsctl("set", "Bridge", BRIDGE, "protocols=OpenFlow13")
        self.assertIn("version negotiation failed", self.switch.refused("dump-flows"))
        self.assertEqual(len(self.switch.flows(version="OpenFlow13")), 1)

    def test_flow_tables_have_names_and_limits(self):
        self.switch.vsctl("--", "--id=@t", "create", "Flow_Table", "name=main", "flow_limit=2", "--", "set", "Bridge",
                          BRIDGE, "flow_tables:0=@t")  # fmt: skip
        self.switch.ofctl("add-flow", "priority=1,actions=drop")
        self.assertIn("OFPFMFC_TABLE_FULL", self.switch.refused("add-flow", "priority=2,actions=drop"))
        self.assertIn("main", self.switch.ofctl("dump-tables"))


class Forwarding(OpenFlowCase):
    def test_explicit_flows_carry_a_ping(self):
        self.switch.ofctl("del-flows")
        wait_until(lambda: not ping(self.a, "10.0.0.2", count=1, timeout=1), 10, "no answers")
        self.switch.ofctl("add-flow", f"in_port={self.one},actions=output:{self.two}")
        self.switch.ofctl("add-flow", f"in_port={self.two},actions=output:{self.one}")
        wait_until(lambda: ping(self.a, "10.0.0.2", count=1, timeout=1), 10, "an answer")
        self.assertEqual(len(ping(self.a, "10.0.0.2", count=20, interval=0.01)), 20)
        wait_until(lambda: self.switch.packets(f"in_port={self.one}") >= 20, 10, "20 counted packets")
        self.switch.ofctl("del-flows", f"in_port={self.one}")
        wait_until(lambda: not ping(self.a, "10.0.0.2", count=1, timeout=1), 10, "no more answers")

    def test_a_changed_flow_is_followed_at_once(self):
        self.switch.ofctl("add-flow", "priority=9,icmp,actions=drop")
        wait_until(lambda: not ping(self.a, "10.0.0.2", count=1, timeout=1), 10, "no more answers")
        self.switch.ofctl("mod-flows", "icmp,actions=NORMAL")
        wait_until(lambda: ping(self.a, "10.0.0.2", count=1, timeout=1), 10, "answers again")

    def test_tables_are_gone_through(self):
        self.switch.ofctl("del-flows")
        self.switch.ofctl("add-flow", "table=0,actions=resubmit(,1)")
        self.switch.ofctl("add-flow", f"table=1,in_port={self.one},actions=output:{self.two}")
        self.switch.ofctl("add-flow", f"table=1,in_port={self.two},actions=output:{self.one}")
        wait_until(lambda: len(ping(self.a, "10.0.0.2", count=5, interval=0.01)) == 5, 20, "five answers")
        wait_until(lambda: self.switch.packets(f"table=1,in_port={self.one}") >= 5, 10, "counted packets")

    def test_secure_has_no_flow_to_begin_with(self):
        self.switch.vsctl("set-fail-mode", BRIDGE, "secure")
        self.assertEqual(self.switch.flows(), [])
        wait_until(lambda: not ping(self.a, "10.0.0.2", count=1, timeout=1), 10, "no answers")
        self.switch.vsctl("del-fail-mode", BRIDGE)
        wait_until(lambda: ping(self.a, "10.0.0.2", count=1, timeout=1), 10, "NORMAL again")

    def test_sockets_go_with_the_bridge(self):
        self.assertTrue(os.path.exists(f"{self.switch.rundir}/{BRIDGE}.mgmt"))
        self.switch.vsctl("add-br", "brtwo")
        self.assertIn("LOCAL(brtwo)", run("ovs-ofctl", "show", f"unix:{self.switch.rundir}/brtwo.mgmt"))
        self.switch.vsctl("del-br", "brtwo")
        self.assertFalse(os.path.exists(f"{self.switch.rundir}/brtwo.mgmt"))


if __name__ == "__main__":
    harness.main(540)
