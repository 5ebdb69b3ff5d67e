#!/usr/bin/python3
"""Many vsctl at once, servers that go away, times that run out: nothing is lost, and nothing is done by half."""

import subprocess
import time
import unittest

import harness
from harness import Lab, wait_until
from sluice import program
from vsctl_peers import DatabaseServer

AT_ONCE = 20


class ConcurrentTest(unittest.TestCase):
    ours = False  # whether the server is Sluice's own

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.server = DatabaseServer(self.lab, "db", ours=self.ours)

    def start(self, *arguments, wait=False):
        options = [] if wait else ["--no-wait"]
        return subprocess.Popen(
            [program("vsctl"), f"--db={self.server.remote}", *options, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip

    def vsctl(self, *arguments, code=0, **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, code, f"{arguments}: {out}{err}")
        return out if code == 0 else err

    def finish(self, processes, timeout=60):
        """All their exit codes and errors."""
        return [(p.returncode, err) for p in processes for err in [p.communicate(timeout=timeout)[1]]]

    def test_every_port_and_key_of_many_at_once_is_there(self):
        # The first of them make the first row of the database, too.
        processes = [self.start("--", "--may-exist", "add-br", "br0", "--", "add-port", "br0", f"p{i}",
                                f"tag={i}", "--", "set", "bridge", "br0", f"external_ids:k{i}={i}")
                     for i in range(AT_ONCE)]  # fmt: skip
        for code, err in self.finish(processes):
            self.assertEqual((code, err), (0, ""))
        names = sorted(f"p{i}" for i in range(AT_ONCE))
        self.assertEqual(self.vsctl("list-ports", "br0").split(), names)
        self.assertEqual(len(self.vsctl("br-get-external-id", "br0").split()), AT_ONCE)
        for i in range(AT_ONCE):
            self.assertEqual(self.vsctl("get", "port", f"p{i}", "tag"), f"{i}\n")

    def test_one_of_many_makes_the_port_the_others_say_that_it_is_there(self):
        self.vsctl("add-br", "br0")
        results = self.finish([self.start("add-port", "br0", "p0") for _ in range(AT_ONCE)])
        self.assertEqual(sorted(code for code, _ in results), [0] + [1] * (AT_ONCE - 1))
        for code, err in results:
            if code:
                self.assertIn("a port named p0 already exists on bridge br0", err)
                self.assertEqual(err.count("\n"), 1, err)

    def test_deleting_and_adding_at_once_leaves_whole_ports(self):
        self.vsctl("add-br", "br0")
        processes = []
        for i in range(AT_ONCE):
            change = ["--if-exists", "del-br", "br0"] if i % 4 == 3 else \
                ["--may-exist", "add-br", "br0", "--", "--may-exist", "add-port", "br0", "p0", "--",
                 "set", "interface", "p0", f"external_ids:by={i}"]  # fmt: skip
            processes.append(self.start("--", *change))
        self.assertEqual({code for code, _ in self.finish(processes)}, {0})
        tables = [table for table, _ in self.server.rows().values()]
        bridges = tables.count("Bridge")
        self.assertIn(bridges, (0, 1))
        self.assertEqual(tables.count("Port"), tables.count("Interface"))
        self.assertLessEqual(tables.count("Port"), 2 * bridges)

    def test_wait_until_ends_when_somebody_fulfils_it(self):
        waiting = self.start("wait-until", "bridge", "br0", "external_ids:go=yes", "--",
                             "get", "bridge", "br0", "name")  # fmt: skip
        self.vsctl("add-br", "br0")
        time.sleep(0.2)
        self.assertIsNone(waiting.poll())
        self.vsctl("set", "bridge", "br0", "external_ids:go=yes")
        self.assertEqual(waiting.communicate(timeout=10)[0], "br0\n")

    def test_waits_for_the_daemon_and_reports_a_device_that_it_cannot_open(self):
        self.vsctl("add-br", "br0")
        adding = self.start("add-port", "br0", "nosuch", "--", "add-port", "br0", "fine", wait=True)
        next_cfg = lambda: self.vsctl("get", "Open_vSwitch", ".", "next_cfg").strip()
        wait_until(lambda: next_cfg() == "1", 10, "vsctl to commit")
        time.sleep(0.2)
        self.assertIsNone(adding.poll())
        # What a daemon does, in one transaction.
        self.vsctl("set", "Interface", "nosuch", "ofport=-1",
                   'error="could not open network device nosuch (No such device)"', "--",
                   "set", "Interface", "fine", "ofport=7", "--",
                   "set", "Interface", "br0", "ofport=65534", "--", "set", "Open_vSwitch", ".", "cur_cfg=1")  # fmt: skip
        _, err = adding.communicate(timeout=10)
        lines = err.splitlines()
        self.assertEqual(lines[0], "vsctl: Error detected while setting up 'nosuch': could not open "
                         "network device nosuch (No such device).  See ovs-vswitchd log for details.")  # fmt: skip
        self.assertRegex(lines[1], r'^vsctl: The default log directory is ".*"\.$')
        self.assertEqual(len(lines), 2)
        self.assertEqual(adding.returncode, 0)  # as ovs-vsctl: the port is in the database

    def test_no_wait_is_only_for_changes(self):
        self.vsctl("add-br", "br0")
        self.assertEqual(self.vsctl("list-br", wait=True), "br0\n")
        self.vsctl("--may-exist", "add-br", "br0", wait=True)

    def test_time_that_runs_out_is_sigalrm(self):
        err = self.vsctl("--timeout=1", "wait-until", "bridge", "nosuch", code=-14)
        self.assertIn("Alarm clock", err)

    def test_server_that_is_not_there(self):
        self.server.stop()
        err = self.vsctl("list-br", code=1)
        self.assertEqual(err, f"vsctl: {self.server.remote}: database connection failed "
                         "(No such file or directory)\n")  # fmt: skip
        waiting = self.start("--retry", "add-br", "br0", "--", "list-br")
        time.sleep(0.3)
        self.assertIsNone(waiting.poll())
        self.server.start_afresh()
        self.assertEqual(waiting.communicate(timeout=20)[0], "br0\n")

    def test_a_thousand_ports_in_one_transaction(self):
        names = [f"p{i}" for i in range(1000)]
        add = [word for name in names for word in ("--", "add-port", "br0", name, "--", "set",
                                                    "interface", name, "type=dummy")]  # fmt: skip
        start = time.monotonic()
        self.vsctl("add-br", "br0", *add)
        added = time.monotonic()
        self.assertEqual(self.vsctl("list-ports", "br0").split(), sorted(names))
        self.vsctl(*[word for name in names for word in ("--", "del-port", name)])
        print(f"1000 ports: {added - start:.2f} s to add, {time.monotonic() - added:.2f} s to delete")
        self.assertEqual(self.vsctl("list-ports", "br0"), "")
        self.assertLess(time.monotonic() - start, 20)

    def test_dry_run_changes_nothing(self):
        self.vsctl("add-br", "br0")
        before = self.server.rows()
        self.assertEqual(self.vsctl("--dry-run", "add-br", "br1", "--", "list-br"), "br0\nbr1\n")
        self.assertEqual(self.server.rows(), before)


class OwnServerConcurrentTest(ConcurrentTest):
    ours = True


if __name__ == "__main__":
    harness.main(time_limit=300)
