#!/usr/bin/python3
"""Debian's OVSDB clients, which we did not write, use our server."""

import json
import os
import re
import select
import socket
import subprocess
import unittest

import harness
from harness import CommandError, Lab, run, wait_until
from ovsdb_peer import UUID, DebianServer, OurServer

NOTHING = "00000000-0000-0000-0000-000000000000"  # as the last known transaction

# A switch's configuration, one command of ovs-vsctl each.
CONFIGURATION = """
--may-exist add-br br0
add-port br0 eth0 tag=10 -- set Interface eth0 type=dummy options:a=b
add-port br0 eth1 trunks=1,2,3 vlan_mode=native-tagged
add-bond br0 bond0 eth2 eth3 bond_mode=balance-slb
add-br br0.20 br0 20
set Bridge br0 stp_enable=true other_config:hwaddr="02:00:00:00:00:01" fail_mode=secure
set-controller br0 tcp:127.0.0.1:6653 ssl:127.0.0.1:6654
br-set-external-id br0 key value
set Open_vSwitch . other_config:pmd-cpu-mask=3 external_ids:system-id=here
-- --id=@m create Mirror name=m0 select_all=true -- add Bridge br0 mirrors @m
add Port eth1 trunks 7
remove Port eth1 trunks 2
clear Bridge br0 fail_mode
--if-exists del-port br0 nothing
-- --id=@q create QoS type=linux-htb queues:0=@q0 -- --id=@q0 create Queue other_config:max-rate=1000 -- set Port eth0 qos=@q
set Interface eth0 mtu_request=9000 ingress_policing_rate=100
add-br br1
del-br br1
del-port bond0
set-ssl /a/key /a/cert /a/ca
""".strip().splitlines()


class DebianClients(unittest.TestCase):
    def setUp(self):
        harness.require_tool("ovs-vsctl", "ovsdb-client", "ovsdb-tool", "ovsdb-server")
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.server = OurServer(self.lab)

    def background(self, *words):
        """A command of ovsdb-client that goes on; its output is read line by line."""
        process = subprocess.Popen(["ovsdb-client", words[0], self.server.target, *words[1:]],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)  # fmt: skip
        self.lab.defer(process.stdout.close)
        self.lab.defer(harness.end_process, process)
        return process

    def test_configuration_is_the_same_as_in_debians_server(self):
        debian = DebianServer(self.lab)
        dumps = []
        for server in (self.server, debian):
            server.vsctl("init")
            for command in CONFIGURATION:
                server.vsctl(*command.split())
            dump = json.loads(server.ovsdb_client("dump", "Open_vSwitch", "--format=json")
                              .replace("\n", "").replace("}{", "},{").join("[]"))  # fmt: skip
            dumps.append(sorted(self.without_uuids(table) for table in dump))
            self.assertIn("Bridge br0", server.vsctl("show"))
        self.assertEqual(*dumps)

    @staticmethod
    def without_uuids(table):
        """A dumped table's text, without row order, set order and UUIDs."""
        def plain(value):
            if isinstance(value, list):
                return sorted((plain(v) for v in value), key=json.dumps)
            return UUID.sub("<uuid>", value) if isinstance(value, str) else value

        rows = sorted(json.dumps([plain(v) for v in row]) for row in table["data"])
        return json.dumps([table["caption"], table["headings"], rows])

    def test_ovsdb_client_asks(self):
        server = self.server
        self.assertEqual(server.ovsdb_client("list-dbs").split(), ["Open_vSwitch", "_Server"])
        self.assertEqual(json.loads(server.ovsdb_client("get-schema", "Open_vSwitch"))["version"],
                         run("ovsdb-tool", "db-version", server.database).strip())  # fmt: skip
        self.assertRegex(server.ovsdb_client("get-schema-version", "Open_vSwitch"), r"^\d+\.\d+\.\d+\n$")
        self.assertIn("Interface", server.ovsdb_client("list-tables", "Open_vSwitch"))
        self.assertIn("mtu_request", server.ovsdb_client("list-columns", "Open_vSwitch", "Interface"))
        run("ovsdb-client", "wait", server.target, "Open_vSwitch", "connected", "--timeout=10")
        insert = '["Open_vSwitch",{"op":"insert","table":"Open_vSwitch","row":{"next_cfg":5}}]'
        self.assertRegex(server.ovsdb_client("transact", insert), r'^\[\{"uuid":\["uuid","[0-9a-f-]+"\]\}\]\n$')
        self.assertIn("next_cfg", server.ovsdb_client("dump", "Open_vSwitch", "Open_vSwitch", "next_cfg"))
        query = '["Open_vSwitch",{"op":"select","table":"Open_vSwitch","where":[],"columns":["next_cfg"]}]'
        self.assertEqual(server.ovsdb_client("query", query), '[{"rows":[{"next_cfg":5}]}]\n')

    def test_ovsdb_client_monitors(self):
        for command in ("monitor", "monitor-cond", "monitor-cond-since"):
            with self.subTest(command):
                words = {"monitor": [], "monitor-cond": ['[["name","==","br0"]]'],
                         "monitor-cond-since": [NOTHING, '[["name","==","br0"]]']}[command]  # fmt: skip
                process = self.background(command, "Open_vSwitch", *words, "Bridge", "name,stp_enable",
                                          "--format=csv")  # fmt: skip
                if command == "monitor-cond-since":
                    self.read_until(process, "found: false, last_id: ")
                self.server.vsctl("add-br", "br0")
                seen = self.read_until(process, "br0,")
                self.server.vsctl("set", "Bridge", "br0", "stp_enable=true")
                seen += self.read_until(process, ",true")
                self.server.vsctl("del-br", "br0")
                seen += self.read_until(process, "delete,")
                self.assertRegex(seen, "(initial|insert),br0", "by when it began")

    def read_until(self, process, text):
        """What the process prints, until `text` was in it and the line ends."""
        seen = ""
        while text not in seen or not seen.endswith("\n"):
            readable, _, _ = select.select([process.stdout], [], [], 10)
            piece = os.read(process.stdout.fileno(), 1) if readable else b""
            self.assertNotEqual(piece, b"", f"no {text!r} in {seen!r}")
            seen += piece.decode()
        return seen

    def test_a_monitor_goes_on_where_it_was(self):
        self.server.vsctl("init")
        first = self.background("monitor-cond-since", "Open_vSwitch", NOTHING,
                                "[true]", "Bridge", "name")  # fmt: skip
        self.read_until(first, "found: false")
        self.server.vsctl("add-br", "br0")
        last = re.search(UUID, self.read_until(first, "last_id: "))[0]
        first.kill()
        self.server.vsctl("add-br", "br1")
        second = self.background("monitor-cond-since", "Open_vSwitch", last, "[true]", "Bridge", "name")
        seen = self.read_until(second, "br1")
        self.assertIn("found: true", seen)
        self.assertNotIn("br0", seen)

    def test_ovsdb_client_locks(self):
        holder = self.background("lock", "L")
        self.read_until(holder, '{"locked":true}')
        waiting = self.background("lock", "L")
        self.read_until(waiting, '{"locked":false}')
        thief = self.background("steal", "L")
        self.read_until(thief, '{"locked":true}')
        self.read_until(holder, "stolen")
        thief.kill()
        self.read_until(holder, "locked")
        holder.kill()
        self.read_until(waiting, "locked")

    def test_vsctl_waits_until(self):
        server = self.server
        server.vsctl("init")
        waiting = self.lab.spawn("ovs-vsctl", f"--db={server.target}", "--no-wait", "wait-until",
                                 "Open_vSwitch", ".", "cur_cfg=7")  # fmt: skip
        with self.assertRaises(subprocess.TimeoutExpired):
            waiting.wait(0.3)
        server.vsctl("set", "Open_vSwitch", ".", "cur_cfg=7")
        self.assertEqual(waiting.wait(10), 0)

    def test_errors_reach_the_user(self):
        for command, text in ((["set", "Bridge", "nothing", "stp_enable=true"], "no row"),
                              (["add-port", "nothing", "p"], "no bridge named nothing"),
                              (["set", "Open_vSwitch", ".", "next_cfg=x"], "not a valid integer")):  # fmt: skip
            with self.assertRaises(CommandError) as caught:
                self.server.vsctl(*command)
            self.assertIn(text, str(caught.exception))
        with self.assertRaises(CommandError) as caught:
            self.server.ovsdb_client("transact", '["Nothing"]')
        self.assertIn("unknown database", str(caught.exception))

    def test_managers_are_connected_and_listened_for(self):
        self.server.process.terminate()
        self.server.process.wait(10)
        server = OurServer(self.lab, folder=self.server.folder,
                           remotes=["db:Open_vSwitch,Open_vSwitch,manager_options"])  # fmt: skip
        server.vsctl("init")
        with socket.create_server(("127.0.0.1", 0)) as manager:
            port = manager.getsockname()[1]
            server.vsctl("set-manager", f"tcp:127.0.0.1:{port}", "ptcp:0:127.0.0.1")
            manager.settimeout(10)
            connection = manager.accept()[0]
            connection.sendall(b'{"method":"list_dbs","params":[],"id":1}')
            self.assertIn(b"Open_vSwitch", connection.recv(1000))
            status = lambda target: server.vsctl("--columns=status", "--bare", "find", "Manager", f'target="{target}"')
            get = lambda target, column: server.vsctl(
                "--bare", f"--columns={column}", "find", "Manager", f'target="{target}"').strip()  # fmt: skip
            active = f"tcp:127.0.0.1:{port}"
            wait_until(lambda: get(active, "is_connected") == "true", 10, "the manager to be connected")
            self.assertIn("state=ACTIVE", status(active))
            self.assertIn("sec_since_connect=", status(active))
            connection.close()
            wait_until(lambda: get(active, "is_connected") == "false", 10, "the manager to be gone")
            self.assertIn("state=BACKOFF", status(active))
            manager.accept()[0].close()  # it comes again
            bound = wait_until(lambda: re.search(r"bound_port=(\d+)", status("ptcp:0:127.0.0.1")), 10, "a port")[1]
            dbs = run("ovsdb-client", "list-dbs", f"tcp:127.0.0.1:{bound}")
            self.assertIn("Open_vSwitch", dbs)
            server.vsctl("del-manager")
            wait_until(lambda: not self.listens(int(bound)), 10, "the port to be closed")

    @staticmethod
    def listens(port):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except OSError:
            return False

    def test_silent_managers_are_probed_and_dropped(self):
        server = OurServer(self.lab, remotes=["db:Open_vSwitch,Open_vSwitch,manager_options"])
        server.vsctl("init")
        with socket.create_server(("127.0.0.1", 0)) as manager:
            manager.settimeout(10)
            target = f"tcp:127.0.0.1:{manager.getsockname()[1]}"
            server.vsctl("--", "set-manager", target, "--", "set", "Manager", ".", "inactivity_probe=300")
            # The first connection may be older than the setting.
            with manager.accept()[0] as connection:
                connection.settimeout(10)
                probe = connection.recv(1000)
                if probe:
                    self.assertIn(b'"echo"', probe)
                    self.assertEqual(connection.recv(1000), b"")
            with manager.accept()[0] as connection:
                connection.settimeout(10)
                self.assertIn(b'"echo"', connection.recv(1000))
        self.assertIn("no response to inactivity probe", server.said())

    def test_tls(self):
        folder = self.lab.scratch
        self.certificates(folder)
        files = lambda who: [f"--private-key={folder}/{who}-key.pem", f"--certificate={folder}/{who}-cert.pem",
                             f"--ca-cert={folder}/ca-cert.pem"]  # fmt: skip
        server = OurServer(self.lab, options=files("server"), remotes=["pssl:0:127.0.0.1", "ptcp:0:127.0.0.1"])
        bound = dict(re.findall(r"(p\w+):0:127.0.0.1: listening on port (\d+)", server.said()))
        target = f"ssl:127.0.0.1:{bound['pssl']}"
        self.assertIn("Open_vSwitch", run("ovsdb-client", *files("client"), "list-dbs", target, "--timeout=10"))
        with self.assertRaises(CommandError):
            run("ovsdb-client", *files("stranger"), "list-dbs", target, "--timeout=5")
        with self.assertRaises(CommandError):
            run("ovsdb-client", "list-dbs", f"tcp:127.0.0.1:{bound['pssl']}", "--timeout=5")
        with self.assertRaises(CommandError):
            run("ovsdb-client", *files("client"), "list-dbs", f"ssl:127.0.0.1:{bound['ptcp']}", "--timeout=5")
        self.assertIn("Open_vSwitch", server.ovsdb_client("list-dbs"))

    @staticmethod
    def certificates(folder):
        """A CA with a server and a client, and a stranger whom another CA made."""
        def request(name, *options):
            run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{folder}/{name}-key.pem", *options)  # fmt: skip

        request("ca", "-x509", "-days", "2", "-out", f"{folder}/ca-cert.pem")
        request("stranger", "-x509", "-days", "2", "-out", f"{folder}/stranger-cert.pem")
        for name in ("server", "client"):
            request(name, "-out", f"{folder}/{name}.csr")
            run("openssl", "x509", "-req", "-in", f"{folder}/{name}.csr", "-CA", f"{folder}/ca-cert.pem",
                "-CAkey", f"{folder}/ca-key.pem", "-CAcreateserial", "-days", "2",
                "-out", f"{folder}/{name}-cert.pem")  # fmt: skip


if __name__ == "__main__":
    harness.main(time_limit=300)
