"""Sluice's daemon under test: started in a scratch run directory, driven over its control socket."""

import json
import os
import re
import signal
import socket
import time

from harness import end_process, process_alive, read_file, skip, wait_until

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("SLUICE_BIN", os.path.join(_ROOT, "build", "bin"))
DATAPATH = "netdev@dp0"


class CommandFailed(RuntimeError):
    """The daemon answered a command with an error; the text is the daemon's."""


def program(name):
    path = os.path.join(BIN, name)
    if not os.path.exists(path):
        skip(f"needs {path}: build the project first")
    return path


def call(path, method, *arguments, as_json=False, timeout=20):
    """One unixctl request on the socket `path` (JSON-RPC 1.0 over a unix stream)."""
    arguments = [str(argument) for argument in arguments]
    if as_json:
        arguments += ["--format", "json"]
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(timeout)
        s.connect(path)
        s.sendall(json.dumps({"method": method, "params": arguments, "id": 0}).encode())
        decoder, text = json.JSONDecoder(), ""
        while True:
            piece = s.recv(1 << 16)
            if not piece:
                raise CommandFailed(f"{method}: the daemon closed the connection")
            text += piece.decode()
            try:
                reply, _ = decoder.raw_decode(text)
                break
            except json.JSONDecodeError:
                continue
    if reply.get("error") is not None:
        raise CommandFailed(str(reply["error"]).strip())
    result = reply["result"]
    return json.loads(result) if as_json and isinstance(result, str) else result


class Sluice:
    """One daemon. With `host` (a Netns) it runs there, and so do its ports."""

    name = "Sluice"

    def __init__(self, lab, host=None, tso=True, pmd_cpu_mask=None):
        self._lab = lab
        self.host = host or lab.host
        self.rundir = os.path.join(lab.scratch, f"sluice{len(os.listdir(lab.scratch))}")
        os.mkdir(self.rundir)
        self.pid_file = os.path.join(self.rundir, "ovs-vswitchd.pid")
        self.log = os.path.join(self.rundir, "vswitchd.log")
        self.env = dict(os.environ, OVS_RUNDIR=self.rundir, OVS_LOGDIR=self.rundir,
                        OVS_DBDIR=self.rundir)  # fmt: skip
        self.ports = {}
        self._mask = pmd_cpu_mask
        self._tso = tso
        self.start()

    def start(self):
        """Starts the daemon (again) and makes it ready for ports."""
        log = os.path.join(self.rundir, "stderr.log")
        command = [program("vswitchd"), "--pidfile", f"--log-file={self.log}", *self.arguments()]
        self.process = self._lab.spawn(*self.host.command(*command), env=self.env, log=log)
        self.pid = self.process.pid
        self.socket = os.path.join(self.rundir, f"ovs-vswitchd.{self.pid}.ctl")

        def answers():
            if self.process.poll() is not None:
                raise RuntimeError(f"vswitchd ended with {self.process.returncode}: {self.said()}")
            try:
                return call(self.socket, "version")
            except (FileNotFoundError, ConnectionRefusedError):
                return None

        wait_until(answers, 20, "vswitchd to answer")
        self.prepare()

    def arguments(self):
        """What follows the options on the daemon's command line."""
        return []

    def prepare(self):
        """An empty datapath, without bridges."""
        self.ports = {}
        self.appctl("dpctl/add-dp", DATAPATH)
        if self._mask:
            self.appctl("sluice/pmd-cpu-mask", self._mask)
        if not self._tso:
            self.appctl("sluice/tso", "off")

    def said(self):
        """What the daemon wrote to stderr and its log, its last 4,000 characters."""
        texts = []
        for path in (os.path.join(self.rundir, "stderr.log"), self.log):
            if os.path.exists(path):
                texts.append(read_file(path)[-4000:])
        return "\n".join(texts)

    def appctl(self, method, *arguments, as_json=False, timeout=20):
        return call(self.socket, method, *arguments, as_json=as_json, timeout=timeout)

    def stop(self):
        """SIGTERM; returns the exit code."""
        return end_process(self.process, grace=10)

    def kill(self):
        """SIGKILL: no chance to clean up."""
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()

    def alive(self):
        return process_alive(self.pid)

    def add_port(self, name, kind="system", **options):
        """Adds a port; option names are written with _ for -. Returns its number."""
        words = "".join(f",{key.replace('_', '-') if key != 'n_rxq' else key}={value}"
                        for key, value in options.items())  # fmt: skip
        self.appctl("dpctl/add-if", DATAPATH, f"{name},type={kind}{words}")
        self.ports[name] = self.port_number(name)
        return self.ports[name]

    def del_port(self, name):
        self.appctl("dpctl/del-if", DATAPATH, name)
        self.ports.pop(name, None)

    def set_port(self, name, **options):
        words = "".join(f",{key.replace('_', '-')}={value}" for key, value in options.items())
        self.appctl("dpctl/set-if", DATAPATH, f"{name}{words}")

    def port_number(self, name):
        shown = self.appctl("dpctl/show", DATAPATH)
        match = re.search(rf"^\s*port (\d+): {re.escape(name)}(\s|$)", shown, re.MULTILINE)
        if not match:
            raise RuntimeError(f"port {name} is not in dpctl/show:\n{shown}")
        return int(match[1])

    def connect(self, first, second):
        """Two flows: whatever comes from one port leaves by the other."""
        one, two = self.ports[first], self.ports[second]
        for source, target in ((one, two), (two, one)):
            self.appctl("dpctl/add-flow", DATAPATH, f"in_port({source})", target)

    def tso(self, on, port=None):
        self.appctl("sluice/tso", *([port] if port else []), "on" if on else "off")

    def port_stats(self):
        """Per port name: rx_frames, tx_super_packets and so on, of sluice/port-stats."""
        flat = {}
        for name, port in self.appctl("sluice/port-stats", as_json=True).items():
            flat[name] = {f"{way}_{key}": n for way in ("rx", "tx") for key, n in port[way].items()}
        return flat

    def drops(self):
        """Per port name: dropped wire frames by reason, zeros left out."""
        return {name: {**ways["rx"], **ways["tx"]}
                for name, ways in self.appctl("sluice/port-drops", as_json=True).items()}  # fmt: skip

    def conservation(self):
        """Every frame that came in, and where it is now."""
        return self.appctl("sluice/conservation", as_json=True)

    def idle(self, seconds=0.3, timeout=15):
        """Waits until no counter moves for `seconds`."""
        before = self.port_stats()
        deadline = time.monotonic() + timeout
        while True:
            if time.monotonic() > deadline:
                raise TimeoutError(f"traffic goes on after {timeout} s: {before}")
            time.sleep(seconds)
            now = self.port_stats()
            if now == before:
                return now
            before = now

