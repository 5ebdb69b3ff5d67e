"""The switches that Sluice is measured against, each started and undone by a Lab.

Each lives in a network namespace of its own (`host`), so that they do not meet and all of a
contender's links go with it. Every contender has the same face: `veth_ports(outer, outer)` joins two host ends of veth pairs,
`internal_ports()` makes two ports that are moved into namespaces, `counters()` says how many
packets and bytes went through each port, `pid` is the process that forwards (None: the kernel),
`settle()` is called once the first packets have passed.
"""

import contextlib
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from bridged import Bridged  # noqa: E402
from harness import read_file, require_tool, run, wait_until  # noqa: E402
from traffic import iperf3, offloads, ping, udp_segments  # noqa: E402

MIB = 1 << 20


class KernelBridge:
    """The kernel's own bridge: no user space in the path."""

    name = "kernel bridge"
    pid = None

    def __init__(self, lab, **_):
        self.host = lab.netns("h")
        self.host.run("ip", "link", "add", "bridge", "type", "bridge", "forward_delay", 0)
        self.host.silence("bridge")
        self.host.run("ip", "link", "set", "bridge", "up")
        self.ports = []

    def veth_ports(self, *interfaces):
        for interface in interfaces:
            self.host.run("ip", "link", "set", interface, "master", "bridge")
            self.ports.append(interface)

    def internal_ports(self):
        return None  # a bridge has no such ports

    def settle(self):
        pass

    def counters(self):
        return {port: self.host.counters(port) for port in self.ports}


@contextlib.contextmanager
def raised_socket_buffers(lab, size=32 * MIB):
    """net.core.rmem_default and wmem_default at `size`, and back afterwards, whatever happens."""
    keys = [f"/proc/sys/net/core/{key}" for key in ("rmem_default", "wmem_default")]
    before = {key: read_file(key) for key in keys}

    def write(key, value):
        with open(key, "w", encoding="ascii") as f:
            f.write(str(value))

    for key in keys:
        lab.defer(write, key, before[key])
        write(key, size)
    try:
        yield
    finally:
        for key in keys:
            write(key, before[key])


class Ovs:
    """Debian's Open vSwitch with its userspace datapath, in a scratch folder of its own.

    tso: other_config:userspace-tso-enable. raised: its sockets are opened while the default
    socket buffers are 32 MiB; the one it transmits by is opened with the first packet.
    """

    def __init__(self, lab, tso=True, raised=False):
        require_tool("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl")
        self._lab = lab
        self._raised = contextlib.ExitStack()
        if raised:
            self._raised.enter_context(raised_socket_buffers(lab))
        self.name = "OVS 32M" if raised else "OVS"
        self._dir = os.path.join(lab.scratch, f"ovs{len(os.listdir(lab.scratch))}")
        os.mkdir(self._dir)
        self._env = dict(os.environ, OVS_RUNDIR=self._dir, OVS_DBDIR=self._dir,
                         OVS_LOGDIR=self._dir)  # fmt: skip
        self.host = lab.netns("h")
        self.ports = []
        self._start(tso)

    def _start(self, tso):
        db = f"{self._dir}/conf.db"
        schema = "/usr/share/openvswitch/vswitch.ovsschema"
        run("ovsdb-tool", "create", db, schema)
        self._socket = f"unix:{self._dir}/db.sock"
        server = ["ovsdb-server", db, f"--remote=punix:{self._dir}/db.sock",
                  f"--pidfile={self._dir}/ovsdb.pid", f"--unixctl={self._dir}/ovsdb.ctl"]  # fmt: skip
        self._lab.spawn(*server, env=self._env, log=f"{self._dir}/ovsdb.log")
        wait_until(lambda: os.path.exists(f"{self._dir}/db.sock"), 10, "ovsdb-server")
        self.vsctl("--no-wait", "init")
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".",
                   f"other_config:userspace-tso-enable={str(tso).lower()}")  # fmt: skip
        daemon = ["ovs-vswitchd", self._socket, f"--pidfile={self._dir}/vswitchd.pid",
                  f"--unixctl={self._dir}/vswitchd.ctl", "--disable-system"]  # fmt: skip
        process = self._lab.spawn(*self.host.command(*daemon), env=self._env,
                                  log=f"{self._dir}/vswitchd.log")  # fmt: skip
        wait_until(lambda: os.path.exists(f"{self._dir}/vswitchd.ctl"), 20, "ovs-vswitchd")
        self.pid = process.pid
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")

    def settle(self):
        self._raised.close()

    def vsctl(self, *arguments):
        return run("ovs-vsctl", f"--db={self._socket}", "--timeout=20", *arguments)

    def appctl(self, *arguments):
        return run("ovs-appctl", "-t", f"{self._dir}/vswitchd.ctl", *arguments)

    def veth_ports(self, *interfaces):
        for interface in interfaces:
            self.vsctl("add-port", "br0", interface)
            self.ports.append(interface)
        wait_until(lambda: set(interfaces) <= set(self.appctl("dpctl/show").split()), 5,
                   f"{interfaces} in the datapath")  # fmt: skip

    def internal_ports(self):
        names = [self._lab.name("i"), self._lab.name("i")]
        for name in names:
            self.vsctl("add-port", "br0", name, "--", "set", "interface", name,
                       "type=internal")  # fmt: skip
            self.ports.append(name)
        return names

    def counters(self):
        """As the switch itself counts them: a super-packet is one packet."""
        text = self.appctl("dpctl/show", "-s")
        counters = {}
        for block in re.split(r"\n  port \d+: ", text)[1:]:
            name = block.split()[0]
            if name in self.ports:
                rx, tx = re.findall(r"[RT]X packets:(\d+)", block)[:2]
                rx_bytes, tx_bytes = re.findall(r"[RT]X bytes:(\d+)", block)[:2]
                counters[name] = {"rx_packets": int(rx), "rx_bytes": int(rx_bytes),
                                  "tx_packets": int(tx), "tx_bytes": int(tx_bytes)}  # fmt: skip
        return counters


class SluiceContender(Bridged):
    """Sluice with the face of the other contenders: a bridge and NORMAL in the path.

    kernel: other_config:kernel-forwarding. Without it every packet goes through user space.
    """

    def __init__(self, lab, tso=True, kernel=True, **options):
        self._kernel = kernel
        super().__init__(lab, host=lab.netns("h"), tso=tso, **options)
        if not kernel:
            self.name = "Sluice, user"

    def prepare(self):
        super().prepare()
        self.set_switch("kernel-forwarding", str(self._kernel).lower())

    def veth_ports(self, *interfaces):
        for interface in interfaces:
            self.add_port(interface)

    def internal_ports(self):
        names = [self._lab.name("i"), self._lab.name("i")]
        for name in names:
            self.add_port(name, kind="internal")
        return names

    def settle(self):
        pass

    def counters(self):
        """As the switch itself counts them: a super-packet is one packet."""
        return {
            port: {"rx_packets": n["rx_packets"], "rx_bytes": n["rx_bytes"],
                   "tx_packets": n["tx_packets"], "tx_bytes": n["tx_bytes"]}
            for port, n in self.port_stats().items()
        }  # fmt: skip


class Rig:
    """Two namespaces joined by a contender: a and b, 10.0.0.1 and .2, fd00::1 and ::2."""

    ADDRESS = {"a": {4: "10.0.0.1", 6: "fd00::1"}, "b": {4: "10.0.0.2", 6: "fd00::2"}}

    def __init__(self, lab, switch, internal=False, mtu=1500):
        self.lab, self.switch, self.name = lab, switch, switch.name
        self._internal = internal
        self.a, self.b = lab.netns("a"), lab.netns("b")
        if internal:
            self.links = switch.internal_ports()
            self.ports = self.links
            for link, namespace in zip(self.links, (self.a, self.b)):
                switch.host.run("ip", "link", "set", link, "netns", namespace.name)
        else:
            self.links = ["eth0", "eth0"]
            self.ports = [lab.veth(n, host=switch.host, mtu=mtu) for n in (self.a, self.b)]
            switch.veth_ports(*self.ports)
        for end, link, namespace in zip("ab", self.links, (self.a, self.b)):
            namespace.address(link, self.ADDRESS[end][4] + "/24", self.ADDRESS[end][6] + "/64")
        self.wait_for_packets()

    def wait_for_packets(self):
        for family in (4, 6):
            wait_until(lambda f=family: ping(self.a, self.ADDRESS["b"][f], count=1, timeout=1), 15,
                       f"a ping over IPv{family} through {self.name}")  # fmt: skip
        self.switch.settle()

    def offloads(self, **features):
        for link, namespace in zip(self.links, (self.a, self.b)):
            offloads(namespace, link, **features)

    def tcp(self, seconds, streams=1, family=4, reverse=False):
        client, server, target = (self.b, self.a, "a") if reverse else (self.a, self.b, "b")
        return iperf3(self.lab, client, server, self.ADDRESS[target][family], seconds=seconds,
                      streams=streams, switch_pid=self.switch.pid)  # fmt: skip

    def udp(self, seconds, family=4, reverse=False, gbps=None):
        client, server, target = (self.b, self.a, "a") if reverse else (self.a, self.b, "b")
        return udp_segments(self.lab, client, server, self.ADDRESS[target][family],
                            seconds=seconds, switch_pid=self.switch.pid, gbps=gbps)  # fmt: skip

    def counters(self):
        """Per port, as the switch counts. A tap in a namespace is out of Open vSwitch's sight:
        there the taps count, for every contender, with directions seen from the switch."""
        if not self._internal:
            return self.switch.counters()
        turned = {"rx": "tx", "tx": "rx"}
        return {
            link: {turned[key[:2]] + key[2:]: n for key, n in namespace.counters(link).items()}
            for link, namespace in zip(self.links, (self.a, self.b))
        }

    def packet_sizes(self, before, after):
        """Mean bytes per packet that entered and left, a to b."""
        def mean(port, direction):  # fmt: skip
            packets = after[port][direction + "_packets"] - before[port][direction + "_packets"]
            size = after[port][direction + "_bytes"] - before[port][direction + "_bytes"]
            return size / packets if packets else 0.0, size

        size_in, bytes_in = mean(self.ports[0], "rx")
        size_out, _ = mean(self.ports[1], "tx")
        return {"bytes_per_packet_in": size_in, "bytes_per_packet_out": size_out,
                "bytes_through": bytes_in}  # fmt: skip
