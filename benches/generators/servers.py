"""The servers: one private nginx for all cases, and `bakeoff origin` for those about the origin.

Each has one worker on the server core, free ports, a directory of its own, and is ended on every way
out. Owns nginx's configuration and what its log says of TLS handshakes.
"""

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from .clients import Refused, last_lines
from .machine import cpu_clock

SIZES = {"1k": 1_000, "13k": 13_000}
# The one TLS 1.3 cipher suite and the one group that nginx offers here, so that every client has the
# same work.
CIPHER = "TLS_AES_256_GCM_SHA384"
GROUP = "X25519"
# What nginx must log for each request of a full handshake: not reused, version, cipher, group, and the
# first request of its connection.
FULL = f". TLSv1.3 {CIPHER} {GROUP} 1"
# Cases with a connection per request go round these, so that one address' ports are used again late.
ADDRESSES = [f"127.0.0.{last}" for last in (1, 2, 3, 4)]
# Of the memory case, with room for those that are being closed.
WORKER_CONNECTIONS = 12_000


class Server:
    """A process on its core, whose CPU can be read."""

    process = None

    def start(self, command, core, **options):
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, preexec_fn=lambda: before_exec(core), **options
        )

    def pids(self):
        # nginx's worker is a child of its master; there is no deeper level.
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [self.process.pid, *map(int, children.split())]

    def cpu(self):
        return sum(cpu_clock(pid) for pid in self.pids())

    def place(self, cores):
        for pid in self.pids():
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), cores)

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __exit__(self, *_):
        self.stop()


def before_exec(core):
    os.sched_setaffinity(0, {core})
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Should this script be killed outright, the kernel ends the server (PR_SET_PDEATHSIG is 1).
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Origin(Server):
    """`bakeoff origin` with one thread."""

    def __init__(self, bakeoff, core):
        self.bakeoff, self.core, self.base = bakeoff, core, None

    def __enter__(self):
        command = [str(self.bakeoff), "origin", "--port", "0", "--threads", "1"]
        self.start(command, self.core, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said = self.process.stdout.readline()
        if not said.startswith("listening: "):
            self.stop()
            raise Refused(f"bakeoff origin does not start: {said}")
        self.base = said.removeprefix("listening: ").strip().rstrip("/")
        return self

    def url(self, size):
        return f"{self.base}/bytes/{SIZES[size]}"


class Nginx(Server):
    """All sites of all cases: `http`, `tls`, `full` (handshakes, logged) and `h2`."""

    def __init__(self, folder, core):
        self.folder, self.core = folder, core
        self.ports = dict(zip(("http", "tls", "full", "h2"), free_ports(4)))
        self.site, self.log = folder / "site", folder / "full.log"
        self.turn = 0

    def url(self, site, path, spread=False):
        """With `spread`, another address at each call."""
        self.turn += spread
        address = ADDRESSES[self.turn % len(ADDRESSES)] if spread else ADDRESSES[0]
        return f"{'http' if site == 'http' else 'https'}://{address}:{self.ports[site]}/{path}"

    def __enter__(self):
        self.site.mkdir()
        for name, size in SIZES.items():
            (self.site / name).write_bytes(os.urandom(size))
        self.certificate()
        (self.folder / "nginx.conf").write_text(self.configuration())
        self.start(["nginx", "-p", str(self.folder), "-c", "nginx.conf", "-e", "error.log"], self.core)
        try:
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def wait_until_ready(self):
        deadline = time.monotonic() + 10
        for port in self.ports.values():
            while True:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    log = self.folder / "error.log"
                    said = log.read_text() if log.exists() else ""
                    sys.exit(f"nginx does not get ready:\n{last_lines(said)}")
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.02)

    def forget_handshakes(self):
        os.truncate(self.log, 0)

    def check_handshakes(self, requests):
        """Refuses the run unless nginx saw a full handshake of the wanted kind for each request."""
        seen = Counter(self.log.read_text().splitlines())
        wrong = {line: count for line, count in seen.items() if line != FULL}
        if wrong:
            raise Refused(f"nginx logged other than `{FULL}`: {wrong}")
        if seen[FULL] < requests:
            raise Refused(f"nginx logged {seen[FULL]} full handshakes, the client says {requests} requests")

    def certificate(self):
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
        command += " -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout key.pem -out cert.pem"
        made = subprocess.run(command.split(), cwd=self.folder, capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(f"openssl made no certificate: {last_lines(made.stderr)}")

    def listen(self, site, options=""):
        # The backlog is for the memory case, where thousands connect at once.
        return "\n".join(
            f"        listen {address}:{self.ports[site]} backlog=16384 {options};" for address in ADDRESSES
        )

    def configuration(self):
        user = "user root;" if os.geteuid() == 0 else ""
        temporary = "\n".join(
            f"    {kind}_temp_path {kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return f"""{user}
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log;
events {{ worker_connections {WORKER_CONNECTIONS}; }}
http {{
{temporary}
    access_log off;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=100;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    root site;
    ssl_certificate cert.pem;
    ssl_certificate_key key.pem;
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites {CIPHER};
    ssl_ecdh_curve {GROUP};
    log_format handshakes '$ssl_session_reused $ssl_protocol $ssl_cipher $ssl_curve $connection_requests';
    server {{
{self.listen("http")}
    }}
    server {{
{self.listen("tls", "ssl")}
    }}
    server {{
{self.listen("h2", "ssl http2")}
    }}
    server {{
{self.listen("full", "ssl")}
        # h2load resumes whatever it can, so nothing can be resumed. Not a ticket is sent: a client
        # would pay for keeping what it must not use.
        ssl_session_cache off;
        ssl_session_tickets off;
        ssl_conf_command NumTickets 0;
        ssl_conf_command Ciphersuites {CIPHER};
        access_log full.log handshakes;
    }}
}}
"""

    def check_tls(self):
        """That nginx speaks what the cases say; the words for it."""
        address = f"127.0.0.1:{self.ports['tls']}"
        command = ["openssl", "s_client", "-connect", address, "-servername", "localhost"]
        said = subprocess.run(command, input="", capture_output=True, text=True).stdout
        if f"New, TLSv1.3, Cipher is {CIPHER}" not in said:
            sys.exit(f"nginx does not speak TLSv1.3 with {CIPHER}:\n{last_lines(said)}")
        return f"TLSv1.3, {CIPHER}, {GROUP}, P-256 certificate; nginx offers nothing else"


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()
