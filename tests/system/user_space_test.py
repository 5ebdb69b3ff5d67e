#!/usr/bin/python3
"""The tests of forwarding and of files once more, every packet on the way through user space."""

import files_test
import forwarding_test
import harness


class UserSpace:
    def setUp(self):
        super().setUp()
        self.switch.appctl("sluice/kernel-forwarding", "off")
        self.before = self.switch.appctl("sluice/kernel-flows", as_json=True)["packets"]

    def tearDown(self):
        if self.switch.process.poll() is None:
            now = self.switch.appctl("sluice/kernel-flows", as_json=True)["packets"]
            self.assertEqual(now, self.before, "the kernel forwarded though it must not")
        super().tearDown()


class Forwarding(UserSpace, forwarding_test.Forwarding):
    pass


class Files(UserSpace, files_test.Files):
    pass


class Toggled(UserSpace, files_test.Toggled):
    pass


if __name__ == "__main__":
    harness.main(400)
