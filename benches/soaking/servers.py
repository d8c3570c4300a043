"""The servers that are asked, and what they themselves count: nginx by its access log, `bakeoff origin` by
its closing lines.

Each has free ports and a directory of its own and is ended on every way out. Pins nothing: a soak is about
what is right, not about how fast.
"""

import ctypes
import os
import re
import resource
import signal
import socket
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from generators.clients import last_lines
from generators.servers import free_ports

# A connection ends after so many requests, so that in every run some are replaced.
PER_CONNECTION = 20_000
WORKER_CONNECTIONS = 16_384
END_SECONDS = 20


class Fault(Exception):
    """Something that must not be, in a sentence."""


@dataclass
class Tally:
    """What a server says it did."""

    requests: int
    # Replies of the wanted status, sent to their last byte.
    replies: int
    # None where the server does not say.
    connections: int | None = None
    # What is neither: lines of the log with another status or length, endings of connections. With numbers.
    others: dict = field(default_factory=dict)


class Server:
    """A process of a directory of its own."""

    process = None

    def start(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=before_exec, **options)

    def stop(self, how=signal.SIGTERM):
        """Ends it in order; its exit status."""
        self.process.send_signal(how)
        try:
            return self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Fault(f"{self.process.args[0]} had not ended {END_SECONDS} s after it was told to") from None

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def pid(self):
        return self.process.pid


LIBC = ctypes.CDLL(None)


def before_exec(descriptors=None):
    """In the child: its limit of descriptors, and that it does not outlive this script."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = descriptors or hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Should this script be killed outright, the kernel ends the child (PR_SET_PDEATHSIG is 1).
    LIBC.prctl(1, signal.SIGTERM)


class Origin(Server):
    """`bakeoff origin` with one thread."""

    def __init__(self, bakeoff, folder, tls=False):
        command = [str(bakeoff), "origin", "--port", "0", "--threads", "1", *(["--tls"] if tls else [])]
        self.said = folder / "origin.err"
        self.wanted_bytes = None
        with open(self.said, "wb") as errors:
            self.start(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening: "):
            self.kill()
            raise Fault(f"bakeoff origin does not start: {line}{last_lines(self.said.read_text())}")
        self.base = line.removeprefix("listening: ").strip().rstrip("/")
        self.port = int(self.base.rsplit(":", 1)[1])

    def url(self, size):
        self.wanted_bytes = size
        return f"{self.base}/bytes/{size}"

    def tally(self):
        """Ends it and reads its closing lines."""
        status = self.stop()
        said = self.said.read_text()
        requests = re.search(r"^requests: (\d+)$", said, re.M)
        replies = re.search(r"^replies: (\d+) with (\d+) bytes of bodies, on (\d+) connections$", said, re.M)
        if status != 0 or not requests or not replies:
            raise Fault(f"bakeoff origin ended with {status} and no tally: {last_lines(said)}")
        count, body_bytes, connections = map(int, replies.groups())
        others = {why: int(number) for number, why in re.findall(r"^ended: (\d+) \((.*)\)$", said, re.M)}
        if body_bytes != count * self.wanted_bytes:
            others[f"bytes of bodies in {count} replies of {self.wanted_bytes}"] = body_bytes
        return Tally(int(requests[1]), count, connections, others)


class Nginx(Server):
    """A private nginx with one site, which logs the status and length of each reply."""

    def __init__(self, folder, size, listen="", more="", log=True):
        self.folder, self.size = folder, size
        self.port = free_ports(1)[0]
        self.scheme = "https" if "ssl" in listen.split() else "http"
        (folder / "site").mkdir()
        (folder / "site/object").write_bytes(os.urandom(size))
        if self.scheme == "https":
            self.certificate()
        (folder / "nginx.conf").write_text(self.configuration(listen, more, log))
        self.start(["nginx", "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"], stderr=subprocess.DEVNULL)
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def url(self, _size):
        return f"{self.scheme}://127.0.0.1:{self.port}/object"

    def certificate(self):
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
        command += " -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout key.pem -out cert.pem"
        made = subprocess.run(command.split(), cwd=self.folder, capture_output=True, text=True)
        if made.returncode != 0:
            raise Fault(f"openssl made no certificate: {last_lines(made.stderr)}")

    def configuration(self, listen, more, log):
        temporary = "\n".join(
            f"    {kind}_temp_path {kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        tls = "ssl_certificate cert.pem; ssl_certificate_key key.pem;" if self.scheme == "https" else ""
        return f"""{"user root;" if os.geteuid() == 0 else ""}
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log;
worker_shutdown_timeout {END_SECONDS // 2}s;
events {{ worker_connections {WORKER_CONNECTIONS}; }}
http {{
{temporary}
    log_format count '$status $body_bytes_sent';
    access_log {"access.log count buffer=64k" if log else "off"};
    sendfile on;
    keepalive_requests {PER_CONNECTION};
    keepalive_timeout 1h;
    root site;
    {more}
    server {{ listen 127.0.0.1:{self.port} backlog=16384 {listen}; {tls} }}
}}
"""

    def wait_until_ready(self):
        deadline = time.monotonic() + 10
        while True:
            if self.process.poll() is not None or time.monotonic() > deadline:
                log = self.folder / "error.log"
                raise Fault(f"nginx does not get ready: {last_lines(log.read_text() if log.exists() else '')}")
            try:
                # Says nothing, and so leaves no line in the log. When it is closed the worker is at work.
                with socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                    probe.shutdown(socket.SHUT_WR)
                    probe.settimeout(5)
                    while probe.recv(100):
                        pass
                    return
            except OSError:
                time.sleep(0.02)

    def tally(self):
        """Ends it, when its last requests are done, and reads its log."""
        status = self.stop(signal.SIGQUIT)
        if status != 0:
            raise Fault(f"nginx ended with {status}")
        with open(self.folder / "access.log") as log:
            seen = Counter(log)
        lines = {line.strip(): count for line, count in seen.items()}
        good = lines.pop(f"200 {self.size}", 0)
        return Tally(good + sum(lines.values()), good, None, lines)


def connections_of(port):
    """TCP connections of a server at this port that stand or are being closed, TIME_WAIT apart: the kernel
    alone has those."""
    found = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        # Only by the local end: another server's peer may have had the same port before.
        _, local, _, state = line.split()[:4]
        # 06 is TIME_WAIT, 0A is LISTEN: include/net/tcp_states.h.
        found += int(local.rsplit(":", 1)[1], 16) == port and state not in ("06", "0A")
    return found
