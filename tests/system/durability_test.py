#!/usr/bin/python3
"""The database outlives the daemon: kill -9 at any moment, a full disk, a read-only file system."""

import os
import random
import threading
import time

import harness
from bridged import Bridged
from case import BridgeCase
from harness import CommandError, run
from traffic import ping

KILLS = 12


class Killed(BridgeCase):
    def test_every_acknowledged_transaction_is_there(self):
        """Transactions go on in threads; what vsctl said was done must be found after the kill."""
        seed = random.randrange(1 << 32)
        print(f"seed {seed}, {KILLS} kills")
        chance = random.Random(seed)
        acknowledged = {}
        for kill in range(KILLS):
            stop = threading.Event()
            threads = [threading.Thread(target=self.work, args=(stop, acknowledged, kill, n))
                       for n in range(3)]  # fmt: skip
            flood = self.lab.spawn(*self.a.command("ping", "-f", self.ADDRESS["b"][4]))
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.05, 1.0))
            self.switch.kill()
            stop.set()
            for thread in threads:
                thread.join()
            harness.end_process(flood)
            self.assert_accepted_by_ovsdb_tool()
            begin = time.monotonic()
            self.switch.start()
            self.wait_for_packets(timeout=10)
            print(f"kill {kill + 1}: traffic again {time.monotonic() - begin:.2f} s after start")
            there = self.switch.get("Open_vSwitch", ".", "external_ids")
            for key, value in acknowledged.items():
                self.assertEqual(there.get(key), value, f"{key}, seed {seed}, kill {kill}")
        self.assertGreater(len(acknowledged), KILLS)

    def work(self, stop, acknowledged, kill, number):
        for count in range(10_000):
            if stop.is_set():
                return
            key, value = f"k{kill}-{number}-{count % 20}", str(count)
            try:
                self.switch.vsctl("--no-wait", "set", "Open_vSwitch", ".",
                                  f"external_ids:{key}={value}", timeout=2)  # fmt: skip
            except CommandError:
                # Killed before the answer: the transaction may or may not have happened.
                acknowledged.pop(key, None)
                return
            acknowledged[key] = value

    def assert_accepted_by_ovsdb_tool(self):
        """A torn last record is what a kill may leave; the daemon cuts it at the next start."""
        text = run("ovsdb-tool", "db-version", os.path.join(self.switch.rundir, "conf.db"))
        self.assertRegex(text.strip(), r"^\d+\.\d+\.\d+$")


class SmallDisk(Bridged):
    """The database on a file system of its own, so that it can be filled and made read-only."""

    def start(self):
        self.disk = os.path.join(self.rundir, "disk")
        if not os.path.isdir(self.disk):
            os.mkdir(self.disk)
            run("mount", "-t", "tmpfs", "-o", "size=256k", "none", self.disk)
            self._lab.defer(run, "umount", "-l", self.disk, check=False)
        self.env["OVS_DBDIR"] = self.disk
        super().start()


class Disk(BridgeCase):
    def make_switch(self):
        return SmallDisk(self.lab)

    def set_large(self, number):
        self.switch.vsctl("set", "Open_vSwitch", ".", f"external_ids:large{number}={'x' * 20000}")

    def assert_goes_on(self):
        self.assertEqual(len(ping(self.a, self.ADDRESS["b"][4], count=5, interval=0.05)), 5)

    def test_full(self):
        written = []
        with self.assertRaises(CommandError) as caught:
            for number in range(40):
                self.set_large(number)
                written.append(number)
        self.assertRegex(str(caught.exception), "(?i)no space")
        self.assert_goes_on()
        there = self.switch.get("Open_vSwitch", ".", "external_ids")
        self.assertEqual(sorted(there), sorted(f"large{n}" for n in written))
        run("mount", "-o", "remount,size=4m", self.switch.disk)
        self.set_large(99)
        self.assert_survives(["large99"])

    def assert_survives(self, keys):
        self.switch.kill()
        self.switch.start()
        there = self.switch.get("Open_vSwitch", ".", "external_ids")
        for key in keys:
            self.assertIn(key, there)
        self.wait_for_packets()

    def test_started_on_a_read_only_file_system(self):
        self.switch.stop()
        run("mount", "-o", "remount,ro", self.switch.disk)
        with self.assertRaises(RuntimeError) as caught:
            self.switch.start()
        self.assertRegex(str(caught.exception), "(?i)read-only")
        run("mount", "-o", "remount,rw", self.switch.disk)
        self.switch.start()
        self.wait_for_packets()


if __name__ == "__main__":
    harness.require_tool("ovsdb-tool")
    harness.main(time_limit=540)
