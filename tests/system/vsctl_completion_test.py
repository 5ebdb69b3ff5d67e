#!/usr/bin/python3
"""The completion of vsctl's command lines in bash: commands, options, and names from the running database."""

import os
import subprocess
import unittest

import harness
from harness import Lab
from sluice import BIN, program
from vsctl_peers import DatabaseServer

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../utilities/vsctl-completion.bash")  # fmt: skip


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.server = DatabaseServer(self.lab, "db")
        # Where the default database is.
        self.env = {**os.environ, "OVS_RUNDIR": self.server.folder, "PATH": f"{BIN}:{os.environ['PATH']}"}
        subprocess.run([program("vsctl"), "--no-wait", "add-br", "br0", "--", "add-port", "br0", "p0",
                        "--", "set", "bridge", "br0", "external_ids:mine=1"],
                       check=True, env=self.env)  # fmt: skip

    def complete(self, *words):
        """What is offered after these words; the last is what is being typed."""
        quoted = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(
            ["bash", "-c", f"source {SCRIPT}; COMP_WORDS=(vsctl {quoted}); COMP_CWORD={len(words)}; "
             '_vsctl; printf "%s\\n" "${COMPREPLY[@]}"'],
            env=self.env, capture_output=True, text=True, timeout=30)  # fmt: skip
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands_and_options(self):
        self.assertEqual(self.complete("add-p"), ["add-port"])
        self.assertEqual(self.complete("--no-w"), ["--no-wait"])
        self.assertEqual(self.complete("--may"), ["--may-exist"])
        self.assertEqual(self.complete("-t", "5", "list-b"), ["list-br"])
        self.assertEqual(self.complete("add-br", "br1", "--", "del-p"), ["del-port"])

    def test_names_from_the_database(self):
        self.assertEqual(self.complete("del-br", "b"), ["br0"])
        self.assertEqual(self.complete("del-port", "br0", "p"), ["p0"])
        self.assertEqual(self.complete("set", "Bridge", "br"), ["br0"])
        self.assertEqual(self.complete("set", "Open_vSwitch", "."), ["."])

    def test_tables_columns_and_keys(self):
        self.assertEqual(self.complete("list", "Open"), ["Open_vSwitch"])
        self.assertEqual(self.complete("set", "Port", "p0", "vlan"), ["vlan_mode="])
        self.assertEqual(self.complete("get", "Port", "p0", "vlan"), ["vlan_mode"])
        self.assertEqual(self.complete("get", "Bridge", "br0", "external_ids:m"), ["external_ids:mine"])

    def test_nothing_is_said_without_a_database(self):
        self.server.stop()
        self.assertEqual(self.complete("del-br", "b"), [])


if __name__ == "__main__":
    harness.main(time_limit=120)
