#!/usr/bin/python3
"""Files of 1 GiB arrive as they were sent. A script of its own: a sanitizer makes it long."""

import harness
from case import SwitchCase
from files_test import MIB, Toggler


class Gigabyte(SwitchCase):
    def test_1_gib(self):
        """With TSO on, off, and toggled meanwhile, spread over both families and directions."""
        self.assert_transferred(1024 * MIB, 4, reverse=False)
        self.assert_transferred(1024 * MIB, 6, reverse=True)
        with Toggler(self.switch.tso) as toggler:
            self.assert_transferred(1024 * MIB, 4, reverse=True)
            self.assert_transferred(1024 * MIB, 6, reverse=False)
        self.assertIsNone(toggler.error)
        self.assertGreaterEqual(toggler.count, 10, "toggles while the files were under way")
        self.switch.tso(False)
        self.assert_transferred(1024 * MIB, 6, reverse=False)


if __name__ == "__main__":
    harness.main(time_limit=540)
