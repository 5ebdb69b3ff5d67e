"""Command lines for vsctl: the manual's examples, and random ones."""

import random
import shlex

# ovs-vsctl(8), EXAMPLES and CONFIGURATION COOKBOOK, in an order in which they work.
EXAMPLES = """
add-br br0
add-port br0 eth0
-- --if-exists del-br br0
del-br br0
add-br br0 -- add-port br0 eth0
-- set port eth0 qos=@newqos -- --id=@newqos create qos type=linux-htb other-config:max-rate=1000000 queues:0=@newqueue -- --id=@newqueue create queue other-config:min-rate=1000000 other-config:max-rate=1000000
add-port br0 vlan10 tag=10 -- set Interface vlan10 type=internal
add-port br0 gre0 -- set Interface gre0 type=gre options:remote_ip=1.2.3.4
add-port br0 eth1 -- add-port br0 eth2
-- --id=@eth0 get Port eth0 -- --id=@eth1 get Port eth1 -- --id=@eth2 get Port eth2 -- --id=@m create Mirror name=mymirror select-dst-port=@eth0,@eth1 select-src-port=@eth0,@eth1 output-port=@eth2 -- set Bridge br0 mirrors=@m
-- set Bridge br0 mirrors=@m -- --id=@eth0 get Port eth0 -- --id=@eth0 get Port eth0
-- --id=@rec get Mirror mymirror -- remove Bridge br0 mirrors @rec
clear Bridge br0 mirrors
-- set Port eth0 qos=@newqos -- set Port eth1 qos=@newqos -- --id=@newqos create QoS type=linux-htb other-config:max-rate=1000000000 queues=0=@q0,1=@q1 -- --id=@q0 create Queue other-config:min-rate=100000000 other-config:max-rate=100000000 -- --id=@q1 create Queue other-config:min-rate=500000000
clear Port eth1 qos
-- destroy QoS eth0 -- clear Port eth0 qos -- clear Port eth1 qos
list Queue
-- --all destroy QoS
-- --all destroy Queue
set Interface eth0 cfm_mpid=1
clear Interface eth0 cfm_mpid
-- set Bridge br0 netflow=@nf -- --id=@nf create NetFlow targets=\\"192.168.0.34:5566\\" active-timeout=30
set NetFlow br0 active_timeout=60
clear Bridge br0 netflow
-- --id=@s create sFlow agent=eth1 target=\\"10.0.0.1:6343\\" header=128 sampling=64 polling=10 -- set Bridge br0 sflow=@s
-- clear Bridge br0 sflow
-- set Bridge br0 ipfix=@i -- --id=@i create IPFIX targets=\\"192.168.0.34:4739\\" obs_domain_id=123 obs_point_id=456 cache_active_timeout=60 cache_max_flows=13 other_config:enable-input-sampling=false other_config:enable-tunnel-sampling=true
clear Bridge br0 ipfix
set Bridge br0 stp_enable=true
set Bridge br0 other_config:stp-priority=0x7800
set Port eth0 other_config:stp-path-cost=10
set Bridge br0 stp_enable=false
set Bridge br0 mcast_snooping_enable=true
set Bridge br0 other_config:mcast-snooping-aging-time=300
set Bridge br0 other_config:mcast-snooping-table-size=2048
set Bridge br0 other_config:mcast-snooping-disable-flood-unregistered=true
set Port eth1 other_config:mcast-snooping-flood=true
set Port eth1 other_config:mcast-snooping-flood-reports=true
set Bridge br0 mcast_snooping_enable=false
set Bridge br0 rstp_enable=true
set Bridge br0 other_config:rstp-address=00:aa:aa:aa:aa:aa
set Bridge br0 other_config:rstp-priority=28672
set Bridge br0 other_config:rstp-ageing-time=1000
set Bridge br0 other_config:rstp-force-protocol-version=0
set Bridge br0 other_config:rstp-max-age=10
set Bridge br0 other_config:rstp-forward-delay=15
set Bridge br0 other_config:rstp-transmit-hold-count=7
set Port eth0 other_config:rstp-enable=true
set Port eth0 other_config:rstp-enable=false
set Port eth0 other_config:rstp-port-priority=32
set Port eth0 other_config:rstp-port-num=3
set Port eth0 other_config:rstp-path-cost=150
set Port eth0 other_config:rstp-port-admin-edge=true
set Port eth0 other_config:rstp-port-auto-edge=true
set Port eth0 other_config:rstp-admin-p2p-mac=1
set Port eth0 other_config:rstp-admin-port-state=false
set Port eth0 other_config:rstp-port-mcheck=true
set Bridge br0 rstp_enable=false
set bridge br0 protocols=OpenFlow10,OpenFlow12,OpenFlow13
-- --id=@ft create Flow_Table flow_limit=100 overflow_policy=refuse -- set Bridge br0 flow_tables=0=@ft
-- --id=@ft create Flow_Table flow_limit=100 overflow_policy=evict groups='"NXM_OF_IN_PORT[]"' -- set Bridge br0 flow_tables:0=@ft
set Open_vSwitch . other_config:userspace-tso-enable=true
wait-until bridge br0 -- get bridge br0 datapath_id
find bridge flood-vlans{<=}1,2
set Bridge br0 external-ids:long="a value of more than forty characters in one column"
--max-column-width=40 -f table --columns=name,external_ids,stp_enable list Bridge
--max-column-width=9 -f table --columns=name,external_ids,stp_enable list Bridge
comment any words
show
emer-reset
show
"""


def examples():
    return [shlex.split(line) for line in EXAMPLES.strip().splitlines()]


BRIDGES = ["br0", "br1", "fb7", "fb9"]
PORTS = ["p0", "p1", "p2", "p3", "bond0"]
TABLES = ["bridge", "Bridge", "port", "interface", "Open_vSwitch", "qos", "queue", "mirror", "br", "i",
          "po", "q", "controller", "manager", "ssl", "flow_table", "netflow"]  # fmt: skip
COLUMNS = ["name", "tag", "trunks", "external_ids", "other-config", "external_ids:a", "fail_mode",
           "other_config:k", "type", "options", "options:remote_ip", "_uuid", "protocols", "e",
           "vlan_mode", "cvlans", "mtu_request", "stp_enable", "ports", "nosuch", "tags"]  # fmt: skip
SETTINGS = ["tag=7", "tag=[]", "tag=9", "trunks=1,2,3", "trunks=[4-6]", "trunks=[]", "external_ids:a=b",
            "external_ids:a=c", "external-ids={a=x,b=y}", 'other_config:"a b"="c d"', "other_config:k=true",
            "other_config={}", "type=internal", 'type=""', "options:remote_ip=1.2.3.4", "options:key=a,b",
            "fail_mode=secure", "fail_mode=sec", "protocols=OpenFlow10,OpenFlow13", "vlan_mode=access",
            "mtu_request=1400", "mtu_request=x", "tag=4096", "stp_enable=yes", "stp_enable=maybe",
            "cvlans=1 2", "ofport_request=7", 'external_ids:z="\\u00e9\\n"', "name=other", "tag=1,2",
            "tag", "tag:x=1", "options=a", "trunks=3-1", 'datapath_type=""', "datapath_type=netdev",
            "flood_vlans=5", "statistics:a=1", "tag=", "rate=1"]  # fmt: skip
CONDITIONS = ["tag=7", "tag!=7", "tag>5", "tag{=}[]", "name=br0", "name=p1", "external_ids:a=b",
              "external_ids:a!=b", "external_ids:a{!=}b", "external_ids:a{in}b,c", "trunks{>=}1,2",
              "trunks{<}1,2,3,4", "trunks<1,2,3", "external_ids{>=}a=b", "trunks{not-in}1,9",
              "other_config{=}{}", "type=internal", "stp_enable=false", "name==x", "name", "nosuch=1",
              "fail_mode=secure", "protocols{in}OpenFlow10,OpenFlow13", "mtu_request>=1"]  # fmt: skip
FORMATS = [["--format=table"], ["-f", "csv"], ["-f", "json"], ["-f", "html"], ["-d", "bare"], ["-d", "json"],
           ["--bare"], ["--no-headings", "-f", "table"], ["-f", "json", "--pretty"], ["--oneline"],
           []]  # fmt: skip


class Generator:
    """Random command lines, sensible and otherwise, on few names, so that they meet."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def line(self):
        commands = [self._command() for _ in range(self._random.choice([1, 1, 1, 2, 3]))]
        # After either of these Debian's shows the port as it was, or aborts: whatever reads it is left out.
        for number, command in enumerate(commands):
            if {"add-bond-iface", "del-bond-iface"} & set(command):
                commands = commands[: number + 1]
                break
        words = list(self._pick(FORMATS))
        for number, command in enumerate(commands):
            words += ["--"] * (number > 0 or self._random.random() < 0.9) + command
        return words

    def _pick(self, choices):
        return self._random.choice(choices)

    def _some(self, choices, least=1, most=3):
        return [self._pick(choices) for _ in range(self._random.randint(least, most))]

    def _maybe(self, *options):
        return [option for option in options if self._random.random() < 0.4]

    def _record(self, table):
        if table.lower().startswith("o"):
            return "."
        return self._pick(BRIDGES if table.lower().startswith("br") else BRIDGES + PORTS)

    def _command(self):
        kind = self._pick([self._bridge, self._port, self._query, self._write, self._write, self._other])
        return kind()

    def _bridge(self):
        bridge = self._pick(BRIDGES)
        fake = ["br0", bridge[2:]] if bridge.startswith("fb") and self._random.random() < 0.8 else []
        return self._pick([
            [*self._maybe("--may-exist"), "add-br", bridge, *fake],
            [*self._maybe("--may-exist"), "add-br", bridge, *fake],
            [*self._maybe("--if-exists"), "del-br", bridge],
            ["list-br"], ["--real", "list-br"], ["--fake", "list-br"],
            ["br-to-vlan", bridge], ["br-to-parent", bridge],
            ["br-set-external-id", bridge, *self._some(["a", "b", "x y"], 1, 2)],
            ["br-get-external-id", bridge, *self._some(["a", "b", "x y"], 0, 1)],
        ])  # fmt: skip

    def _port(self):
        bridge, port = self._pick(BRIDGES), self._pick(PORTS)
        interfaces = self._random.sample(["e0", "e1", "e2", "p1"], 2)
        return self._pick([
            [*self._maybe("--may-exist"), "add-port", bridge, port, *self._some(SETTINGS, 0, 1)],
            [*self._maybe("--may-exist"), "add-port", bridge, port],
            [*self._maybe("--may-exist", "--fake-iface"), "add-bond", bridge, "bond0", *interfaces],
            [*self._maybe("--may-exist"), "add-bond-iface", port, self._pick(["e0", "e3", "p1"])],
            [*self._maybe("--if-exists"), "del-bond-iface", *self._some(PORTS, 0, 1), "e0"],
            [*self._maybe("--if-exists", "--with-iface"), "del-port", port],
            [*self._maybe("--if-exists", "--with-iface"), "del-port", bridge, self._pick([port, "e1"])],
            ["list-ports", bridge], ["list-ifaces", bridge], ["port-to-br", port],
            ["iface-to-br", self._pick([port, "e0", "e1"])],
        ])  # fmt: skip

    def _query(self):
        table = self._pick(TABLES)
        columns = ",".join(self._some(["name", "_uuid", "external_ids", "tag", "other_config"]))
        return self._pick([
            [*self._maybe(f"--columns={columns}"), "list", table],
            [*self._maybe("--if-exists", f"--columns={columns}"), "list", table, self._record(table)],
            ["--columns=name", "find", self._pick(["port", "bridge", "interface"]), *self._some(CONDITIONS, 0, 2)],
            [*self._maybe("--if-exists"), "get", table, self._record(table), *self._some(COLUMNS)],
            ["show"],
        ])  # fmt: skip

    def _write(self):
        table = self._pick(["bridge", "port", "interface", "interface", "Open_vSwitch", "queue"])
        record, exists = self._record(table), self._maybe("--if-exists")
        elements = self._some(["a=b", "c=d,e=f", "7", "1-3", "a", '"x y"=z', "OpenFlow14"])
        column = self._pick(["external_ids", "other_config", "trunks", "tag", "protocols", "name", "ports"])
        return self._pick([
            [*exists, "set", table, record, *self._some(SETTINGS)],
            [*exists, "set", table, record, self._pick(SETTINGS)],
            [*exists, "add", table, record, column, *elements],
            [*exists, "remove", table, record, column, *elements],
            [*exists, "clear", table, record, *self._some(COLUMNS, 1, 2)],
            ["create", self._pick(["qos", "queue"]), self._pick(["type=x", "dscp=7", "external_ids:a=b"])],
            ["--id=@q", "create", "queue", "dscp=5", "--", "--id=@s", "create", "qos", "type=t",
             f"queues:{self._pick('12')}=@q", "--", "set", "port", self._pick(PORTS), "qos=@s"],
        ])  # fmt: skip

    def _other(self):
        bridge = self._pick(BRIDGES)
        targets = self._some(["tcp:1.2.3.4", "ssl:1.2.3.4:6653", "ptcp:6640", "unix:/x", "odd"], 1, 2)
        return self._pick([
            ["set-controller", bridge, *targets], ["get-controller", bridge], ["del-controller", bridge],
            ["--inactivity-probe=500", "set-controller", bridge, "tcp:1.1.1.1"],
            ["set-fail-mode", bridge, self._pick(["secure", "standalone", "odd"])],
            ["get-fail-mode", bridge], ["del-fail-mode", bridge],
            ["set-manager", self._pick(targets)], ["get-manager"], ["del-manager"],
            [*self._maybe("--bootstrap"), "set-ssl", "/k", "/c", "/ca"], ["get-ssl"], ["del-ssl"],
            ["add-aa-mapping", bridge, "7", self._pick("12")], ["del-aa-mapping", bridge, "7", "1"],
            ["get-aa-mapping", bridge], ["emer-reset"], ["comment", "a", "b"], ["init"],
            ["--all", "destroy", self._pick(["qos", "mirror"])], [*self._maybe("--if-exists"), "destroy", "qos", "p0"],
            ["br-exists", bridge], ["wait-until", "Open_vSwitch", "."], ["no-such-command"], ["add-br"],
            ["--no-such", "list-br"], ["list-br", "too", "many"],
        ])  # fmt: skip
