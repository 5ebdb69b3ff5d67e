#!/usr/bin/python3
"""vsctl does what Debian's ovs-vsctl does: same output, exit code, message and database, line by line."""

import os
import re
import shlex
import subprocess
import time
import unittest

import harness
from harness import Lab
from sluice import program
from vsctl_lines import Generator, examples
from vsctl_peers import peers

# Where we say more, or something clearer, on purpose: our message is matched by the first, theirs by the second.
CLEARER = [
    (r"syntax error at \".*\" expecting \"=\"", r"syntax error at \""),
    (r"\"add\" operation would put", r"constraint violation|set must have"),
    (r"escapes are those of JSON", r""),
]

WRONG_EXAMPLES = [
    ["del-br", "br0"],
    # A name of "get" that is used before it.
    shlex.split("-- set Bridge br0 mirrors=@m -- --id=@eth0 get Port eth0 -- --id=@eth0 get Port eth0"),
]


def message(stderr):
    """The part of what was said that both have, with a quoted command's options in one order: Debian's is its hash
    table's."""
    ordered = re.sub(r'(?<=")(--\S+ )+', lambda options: " ".join(sorted(options[0].split())) + " ", stderr)
    return re.sub(r"; did you mean .*", "", ordered)


class CompareTest(unittest.TestCase):
    seed = int(os.environ.get("SEED", int(time.time())))
    ours = False  # whether vsctl talks to Sluice's own server

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.vsctl, self.reference = peers(self.lab, ours=self.ours)

    def compare(self, line, history):
        code, stdout, stderr, rows = self.vsctl.run(line)
        expected_code, expected_stdout, expected_stderr, expected_rows = self.reference.run(line)
        where = "\n".join(shlex.join(past) for past in [*history, line])
        self.assertEqual(code, expected_code, f"{where}\n{stderr}\n{expected_stderr}")
        self.assertEqual(rows, expected_rows, where)
        self.assertEqual(stdout, expected_stdout, where)
        if any(re.search(a, stderr) and re.search(b, expected_stderr) for a, b in CLEARER):
            return code
        self.assertEqual(message(stderr), message(expected_stderr), where)
        return code

    def test_examples_of_the_manual(self):
        history = []
        for line in examples():
            code = self.compare(line, history)
            # The manual's own examples must do something: only deleting what is gone, and a name used
            # before it is defined, are errors.
            self.assertEqual(code, 1 if line in WRONG_EXAMPLES else 0, shlex.join(line))
            history.append(line)

    def test_random_lines(self):
        print(f"seed {self.seed}", flush=True)
        generator = Generator(self.seed)
        for scenario in range(30):
            self.vsctl.start_afresh()
            self.reference.start_afresh()
            history = []
            for line in [["add-br", "br0"], *(generator.line() for _ in range(14))]:
                with self.subTest(seed=self.seed, scenario=scenario, line=len(history)):
                    self.compare(line, history)
                history.append(line)

    def test_lists_for_completion(self):
        for option in ("--commands", "--options"):
            said = [sorted(subprocess.run([command, option], capture_output=True, text=True,
                                          check=True).stdout.splitlines())
                    for command in (program("vsctl"), "ovs-vsctl")]  # fmt: skip
            self.assertEqual(*said)


class OwnServerCompareTest(CompareTest):
    """The same with vsctl on Sluice's own server: it and Debian's hold the same then."""

    ours = True


if __name__ == "__main__":
    harness.main(time_limit=500)
