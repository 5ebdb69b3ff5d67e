#!/usr/bin/python3
"""vsctl over TLS, to Debian's ovsdb-server and to Sluice's own."""

import os
import re
import socket
import subprocess
import unittest

import harness
from harness import Lab, require_tool, wait_until
from sluice import program
from vsctl_peers import SCHEMA


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class TlsTest(unittest.TestCase):
    ours = False

    def setUp(self):
        require_tool("openssl", "ovsdb-server", "ovsdb-tool")
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        for authority in ("ca", "other"):
            self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={authority}",
                         "-keyout", self.path(f"{authority}.key"), "-out", self.path(f"{authority}.pem"))  # fmt: skip
        for name in ("server", "client"):
            self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout",
                         self.path(f"{name}.key"), "-out", self.path(f"{name}.req"))  # fmt: skip
            self.openssl("x509", "-req", "-days", "2", "-in", self.path(f"{name}.req"), "-CA", self.path("ca.pem"),
                         "-CAkey", self.path("ca.key"), "-CAcreateserial", "-out", self.path(f"{name}.pem"))  # fmt: skip
        # The chain that a client which bootstraps wants to see.
        with open(self.path("server.pem"), "a", encoding="ascii") as chain, open(self.path("ca.pem")) as ca:
            chain.write(ca.read())
        self.port = free_port()
        self.serve()

    def path(self, name):
        return os.path.join(self.lab.scratch, name)

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)

    def serve(self):
        keys = [f"--private-key={self.path('server.key')}", f"--certificate={self.path('server.pem')}",
                f"--ca-cert={self.path('ca.pem')}"]  # fmt: skip
        remote = f"pssl:{self.port}:127.0.0.1"
        if self.ours:
            command = [program("serve_database"), *keys, self.path("conf.db"), remote]
        else:
            subprocess.run(["ovsdb-tool", "create", self.path("conf.db"), SCHEMA], check=True)
            command = ["ovsdb-server", *keys, f"--remote={remote}", f"--unixctl={self.path('ctl')}",
                       f"--remote=punix:{self.path('db.sock')}", self.path("conf.db")]  # fmt: skip
        self.lab.spawn(*command, log=self.path("log"))
        listening = f"127.0.0.1:{self.port} "
        wait_until(lambda: listening in harness.run("ss", "-ltn"), 10, f"{command[0]} to listen")

    def vsctl(self, *options, target="ssl"):
        done = subprocess.run(
            [program("vsctl"), f"--db={target}:127.0.0.1:{self.port}", "--no-wait", "--timeout=10", *options,
             "--", "--may-exist", "add-br", "br0", "--", "list-br"],
            capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def identity(self):
        return ["-p", self.path("client.key"), "-c", self.path("client.pem")]

    def test_both_know_each_other(self):
        self.assertEqual(self.vsctl(*self.identity(), "-C", self.path("ca.pem")), (0, "br0\n", ""))
        self.assertEqual(self.vsctl(*self.identity(), "--ca-cert=none"), (0, "br0\n", ""))

    def test_bootstrap_takes_the_authority_of_the_first_peer(self):
        taken = self.path("taken.pem")
        for _ in range(2):
            self.assertEqual(self.vsctl(*self.identity(), f"--bootstrap-ca-cert={taken}", "--retry")[:2],
                             (0, "br0\n"))  # fmt: skip
            with open(taken) as a, open(self.path("ca.pem")) as b:
                self.assertEqual(re.sub(r"\s", "", a.read()), re.sub(r"\s", "", b.read()))

    def test_a_server_of_another_authority_is_refused(self):
        code, out, err = self.vsctl(*self.identity(), "-C", self.path("other.pem"))
        self.assertEqual((code, out), (1, ""), err)
        self.assertIn("database connection failed", err)
        self.assertEqual(err.count("\n"), 1, err)

    def test_without_identity_or_without_tls_nothing_happens(self):
        for options, target in ([["-C", self.path("ca.pem")], "ssl"], [[], "tcp"]):
            code, out, err = self.vsctl(*options, target=target)
            self.assertEqual((code, out), (1, ""), err)
            self.assertIn("database connection failed", err)


class OwnServerTlsTest(TlsTest):
    ours = True


if __name__ == "__main__":
    harness.main(time_limit=200)
