"""The cases: what is asked, who is compared, what is promised.

One table for the cases that are ratios of CPU per request, and the making of their contenders. The
cases that are other figures are in `figures`.
"""

import urllib.request
from dataclasses import dataclass

from .clients import CLIENTS, Load, installed, knows, note
from .machine import ephemeral_ports, wait_for_ports
from .measure import Sample, in_turns, run_client
from .servers import ADDRESSES, Origin

# Of runs with a connection per request, for each second that others run: where there is room for them
# in the ephemeral ports, and enough that a client's start does not show.
CLOSE_REQUESTS = 5_000
# A full handshake costs the server about 1 ms.
HANDSHAKES = 1_000
# Requests of a kept connection beside which its opening, a TLS handshake at worst, is a few per cent.
ENOUGH = 500


@dataclass(frozen=True)
class Case:
    """Clients against one site of nginx."""

    what: str
    site: str
    size: str
    tools: tuple
    # The target holds against the cheapest of these.
    judges: tuple
    target: float
    close: bool = False
    streams: int = 0
    # Requests of a run for each of its seconds, where the run has a fixed number of them.
    requests: int | None = None
    # The flag of `bakeoff load` without which there is no such case.
    flag: str | None = None


EVERYBODY = ("bakeoff", "wrk", "h2load", "oha", "vegeta", "k6")
HTTP = "HTTP/1.1, kept connections, "
TLS = "HTTP/1.1 over TLS 1.3, kept connections, "

RATIOS = {
    "http-1k": Case(HTTP + "1 KB", "http", "1k", EVERYBODY, ("wrk",), 0.60),
    "http-13k": Case(HTTP + "13 KB", "http", "13k", EVERYBODY, ("wrk",), 0.62),
    "close-1k": Case(
        "HTTP/1.1, a connection per request, 1 KB", "http", "1k", ("bakeoff", "wrk", "ab"), ("wrk", "ab"), 0.75,
        close=True, requests=CLOSE_REQUESTS,
    ),
    "tls-1k": Case(TLS + "1 KB", "tls", "1k", ("bakeoff", "wrk", "h2load"), ("wrk", "h2load"), 0.70),
    "tls-13k": Case(TLS + "13 KB", "tls", "13k", ("bakeoff", "wrk", "h2load"), ("wrk", "h2load"), 0.90),
    "tls-full": Case(
        "HTTP/1.1 over TLS 1.3, a full handshake per request, 1 KB", "full", "1k", ("bakeoff", "h2load"), ("h2load",),
        1.0, close=True, requests=HANDSHAKES,
    ),
    "h2-1k": Case(
        "HTTP/2 over TLS 1.3, kept connections of 10 streams, 1 KB", "h2", "1k", ("bakeoff", "h2load"), ("h2load",),
        1.0, streams=10, flag="--http2",
    ),
}  # fmt: skip


class Skipped(Exception):
    """A case that cannot be measured here, and why."""


def clients(case, nginx, options):
    """A case of the table above."""
    if case.flag and not knows(options.bakeoff, case.flag):
        raise Skipped(f"this `bakeoff load` does not know {case.flag}")
    tools = [name for name in case.tools if name in options.tools]
    contenders = {name: client(name, case, nginx, options) for name in tools if installed(name, options.bakeoff)}
    optional = {name for name in contenders if CLIENTS[name].optional}
    result = in_turns(contenders, optional, options.rounds, "bakeoff", case.judges)
    least = min(sample.requests for samples in result.samples.values() for sample in samples)
    if not case.close and least < ENOUGH * options.connections:
        note(f"{case.what}: a run made {least} requests only, so that starting a client shows in its figures")
    return result


def client(name, case, nginx, options):
    def run():
        load = Load(
            nginx.url(case.site, case.size, spread=case.close),
            options.connections,
            options.seconds,
            nginx.folder,
            requests=case.requests and case.requests * options.seconds,
            close=case.close,
            streams=case.streams,
        )
        if case.close:
            # So that one run, the largest of which goes by time, finds a whole address' ports free.
            wait_for_ports((len(ADDRESSES) - 1) * ephemeral_ports())
        if case.site == "full":
            nginx.forget_handshakes()
        sample = run_client(name, load, {options.client_core}, options.bakeoff)
        if case.site == "full":
            nginx.check_handshakes(sample.requests)
        return sample

    return run


def two_threads(nginx, options):
    """bakeoff with two threads beside bakeoff with one.

    With two cores there is none for the server alone when the client has two, so in both arms client
    and server may use both cores, and the scheduler decides.
    """
    both = {options.server_core, options.client_core}
    if len(both) < 2:
        raise Skipped("needs two cores")

    def contender(threads):
        load = Load(nginx.url("http", "1k"), options.connections, options.seconds, nginx.folder, threads=threads)
        return lambda: run_client("bakeoff", load, both, options.bakeoff)

    nginx.place(both)
    try:
        contenders = {"2 threads": contender(2), "1 thread": contender(1)}
        return in_turns(contenders, set(), options.rounds, "2 threads", ("1 thread",))
    finally:
        nginx.place({options.server_core})


def origin(size, nginx, options):
    """CPU of the server: `bakeoff origin` beside nginx with the same bytes, both loaded by wrk."""
    with Origin(options.bakeoff, options.server_core) as ours:
        url = ours.url(size)
        name = f"origin-{size}"
        (nginx.site / name).write_bytes(urllib.request.urlopen(url, timeout=5).read())

        def contender(server, url):
            load = Load(url, options.connections, options.seconds, nginx.folder)

            def run():
                before = server.cpu()
                seen = run_client("wrk", load, {options.client_core}, options.bakeoff)
                return Sample(seen.requests, server.cpu() - before, seen.wall_seconds)

            return run

        contenders = {"bakeoff origin": contender(ours, url), "nginx": contender(nginx, nginx.url("http", name))}
        return in_turns(contenders, set(), options.rounds, "bakeoff origin", ("nginx",))


ORIGIN = "CPU of the server, loaded by wrk, kept connections, "
# Name to what, target, and how it is measured.
COMPARED = {
    **{
        name: (case.what, case.target, lambda nginx, options, case=case: clients(case, nginx, options))
        for name, case in RATIOS.items()
    },
    "two-threads": ("two generator threads beside one, client and server both on both cores", 1.05, two_threads),
    "origin-1k": (ORIGIN + "1 KB", 0.8, lambda nginx, options: origin("1k", nginx, options)),
    "origin-13k": (ORIGIN + "13 KB", 0.8, lambda nginx, options: origin("13k", nginx, options)),
}
