"""vsctl and Debian's ovs-vsctl, each on a fresh database server of its own, run with the same arguments.

What cannot be the same (UUIDs, the order of rows that have no order) is made the same first: a UUID is replaced by one
that is computed from what its row holds, so that two databases with equal contents read equal.
"""

import hashlib
import json
import os
import re
import signal
import subprocess

from harness import require_tool, wait_until
from sluice import program

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# One that name_rows() has not seen: its row is gone.
RENAMED = rf"(?:{UUID.pattern}|a-uuid)"
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z\|\d+\|[\w()]+\|\w+\|")


class DatabaseServer:
    """A server of an empty database: Debian's ovsdb-server, or Sluice's own (`ours`)."""

    def __init__(self, lab, name, ours=False):
        require_tool("ovsdb-server", "ovsdb-tool", "ovsdb-client", "ovs-vsctl")
        self.folder = os.path.join(lab.scratch, name)
        os.mkdir(self.folder)
        self.socket = os.path.join(self.folder, "db.sock")
        self.remote = f"unix:{self.socket}"
        self._lab, self._ours, self._process = lab, ours, None
        self.start_afresh()

    def start_afresh(self):
        """Serves an empty database, in place of what was served before."""
        self.stop()
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        path = os.path.join(self.folder, "conf.db")
        if self._ours:
            command = [program("serve_database"), path, f"punix:{self.socket}"]
        else:
            subprocess.run(["ovsdb-tool", "create", path, SCHEMA], check=True)
            command = ["ovsdb-server", "--no-chdir", f"--remote=punix:{self.socket}",
                       f"--unixctl={self.folder}/ctl", "--log-file=/dev/null", "-vconsole:off",
                       path]  # fmt: skip
        self._process = self._lab.spawn(*command, log=os.path.join(self.folder, "log"))
        wait_until(lambda: os.path.exists(self.socket), 10, f"{command[0]} to listen")

    def stop(self):
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(10)

    def rows(self):
        """{uuid: (table, {column: value})}, values as OVSDB's JSON has them."""
        text = subprocess.run(["ovsdb-client", "-f", "json", "dump", self.remote, "Open_vSwitch"],
                              check=True, capture_output=True, text=True, timeout=20).stdout  # fmt: skip
        rows, decoder = {}, json.JSONDecoder()
        while text.strip():
            table, end = decoder.raw_decode(text)
            text = text[end:].lstrip()
            for cells in table["data"]:
                columns = dict(zip(table["headings"], cells))
                uuid = columns.pop("_uuid")[1]
                rows[uuid] = (table["caption"].removesuffix(" table"), columns)
        return rows


def _renamed(value, names):
    """An OVSDB value with UUIDs renamed, sets and maps sorted anew."""
    if not isinstance(value, list):
        return value
    if value[0] == "uuid":
        return ["uuid", names.get(value[1], value[1])]
    elements = [_renamed(element, names) if value[0] == "set" else
                [_renamed(half, names) for half in element] for element in value[1]]  # fmt: skip
    return [value[0], sorted(elements, key=json.dumps)]


def name_rows(rows):
    """{uuid: a name for it that depends on what its row and those that it refers to hold}."""
    names = dict.fromkeys(rows, "")
    for _ in range(5):  # as far as references are followed
        names = {
            uuid: hashlib.sha1(
                json.dumps([table, {c: _renamed(v, names) for c, v in columns.items()}],
                           sort_keys=True).encode()).hexdigest()  # fmt: skip
            for uuid, (table, columns) in rows.items()
        }
    as_uuid = lambda h: f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}"
    return {uuid: as_uuid(digest) for uuid, digest in names.items()}


def dump(rows):
    """The database's contents as sorted lines."""
    names = name_rows(rows)
    return sorted(
        f"{table} {names[uuid]} "
        + json.dumps({c: _renamed(v, names) for c, v in columns.items()}, sort_keys=True)
        for uuid, (table, columns) in rows.items()
    )


def _sorted_tree(lines):
    """The lines of an indented tree with siblings sorted."""
    trees, start = [], 0
    indent = lambda line: len(line) - len(line.lstrip())
    for i in range(1, len(lines) + 1):
        if i == len(lines) or indent(lines[i]) <= indent(lines[start]):
            trees.append([lines[start], *_sorted_tree(lines[start + 1 : i])])
            start = i
    return sum(sorted(trees), []) if lines else []


def _sorted_runs(text, element, separator):
    """Wherever elements (a pattern without groups) follow one another, they come sorted."""
    return re.sub(f"{element}(?:{separator}{element})+",
                  lambda run: separator.join(sorted(re.findall(element, run[0]))), text)  # fmt: skip


def _sorted_json(text):
    """Tables among other lines, their rows sorted."""
    parts, decoder = [], json.JSONDecoder()
    while text:
        if text.startswith("{"):
            table, end = decoder.raw_decode(text)
            rows = [[_renamed(cell, {}) for cell in row] for row in table["data"]]
            parts.append(json.dumps({**table, "data": sorted(rows, key=json.dumps)}))
            text = text[end:].lstrip("\n")
        else:
            line, _, text = text.partition("\n")
            parts.append(line)
    return "\n".join(parts)


def _sorted_output(text, arguments):
    if "show" in arguments:
        if "--oneline" in arguments:
            text = text.replace("\\n", "\n")
        return "\n".join(_sorted_tree(text.splitlines()))
    if not {"list", "find"} & set(arguments):
        return text
    if any("json" in word for word in arguments) and re.search(r"^{", text, re.MULTILINE):
        return _sorted_json(text)
    if "--" in arguments[1:]:  # what other commands print would be part of a block
        return "\n".join(sorted(text.splitlines()))
    blocks = ["\n".join(sorted(block.splitlines())) for block in text.strip("\n").split("\n\n")]
    return "\n\n".join(sorted(blocks))


class Peer:
    """One of the two programs with its server."""

    def __init__(self, server, command):
        self.server, self._command, self._rows = server, command, {}

    def start_afresh(self):
        self.server.start_afresh()
        self._rows = {}

    def run(self, arguments, timeout=20):
        """(exit code, stdout, stderr, contents of the database), all comparable."""
        done = subprocess.run(
            [self._command, f"--db={self.server.remote}", "--no-wait", "--no-syslog", *arguments],
            capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)  # fmt: skip
        before, self._rows = self._rows, self.server.rows()
        names = name_rows(before) | name_rows(self._rows)
        rename = lambda text: UUID.sub(lambda m: names.get(m[0], "a-uuid"), text)
        sort_set = lambda m: "[" + ", ".join(sorted(m[1].split(", "))) + "]"
        stdout = re.sub(rf"\[({RENAMED}(?:, {RENAMED})*)\]", sort_set, rename(done.stdout))
        # --data=bare has neither brackets nor commas.
        stdout = _sorted_runs(stdout, RENAMED, " ")
        # --data=json: ["set",[["uuid","..."],...]], its quotes doubled in CSV.
        stdout = _sorted_runs(stdout, rf'\["+uuid"+,"+{RENAMED}"+\]', ",")
        # In HTML a UUID is also a link's text, cut short.
        stdout = re.sub(rf'({RENAMED})">[0-9a-f]{{8}}</a>', r'\1">\1</a>', stdout)
        stdout = _sorted_runs(stdout, rf'<a href="#{RENAMED}">{RENAMED}</a>', ", ")
        stderr = LOG_LINE.sub("LOG ", rename(done.stderr)).replace("ovs-vsctl:", "vsctl:")
        # That an error is logged too, and what was warned of before it, is the program's own business.
        if done.returncode != 0:
            stderr = "\n".join(line for line in stderr.splitlines() if not line.startswith("LOG "))
        return done.returncode, _sorted_output(stdout, arguments), stderr, dump(self._rows)


def peers(lab, ours=False):
    """(Sluice's vsctl, Debian's ovs-vsctl); `ours`: vsctl's server is Sluice's too."""
    return (Peer(DatabaseServer(lab, "a", ours=ours), program("vsctl")),
            Peer(DatabaseServer(lab, "b"), "ovs-vsctl"))  # fmt: skip
