#!/usr/bin/python3
"""Files arrive as they were sent (SHA-256), while userspace-tso-enable is on, off, and toggled."""

import threading
import time

import harness
from case import SwitchCase
from traffic import offloads

MIB = 1 << 20
# Around the boundaries of a payload, a page, a jumbo frame and a super-packet.
SIZES = [1, 8, 63, 64, 65, 1447, 1448, 1449, 1460, 4080, 4096, 9000, 65535, 65536, MIB + 1]


class Toggler:
    """Calls `toggle(on)` every 100 ms, on a thread, until the block ends."""

    def __init__(self, toggle, interval=0.1):
        self._toggle, self._interval = toggle, interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.count = 0
        self.error = None

    def _run(self):
        try:
            while not self._stop.wait(self._interval):
                self.count += 1
                self._toggle(self.count % 2 == 0)
        except Exception as error:  # shown by the test, in its own thread
            self.error = error

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


class Files(SwitchCase):
    def test_sizes(self):
        for seed, size in enumerate(SIZES):
            for family in (4, 6):
                for reverse in (False, True):
                    self.assert_transferred(size, family, reverse, seed)

    def test_64_mib(self):
        for family in (4, 6):
            for reverse in (False, True):
                self.assert_transferred(64 * MIB, family, reverse)

    def test_64_mib_of_mtu_sized_frames(self):
        """Coalesced on receive, and either sent as super-packets or as what came."""
        for namespace in (self.a, self.b):
            offloads(namespace, tso="off", gso="off")
        for family in (4, 6):
            self.assert_transferred(64 * MIB, family)


class FilesTsoOff(Files):
    tso = False


class Toggled(SwitchCase):
    def assert_transferred_while(self, toggle):
        for family, reverse in ((4, False), (6, True)):
            toggles = 0
            deadline = time.monotonic() + 60
            while toggles < 20 and time.monotonic() < deadline:
                with Toggler(toggle) as toggler:
                    self.assert_transferred(256 * MIB, family, reverse, seed=toggles)
                self.assertIsNone(toggler.error)
                toggles += toggler.count
            self.assertGreaterEqual(toggles, 20, "toggles while files were under way")

    def test_global_switch(self):
        self.assert_transferred_while(self.switch.tso)

    def test_one_port(self):
        self.assert_transferred_while(
            lambda on: self.switch.set_port(self.ports[0], userspace_tso_enable=str(on).lower()))

    def test_offloads_of_the_namespace(self):
        """The peer's own features change under traffic: ethtool in the namespace."""
        self.assert_transferred_while(
            lambda on: offloads(self.b, tso="on" if on else "off", gso="on" if on else "off"))


if __name__ == "__main__":
    harness.main(time_limit=540)
