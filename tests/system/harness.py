"""Namespaces, veth pairs, processes and scratch folders that are always given back.

A Lab owns everything that a test, a benchmark or the demonstration makes in the kernel and on
disk. It is undone in reverse order when the Lab closes: at the end of `with`, at exit, and on
SIGINT, SIGTERM, SIGHUP and SIGALRM. What a killed run (SIGKILL) leaves is removed by the next
one. All names start with the owner's process id, so that two runs do not meet.
"""

import atexit
import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

SKIPPED = 77  # ctest's SKIP_RETURN_CODE for these tests
PREFIX = "slc"
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class CommandError(RuntimeError):
    """A command that ended with an error: names it, its exit code and what it said."""


def run(*command, check=True, timeout=60, text=True):
    """Runs a command to its end and returns what it printed on stdout."""
    command = [str(word) for word in command]
    done = subprocess.run(
        command, capture_output=True, text=text, timeout=timeout, stdin=subprocess.DEVNULL
    )
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout or "").strip() if text else ""
        raise CommandError(f"{' '.join(command)}: exit code {done.returncode}: {said}")
    return done.stdout


def wait_until(condition, timeout, what, interval=0.02):
    """Polls until condition() is true and returns its value; fails by name after `timeout` s."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout} s for {what}")
        time.sleep(interval)


def read_file(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read().strip()


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Host:
    """The namespace that this program itself runs in: where a switch usually has its ports."""

    name = None

    def command(self, *command):
        return [str(word) for word in command]

    def run(self, *command, **options):
        return run(*self.command(*command), **options)

    def sysctl(self, key, value):
        self.run("sh", "-c", f"echo {value} > /proc/sys/net/{key}")

    def address(self, interface, *addresses):
        """Gives addresses ("10.0.0.1/24", "fd00::1/64") and brings the interface up."""
        for address in addresses:
            nodad = ["nodad"] if ":" in address else []
            self.run("ip", "addr", "add", address, "dev", interface, *nodad)
        self.run("ip", "link", "set", interface, "up")

    def silence(self, interface):
        """The stack says nothing by itself on a switch port (IPv6 discovery, solicitations)."""
        self.sysctl(f"ipv6/conf/{interface}/disable_ipv6", 1)

    def links(self):
        return [line.split(":")[1].split("@")[0].strip()
                for line in self.run("ip", "-o", "link").splitlines()]  # fmt: skip

    def counters(self, interface):
        """rx/tx packets and bytes as the namespace's own interface counts them."""
        line = next(
            line
            for line in self.run("cat", "/proc/net/dev").splitlines()
            if line.strip().startswith(interface + ":")
        )
        n = [int(field) for field in line.split(":")[1].split()]
        return {"rx_bytes": n[0], "rx_packets": n[1], "tx_bytes": n[8], "tx_packets": n[9]}


class Netns(Host):
    """A network namespace with loopback up and without duplicate address detection."""

    def __init__(self, name):
        self.name = name
        run("ip", "netns", "add", name)
        self.run("ip", "link", "set", "lo", "up")
        for key in ("conf/all/accept_dad", "conf/default/accept_dad"):
            self.sysctl(f"ipv6/{key}", 0)

    def command(self, *command):
        return ["ip", "netns", "exec", self.name, *[str(word) for word in command]]

    def delete(self):
        delete_netns(self.name)


def delete_netns(name):
    """Also ends what runs in it: a namespace lives on as long as a process does."""
    for pid in run("ip", "netns", "pids", name, check=False).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    run("ip", "netns", "del", name, check=False)


def process_alive(pid):
    """True while `pid` runs (a zombie that nobody has waited for yet does not)."""
    try:
        return read_file(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Lab:
    """Owner of everything a test makes outside its own memory."""

    _open = []

    def __init__(self):
        require_root()
        self.host = Host()
        _arm_cleanup()
        self._undo = []
        self._count = 0
        self.scratch = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
        self.defer(shutil.rmtree, self.scratch, ignore_errors=True)
        Lab._open.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def defer(self, function, *args, **options):
        """Calls function(*args) at close; later deferrals first."""
        self._undo.append((function, args, options))

    def close(self):
        while self._undo:
            # Taken off the list only when it is done: a signal in between starts it again.
            function, args, options = self._undo[-1]
            try:
                function(*args, **options)
            except Exception as error:  # the rest must still be undone
                print(f"cleanup: {error}", file=sys.stderr)
            self._undo.pop()
        if self in Lab._open:
            Lab._open.remove(self)

    def name(self, role):
        """A name for a link or namespace: at most 15 characters, unique on this machine."""
        Lab._names = getattr(Lab, "_names", 0) + 1
        name = f"{PREFIX}{os.getpid()}{role}{Lab._names}"
        assert len(name) <= 15, f"{name}: an interface name has at most 15 characters"
        return name

    def netns(self, role="n"):
        namespace = Netns(self.name(role))
        self.defer(namespace.delete)
        return namespace

    def veth(self, namespace, inner="eth0", outer=None, mtu=1500, host=None):
        """A veth pair: `inner` inside the namespace, the outer end (returned) up on the host."""
        host = host or self.host
        outer = outer or self.name("v")
        host.run("ip", "link", "add", outer, "mtu", mtu, "type", "veth",
                 "peer", "name", inner, "mtu", mtu, "netns", namespace.name)  # fmt: skip
        self.defer(host.run, "ip", "link", "del", outer, check=False)
        host.silence(outer)
        host.run("ip", "link", "set", outer, "up")
        return outer

    def spawn(self, *command, log=None, env=None):
        """Starts a process that ends with the Lab, and with this program if that is killed."""
        out = open(log, "ab") if log else subprocess.DEVNULL
        process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            env=env, preexec_fn=_die_with_parent, start_new_session=True)  # fmt: skip
        if log:
            out.close()
        self.defer(end_process, process)
        return process


def end_process(process, grace=5):
    """SIGTERM, then SIGKILL after `grace` seconds; returns the exit code."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def _close_all():
    while Lab._open:
        Lab._open[-1].close()


def _on_signal(number, frame):
    if number == signal.SIGALRM:
        print("the test ran out of its own time limit", file=sys.stderr)
        traceback.print_stack(frame)
    end_program(128 + number)


_armed = False


def _arm_cleanup():
    global _armed
    if _armed:
        return
    _armed = True
    atexit.register(_close_all)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, _on_signal)
    sweep()


def sweep():
    """Removes what runs that were killed outright have left: names of owners that are gone."""
    pattern = re.compile(rf"^{PREFIX}(\d+)([a-z]\d+|-\w+)$")
    dead = lambda name: (m := pattern.match(name)) and not os.path.exists(f"/proc/{m[1]}")
    for line in run("ip", "netns", "list").splitlines():
        if dead(line.split()[0]):
            delete_netns(line.split()[0])
    for link in os.listdir("/sys/class/net"):
        if dead(link):
            run("ip", "link", "del", link, check=False)
    for entry in os.listdir(tempfile.gettempdir()):
        if dead(entry):
            shutil.rmtree(os.path.join(tempfile.gettempdir(), entry), ignore_errors=True)


def skip(reason):
    """Ends the program as skipped, by name; where CI is set nothing may be skipped."""
    test = os.path.basename(sys.argv[0])
    if os.environ.get("CI", "").lower() in ("true", "1"):
        print(f"FAIL {test}: would be skipped, and CI skips nothing: {reason}")
        end_program(1)
    print(f"SKIP {test}: {reason}")
    end_program(SKIPPED)


def end_program(code):
    """Gives everything back and exits at once: unittest would take a SystemExit for a failed test
    and go on."""
    _close_all()
    sys.stdout.flush()
    os._exit(code)


def require_root():
    if os.geteuid() != 0:
        skip("needs root, to make network namespaces")


def require_tool(*tools):
    for tool in tools:
        if not shutil.which(tool):
            skip(f"needs {tool}: run utilities/install-deps")


def main(time_limit):
    """Runs the unittest cases of the calling script within `time_limit` seconds.

    The limit is shorter than ctest's TIMEOUT, because ctest kills without a chance to clean up.
    """
    require_root()
    require_tool("ip", "iperf3", "ethtool", "ping")
    _arm_cleanup()
    signal.alarm(time_limit)
    unittest.main(verbosity=2)
