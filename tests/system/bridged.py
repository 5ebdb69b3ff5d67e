"""Sluice as people configure it: a bridge and its ports in the database, by vsctl."""

import json

from harness import run, wait_until
from sluice import Sluice, program

BRIDGE = "br0"


class Bridged(Sluice):
    """One daemon with one bridge; NORMAL forwards between its ports."""

    database = ""  # a remote; the embedded one unless a subclass says otherwise

    def prepare(self):
        self.database = self.database or f"unix:{self.rundir}/db.sock"
        wait_until(self._has_root, 10, "the row of Open_vSwitch")
        self.vsctl("--may-exist", "add-br", BRIDGE)
        if self._mask:
            self.set_switch("pmd-cpu-mask", self._mask)
        self.tso(self._tso)

    def _has_root(self):
        return self.vsctl("--columns=_uuid", "list", "Open_vSwitch").strip()

    def vsctl(self, *arguments, timeout=20):
        return run(program("vsctl"), f"--db={self.database}", f"--timeout={timeout}", *arguments,
                   timeout=timeout + 10)  # fmt: skip

    def get(self, table, record, column):
        """A column as JSON gives it, sets and maps as lists and dicts."""
        text = self.vsctl("--format=json", "--data=json", f"--columns={column}", "list", table,
                          record)  # fmt: skip
        return _plain(json.loads(text)["data"][0][0])

    def set_switch(self, key, value):
        self.vsctl("set", "Open_vSwitch", ".", f"other_config:{key}={value}")

    def add_port(self, name, kind="system", **options):
        words = [f"options:{key.replace('_', '-') if key != 'n_rxq' else key}={value}"
                 for key, value in options.items()]  # fmt: skip
        self.vsctl("add-port", BRIDGE, name, "--", "set", "Interface", name, f"type={kind}", *words)
        self.ports[name] = self.get("Interface", name, "ofport")
        return self.ports[name]

    def del_port(self, name):
        self.vsctl("del-port", BRIDGE, name)
        self.ports.pop(name, None)

    def connect(self, first, second):
        """Ports of one bridge are connected."""

    def tso(self, on, port=None):
        value = f"other_config:userspace-tso-enable={str(bool(on)).lower()}"
        self.vsctl("set", *(["Interface", port] if port else ["Open_vSwitch", "."]), value)


def _plain(value):
    """What RFC 7047 writes as ["set", [...]], ["map", [...]] or ["uuid", "..."]."""
    if isinstance(value, list) and len(value) == 2:
        kind, content = value
        if kind == "set":
            return [_plain(element) for element in content]
        if kind == "map":
            return {_plain(key): _plain(element) for key, element in content}
        if kind in ("uuid", "named-uuid"):
            return content
    return value
