"""OpenFlow controllers that we did not write, and certificates for them."""

import os
import socket

from harness import end_process, run, wait_until


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


class Controller:
    """A process that listens on a port of its own; may be stopped and started again."""

    def __init__(self, lab, command, name):
        self._lab = lab
        self._command = command
        self._log = os.path.join(lab.scratch, f"{name}.log")
        self.process = None

    def start(self, port):
        self.process = self._lab.spawn(*self._command, log=self._log)
        wait_until(lambda: self.process.poll() is not None or listens(port), 60, "the controller to listen")
        assert self.process.poll() is None, self.said()
        return self

    def stop(self):
        end_process(self.process)

    def said(self):
        with open(self._log, encoding="utf-8", errors="replace") as f:
            return f.read()


def test_controller(lab, port, pki=None):
    """ovs-testcontroller: a learning switch."""
    kind = "pssl" if pki else "ptcp"
    options = pki.options("controller") if pki else []
    command = ["ovs-testcontroller", f"--unixctl={lab.scratch}/testcontroller.ctl", *options, f"{kind}:{port}:127.0.0.1"]
    return Controller(lab, command, "testcontroller").start(port)


def os_ken(lab, port, version, pki=None):
    """os-ken with osken_switch.py, for OpenFlow 1.0, 1.3 or 1.5."""
    options = ["--ofp-listen-host", "127.0.0.1"]
    if pki:
        options += ["--ofp-tcp-listen-port", str(free_port()), "--ofp-ssl-listen-port", str(port), "--ctl-privkey",
                    pki.file("controller", "key"), "--ctl-cert", pki.file("controller", "pem"), "--ca-certs",
                    pki.file("ca", "pem")]  # fmt: skip
    else:
        options += ["--ofp-tcp-listen-port", str(port)]
    application = os.path.join(os.path.dirname(os.path.abspath(__file__)), "osken_switch.py")
    command = ["env", f"OF_VERSION={version}", "PYTHONDONTWRITEBYTECODE=1", "osken-manager", *options, application]
    return Controller(lab, command, f"osken{version}").start(port)


class Pki:
    """Keys and certificates of one authority, made by openssl."""

    def __init__(self, folder):
        self._folder = folder
        os.makedirs(folder)
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority", "-keyout",
                      self.file("ca", "key"), "-out", self.file("ca", "pem"))  # fmt: skip
        for name in ("switch", "controller"):
            self.issue(name)

    def issue(self, name, days=2):
        self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout",
                      self.file(name, "key"), "-out", self.file(name, "req"))  # fmt: skip
        self._openssl("x509", "-req", "-days", days, "-in", self.file(name, "req"), "-CA", self.file("ca", "pem"),
                      "-CAkey", self.file("ca", "key"), "-set_serial", len(os.listdir(self._folder)), "-out",
                      self.file(name, "pem"))  # fmt: skip

    def file(self, name, kind):
        return os.path.join(self._folder, f"{name}.{kind}")

    def options(self, name):
        return [f"--private-key={self.file(name, 'key')}", f"--certificate={self.file(name, 'pem')}",
                f"--ca-cert={self.file('ca', 'pem')}"]  # fmt: skip

    @staticmethod
    def _openssl(*arguments):
        run("openssl", *arguments)
