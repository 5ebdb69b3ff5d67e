#!/usr/bin/python3
"""The daemon's life: detaching, the pid file, a second instance, kill -9, signals, the log file."""

import os
import re
import signal
import subprocess
import unittest

import harness
from harness import Lab, process_alive, read_file, wait_until
from sluice import call, program


class DaemonCase(unittest.TestCase):
    """A scratch run directory; whatever daemon has its pid file there at the end is killed."""

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        # Not there yet: the daemon makes it.
        self.rundir = os.path.join(self.lab.scratch, "run")
        self.pid_file = os.path.join(self.rundir, "ovs-vswitchd.pid")
        self.log = os.path.join(self.rundir, "ovs-vswitchd.log")
        self.env = dict(os.environ, OVS_RUNDIR=self.rundir, OVS_LOGDIR=self.rundir,
                        OVS_DBDIR=os.path.join(self.lab.scratch, "db"))  # fmt: skip
        self.lab.defer(self.kill_daemon)

    def kill_daemon(self):
        if os.path.exists(self.pid_file) and process_alive(self.pid()):
            os.kill(self.pid(), signal.SIGKILL)

    def run_program(self, name, *arguments, timeout=30, cwd=None):
        """Runs vswitchd or appctl to its (or the detaching parent's) end."""
        path = name if name == "ovs-appctl" else program(name)
        # Files, not pipes: a daemon that failed to close them would keep a pipe open.
        with open(os.path.join(self.lab.scratch, "out"), "w+") as out, open(
            os.path.join(self.lab.scratch, "err"), "w+"
        ) as err:
            code = subprocess.run([path, *arguments], env=self.env, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=err, timeout=timeout, cwd=cwd).returncode  # fmt: skip
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    def detach(self, *arguments, **options):
        code, out, err = self.run_program("vswitchd", "--pidfile", "--detach", "--log-file",
                                          *arguments, **options)  # fmt: skip
        self.assertEqual((code, out), (0, ""), err)
        return self.pid()

    def pid(self):
        return int(read_file(self.pid_file))

    def socket(self, pid=None):
        return os.path.join(self.rundir, f"ovs-vswitchd.{pid or self.pid()}.ctl")

    def appctl(self, *arguments):
        code, out, err = self.run_program("appctl", *arguments)
        self.assertEqual(code, 0, err)
        return out

    def wait_for_end(self, pid):
        wait_until(lambda: not process_alive(pid), 15, f"process {pid} to end")

    def assert_clean(self):
        """Only the log file is left."""
        self.assertEqual(sorted(os.listdir(self.rundir)), ["ovs-vswitchd.log"])


class Detach(DaemonCase):
    def test_serves_as_soon_as_the_parent_returns(self):
        for _ in range(5):
            pid = self.detach()
            self.assertIn("Sluice", self.appctl("version"))
            self.assertEqual(self.appctl("exit"), "")
            self.wait_for_end(pid)
            self.assert_clean()

    def test_is_a_daemon(self):
        pid = self.detach()
        self.assertEqual(os.getsid(pid), pid)
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
        for fd in (0, 1, 2):
            self.assertEqual(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            parent = re.search(r"^PPid:\s+(\d+)", status.read(), re.MULTILINE)[1]
        self.assertNotEqual(int(parent), os.getpid())

    def test_no_chdir_and_relative_paths(self):
        os.mkdir(self.rundir)
        pid = self.detach("--no-chdir", "--unixctl=./mine.ctl", cwd=self.rundir)
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), os.path.realpath(self.rundir))
        target = os.path.join(self.rundir, "mine.ctl")
        self.assertIn("Sluice", self.appctl("-t", target, "version"))

    def test_failure_to_start_is_the_parents_failure(self):
        code, _, err = self.run_program("vswitchd", "--detach", "--unixctl=/nonexistent/x.ctl")
        self.assertEqual(code, 1)
        self.assertIn("/nonexistent/x.ctl", err)
        code, _, err = self.run_program("vswitchd", "--detach", "--log-file=/proc/nonexistent/log")
        self.assertEqual(code, 1)
        self.assertIn("/proc/nonexistent", err)

    def test_monitor_starts_a_crashed_daemon_again(self):
        first = self.detach("--monitor")
        os.kill(first, signal.SIGABRT)  # a sanitizer would turn SIGSEGV into an orderly exit

        def restarted():
            return os.path.exists(self.pid_file) and self.pid() != first and self.pid()

        second = wait_until(restarted, 30, "the monitor to start the daemon again")
        wait_until(lambda: os.path.exists(self.socket()), 10, "its control socket")
        self.assertIn("Sluice", self.appctl("version"))
        self.appctl("exit")
        self.wait_for_end(second)
        self.assertFalse(os.path.exists(self.pid_file))


class Instances(DaemonCase):
    def test_second_instance_is_refused_with_the_firsts_pid(self):
        pid = self.detach()
        for arguments in ((), ("--detach",)):
            code, _, err = self.run_program("vswitchd", "--pidfile", *arguments)
            self.assertEqual(code, 1)
            self.assertIn(f"{self.pid_file}: already running as pid {pid}, aborting", err)
        self.assertEqual(self.pid(), pid)
        self.assertIn("Sluice", self.appctl("version"))

    def test_after_kill_9_the_next_one_starts(self):
        first = self.detach()
        os.kill(first, signal.SIGKILL)
        self.wait_for_end(first)
        self.assertTrue(os.path.exists(self.pid_file), "the kill should have left the pid file")
        self.assertTrue(os.path.exists(self.socket(first)), "and the socket")
        code, _, err = self.run_program("appctl", "version")
        self.assertEqual(code, 1)
        self.assertIn(self.pid_file, err)
        second = self.detach()
        self.assertNotEqual(first, second)
        self.assertIn("Sluice", self.appctl("version"))

    def test_stale_socket_under_a_fixed_name_is_replaced(self):
        for _ in range(2):
            pid = self.detach("--unixctl=fixed.ctl")
            self.assertIn("Sluice", self.appctl("-t", os.path.join(self.rundir, "fixed.ctl"), "version"))
            os.kill(pid, signal.SIGKILL)
            self.wait_for_end(pid)

    def test_stale_pid_file_that_names_a_live_process(self):
        os.mkdir(self.rundir)
        with open(self.pid_file, "w", encoding="ascii") as f:
            f.write(f"{os.getpid()}\n")
        self.assertNotEqual(self.detach(), os.getpid())


class Endings(DaemonCase):
    def start(self):
        """In the foreground, so that the exit status is seen."""
        process = self.lab.spawn(program("vswitchd"), "--pidfile", "--log-file", env=self.env)
        wait_until(lambda: os.path.exists(self.socket(process.pid)), 10, "the control socket")
        return process

    def test_signals_end_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start()
            process.send_signal(number)
            self.assertEqual(process.wait(15), 0)
            self.assert_clean()

    def test_exit_answers_when_everything_is_taken_down(self):
        for arguments in ((), ("--cleanup",)):
            process = self.start()
            self.assertEqual(call(self.socket(process.pid), "exit", *arguments), "")
            self.assertEqual(process.wait(15), 0)
            self.assert_clean()

    def test_exit_with_a_wrong_argument_stays(self):
        process = self.start()
        code, _, err = self.run_program("appctl", "exit", "--clean")
        self.assertEqual(code, 2)
        self.assertIn("--cleanup", err)
        self.assertIsNone(process.poll())

    def test_sigpipe_is_harmless(self):
        process = self.start()
        process.send_signal(signal.SIGPIPE)
        self.assertIn("Sluice", self.appctl("version"))


class Logging(DaemonCase):
    LINE = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\|\d{5}\|\w+\|(EMER|ERR|WARN|INFO|DBG)\|.+$"

    def test_file_has_open_vswitchs_format(self):
        self.detach()
        lines = read_file(self.log).splitlines()
        self.assertGreaterEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, self.LINE)

    def test_vlog_set_takes_effect(self):
        self.detach("-vconsole:emer", "-vsyslog:err", "-vfile:info")
        self.assertRegex(self.appctl("vlog/list"), r"(?m)^unixctl +EMER +ERR +INFO$")
        self.assertNotIn("|DBG|", read_file(self.log))
        self.appctl("vlog/set", "unixctl:file:dbg")
        self.assertRegex(self.appctl("vlog/list"), r"(?m)^unixctl +EMER +ERR +DBG$")
        self.assertIn("|unixctl|DBG|", read_file(self.log))
        code, _, err = self.run_program("appctl", "vlog/set", "nosuch:dbg")
        self.assertEqual(code, 2)
        self.assertIn('no destination, level, or module "nosuch"', err)
        self.assertIn("FILE     none ", self.appctl("vlog/list-pattern"))

    def test_reopen_after_rotation(self):
        pid = self.detach()
        reopeners = (
            lambda: self.appctl("vlog/reopen"),
            lambda: os.kill(pid, signal.SIGHUP),
        )
        for number, reopen in enumerate(reopeners):
            os.rename(self.log, f"{self.log}.{number}")
            reopen()
            wait_until(lambda: os.path.exists(self.log), 5, "the new log file")
            self.assertIn("opened log file", read_file(self.log))

    def test_reopen_without_log_file_is_an_error(self):
        code, _, err = self.run_program("vswitchd", "--pidfile", "--detach")
        self.assertEqual(code, 0, err)
        code, _, err = self.run_program("appctl", "vlog/reopen")
        self.assertEqual(code, 2)
        self.assertIn("--log-file", err)


class Clients(DaemonCase):
    def test_appctl_and_ovs_appctl_say_the_same(self):
        harness.require_tool("ovs-appctl")
        self.detach()
        for arguments in (("version",), ("list-commands",), ("vlog/list",), ("coverage/read-counter", "no"),
                          ("nosuch",), ("vlog/set",), ("version", "x"), ("-t", "nosuch", "version"),
                          ("-t", "/nonexistent/ctl", "version"), ()):  # fmt: skip
            ours = self.run_program("appctl", *arguments)
            theirs = self.run_program("ovs-appctl", *arguments)
            self.assertEqual(ours[:2], theirs[:2], arguments)
            # ovs-appctl also logs warnings of its own to stderr; the message proper is what counts.
            proper = [line for line in theirs[2].splitlines() if "|WARN|" not in line]
            self.assertEqual(ours[2].splitlines(),
                             [re.sub("^ovs-appctl", "appctl", line) for line in proper])  # fmt: skip

    def test_coverage_and_memory(self):
        self.detach()
        self.assertRegex(self.appctl("coverage/show"), r"(?m)^unixctl_received .*/sec .* total: \d+$")
        before = int(self.appctl("coverage/read-counter", "unixctl_received"))
        after = int(self.appctl("coverage/read-counter", "unixctl_received"))
        self.assertEqual(after, before + 1)
        self.assertRegex(self.appctl("memory/show"), r"^peak-rss-kb:\d+ rss-kb:\d+")

    def test_format_json(self):
        self.detach()
        self.assertIn('"exit":"[--cleanup]"', self.appctl("--format=json", "list-commands"))
        self.assertIn('"exit":"[--cleanup]"', self.appctl("list-commands", "--format", "json"))
        self.assertRegex(self.appctl("-f", "json", "vlog/list"), r'^\{"reply":".*","reply-format":"plain"\}$')

    def test_timeout(self):
        pid = self.detach()
        os.kill(pid, signal.SIGSTOP)
        try:
            code, _, err = self.run_program("appctl", "-T", "1", "version", timeout=10)
            self.assertEqual(code, 1)
            self.assertIn("timeout", err)
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_bad_command_lines(self):
        for name, arguments, reason in (
            ("vswitchd", ("--user=nobody",), "--user=nobody"),
            ("vswitchd", ("punix:/x/db.sock",), "punix:/x/db.sock"),
            ("vswitchd", ("--nosuch",), "--nosuch"),
            ("vswitchd", ("-vnosuch",), "nosuch"),
            ("appctl", ("--nosuch", "version"), "--nosuch"),
            ("appctl", ("-T", "soon", "version"), "soon"),
            ("appctl", ("-f", "xml", "version"), "xml"),
        ):
            code, out, err = self.run_program(name, *arguments)
            self.assertEqual((code, out), (1, ""), arguments)
            self.assertIn(reason, err)

    def test_help_and_version(self):
        for name in ("vswitchd", "appctl"):
            self.assertIn("usage:", self.run_program(name, "--help")[1])
            self.assertIn("Sluice", self.run_program(name, "--version")[1])


if __name__ == "__main__":
    harness.main(time_limit=300)
