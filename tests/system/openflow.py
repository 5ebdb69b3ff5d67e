"""OpenFlow from outside: Debian's ovs-ofctl against the daemon, and two namespaces behind its bridge."""

import os
import re

from bridged import BRIDGE, Bridged
from case import SwitchCase
from harness import CommandError, require_tool, run

_CHANGING = re.compile(r"cookie=0x0, |duration=[0-9.]+s, |(idle|hard)_age=\d+, |n_packets=\d+, |n_bytes=\d+, "
                       r"|\(xid=0x[0-9a-f]+\)")  # fmt: skip


class OpenFlowSwitch(Bridged):
    """A bridge, and ovs-ofctl for it."""

    @property
    def target(self):
        return f"unix:{self.rundir}/{BRIDGE}.mgmt"

    def ofctl(self, command, *arguments, version=None, timeout=30):
        options = [f"-O{version}"] if version else []
        return run("ovs-ofctl", *options, "--timeout=20", command, self.target, *arguments, timeout=timeout)

    def refused(self, command, *arguments, version=None):
        """What ovs-ofctl says of an error that it got."""
        try:
            self.ofctl(command, *arguments, version=version)
        except CommandError as error:
            return str(error)
        raise AssertionError(f"ovs-ofctl {command} {arguments} was not refused")

    def flows(self, *arguments, version=None):
        """The lines of dump-flows, without what changes by itself."""
        return sorted(stable(line) for line in self.ofctl("dump-flows", *arguments, version=version).splitlines()
                      if "actions=" in line)  # fmt: skip

    def packets(self, match):
        """n_packets of the flows that match."""
        shown = self.ofctl("dump-aggregate", match)
        return int(re.search(r"packet_count=(\d+)", shown)[1])


def stable(line):
    return _CHANGING.sub("", line).strip()


class OpenFlowCase(SwitchCase):
    """a - br0 - b, ports 1 and 2, with NORMAL as every new bridge has it."""

    def make_switch(self):
        require_tool("ovs-ofctl")
        return OpenFlowSwitch(self.lab, tso=self.tso)

    def setUp(self):
        super().setUp()
        self.one, self.two = (self.switch.ports[port] for port in self.ports)

    def scratch(self, name, text):
        path = os.path.join(self.lab.scratch, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path
