"""OVSDB servers and clients for tests: ours and Debian's, spoken to in raw JSON-RPC."""

import codecs
import json
import os
import re
import socket
import struct
import subprocess
import tempfile

from harness import run, wait_until
from sluice import program

VSWITCH_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Closed(Exception):
    """The server ended the connection."""


class Client:
    """One JSON-RPC connection over a unix socket."""

    def __init__(self, path, timeout=20):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise
        self._text = ""
        self._decoder = json.JSONDecoder()
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._last_id = 0
        self.notifications = []
        self.replies = {}

    def close(self):
        self.socket.close()

    def send_text(self, text):
        try:
            self.socket.sendall(text if isinstance(text, bytes) else text.encode())
        except ConnectionError as error:
            raise Closed(str(error)) from error

    def send(self, method, params, id=None):
        """Sends a request, with an id of its own unless given, and returns the id."""
        if id is None:
            self._last_id += 1
            id = self._last_id
        self.send_text(json.dumps({"method": method, "params": params, "id": id}))
        return id

    def notify(self, method, params):
        self.send_text(json.dumps({"method": method, "params": params, "id": None}))

    def receive(self):
        """The next message. Raises Closed, or TimeoutError when nothing comes."""
        while True:
            try:
                message, end = self._decoder.raw_decode(self._text)
                self._text = self._text[end:]
                return message
            except ValueError:
                try:
                    data = self.socket.recv(1 << 20)
                except ConnectionError as error:
                    raise Closed(str(error)) from error
                if not data:
                    raise Closed()
                self._text += self._utf8.decode(data)

    def reply(self, id):
        """The reply with that id; what else arrives is kept."""
        key = json.dumps(id)
        while key not in self.replies:
            message = self.receive()
            if "method" in message:
                self.notifications.append((message["method"], message["params"]))
            else:
                self.replies[json.dumps(message["id"])] = message
        return self.replies.pop(key)

    def call(self, method, params, id=None):
        return self.reply(self.send(method, params, id))

    def result(self, method, params):
        reply = self.call(method, params)
        assert reply.get("error") is None, f"{method} {str(params)[:200]}: {reply}"
        return reply["result"]

    def transact(self, *operations, database="Open_vSwitch"):
        """The results; fails if one is an error."""
        results = self.result("transact", [database, *operations])
        assert all(r is not None and "error" not in r for r in results), results
        return results

    def settle(self):
        """Takes all that the server had to say so far."""
        self.call("echo", ["settle"])
        taken, self.notifications = self.notifications, []
        replies, self.replies = self.replies, {}
        return taken, list(replies.values())

    def reset(self):
        """Ends the connection with a reset rather than in order."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Server:
    """What both servers have: a folder with conf.db and db.sock."""

    def __init__(self, lab, schema=None, folder=None):
        self.lab = lab
        self.schema = schema
        self.folder = folder or tempfile.mkdtemp(dir=lab.scratch)
        self.database = os.path.join(self.folder, "conf.db")
        self.path = os.path.join(self.folder, "db.sock")
        self.log = os.path.join(self.folder, "log")

    @property
    def target(self):
        return "unix:" + self.path

    def client(self, **options):
        return Client(self.path, **options)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def await_socket(self):
        def answers():
            assert self.process.poll() is None, self.said()
            try:
                self.client().close()
                return True
            except OSError:
                return False

        wait_until(answers, 20, f"{self.path} to be served")

    def ovsdb_client(self, *words, **options):
        return run("ovsdb-client", words[0], self.target, *words[1:], **options)

    def vsctl(self, *words, **options):
        return run("ovs-vsctl", f"--db={self.target}", "--no-wait", *words, **options)

    def memory_kib(self):
        """Resident now, and at most so far."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["VmRSS"].split()[0]), int(fields["VmHWM"].split()[0])


class OurServer(Server):
    """serve_database: the embedded server without a switch."""

    def __init__(self, lab, schema=None, folder=None, options=(), remotes=()):
        super().__init__(lab, schema, folder)
        self.options = [f"--schema={schema}"] if schema else []
        self.options += options
        self.remotes = remotes
        self.start()

    def start(self):
        self.process = self.lab.spawn(program("serve_database"), *self.options, self.database,
                                      "punix:" + self.path, *self.remotes, log=self.log)  # fmt: skip
        self.await_socket()


class DebianServer(Server):
    def __init__(self, lab, schema=VSWITCH_SCHEMA, folder=None, clustered=False):
        super().__init__(lab, schema, folder)
        if not os.path.exists(self.database):
            if clustered:
                run("ovsdb-tool", "create-cluster", self.database, schema,
                    "unix:" + os.path.join(self.folder, "raft"))  # fmt: skip
            else:
                run("ovsdb-tool", "create", self.database, schema)
        self.process = lab.spawn("ovsdb-server", self.database, "--remote=punix:" + self.path,
                                 f"--unixctl={self.folder}/ctl", "--no-chdir", log=self.log)  # fmt: skip
        self.await_socket()


class Names:
    """Turns UUIDs into names that do not depend on the server, so that two can be compared."""

    def __init__(self):
        self._names = {}

    def learn(self, operations, results):
        """From the results of a transaction's insertions."""
        for operation, result in zip(operations, results or []):
            if isinstance(operation, dict) and result and "uuid" in result:
                self._names.setdefault(result["uuid"][1], f"row{len(self._names)}")

    def text(self, text):
        return UUID.sub(lambda m: self._names.get(m[0], "<uuid>"), text)

    def plain(self, value):
        """The value with names for UUIDs, and with what has no order sorted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(k): self.plain(v) for k, v in value.items() if k != "_version"}
        if isinstance(value, list):
            plain = [self.plain(v) for v in value]
            if len(plain) == 2 and plain[0] in ("set", "map") and isinstance(plain[1], list):
                plain[1].sort(key=json.dumps)
            return plain
        if isinstance(value, float):
            rounded = float(f"{value:.12g}")  # ovsdb-server writes 15 digits
            return int(rounded) if rounded.is_integer() else rounded
        return value
