"""Debian's Open vSwitch in userspace, in a scratch folder and a namespace of its own, with dummy ports allowed."""

import os

from harness import require_tool, run, wait_until


class OvsPeer:
    """ovsdb-server and ovs-vswitchd with a bridge br0 of datapath type netdev."""

    def __init__(self, lab, host):
        require_tool("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl")
        self.rundir = os.path.join(lab.scratch, f"ovs{len(os.listdir(lab.scratch))}")
        os.mkdir(self.rundir)
        env = dict(os.environ, OVS_RUNDIR=self.rundir, OVS_DBDIR=self.rundir, OVS_LOGDIR=self.rundir)
        database = f"{self.rundir}/conf.db"
        run("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
        self._socket = f"unix:{self.rundir}/db.sock"
        lab.spawn("ovsdb-server", database, f"--remote=p{self._socket}", f"--unixctl={self.rundir}/ovsdb.ctl",
                  env=env, log=f"{self.rundir}/ovsdb.log")  # fmt: skip
        wait_until(lambda: os.path.exists(f"{self.rundir}/db.sock"), 10, "ovsdb-server")
        self.vsctl("--no-wait", "init")
        self.control = f"{self.rundir}/vswitchd.ctl"
        self.process = lab.spawn(
            *host.command("ovs-vswitchd", self._socket, f"--unixctl={self.control}", "--disable-system",
                          "--enable-dummy"), env=env, log=f"{self.rundir}/vswitchd.log")  # fmt: skip
        wait_until(lambda: os.path.exists(self.control), 20, "ovs-vswitchd")
        self.vsctl("add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")

    def vsctl(self, *arguments):
        return run("ovs-vsctl", f"--db={self._socket}", "--timeout=20", *arguments)
