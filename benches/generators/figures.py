"""The cases that are figures of bakeoff alone: how late an open loop sends, and memory.

They are compared with a promise and with nobody else.
"""

import resource
import statistics
from dataclasses import dataclass

from .cases import RATIOS, client
from .clients import Load, Refused, bakeoff_command, bakeoff_report, knows
from .measure import peak_of, repeat, run_client
from .servers import WORKER_CONNECTIONS

# Of the client's core, in the open loop.
BUSY = 0.5
# Of what the server did in the closed loop: beyond that requests wait for a connection, not for the client.
SERVER_SHARE = 0.9
# Steps towards `BUSY`: a request costs more in an open loop, where fewer are sent at a time.
STEPS = 3
CONNECTIONS = (1_000, 9_000)
ROBOTS = (10_000, 100_000)
THINK_SECONDS = 60


@dataclass(frozen=True)
class Figure:
    """One row: what, its value in words, the target in words, and whether it was met (None: none set)."""

    what: str
    value: str
    target: str = ""
    met: bool | None = None


def open_lateness(nginx, options, results):
    rate, note = rate_of(nginx, options, results)
    reports, samples = [], []
    for _ in range(options.rounds):
        sample = repeat(lambda: open_run(rate, nginx, options), "bakeoff")
        samples.append(sample)
        reports.append(bakeoff_report(sample.output))
    busy = statistics.median(sample.busy for sample in samples)
    yield Figure("rate", f"{rate:.0f}/s, {busy:.0%} of a core{note}")
    for key, words in (("lateness_ns", "lateness"), ("lateness_undelayed_ns", "lateness outside run-queue delay")):
        if key in reports[0]:
            yield lateness(reports, key, "p99", f"{words}, p99", 100)
            yield lateness(reports, key, "p999", f"{words}, p99.9", 1_000)
    if "delayed_share" in reports[0]:
        shares = [report["delayed_share"] for report in reports]
        yield Figure("intervals with run-queue delay", f"{statistics.median(shares):.1%} (most {max(shares):.1%})")
    postponed = sum(report.get("postponed", 0) for report in reports)
    yield Figure("postponed for want of a connection", f"{postponed} of {sum(s.requests for s in samples)}")


def lateness(reports, key, quantile, words, target_us):
    values = [report[key][quantile] / 1e3 for report in reports]
    middle = statistics.median(values)
    value = f"{middle:.0f} us (by run {min(values):.0f} to {max(values):.0f})"
    return Figure(words, value, f"{target_us} us", middle <= target_us)


def rate_of(nginx, options, results):
    """The rate at which the client's core is half busy, begun from what http-1k cost."""
    known = results.get("http-1k")
    if known and "bakeoff" in known.samples:
        micros, most = known.median("bakeoff"), known.per_second("bakeoff")
    else:
        sample = repeat(client("bakeoff", RATIOS["http-1k"], nginx, options), "bakeoff")
        micros, most = sample.micros, sample.per_second
    most *= SERVER_SHARE
    rate = min(BUSY * 1e6 / micros, most)
    for _ in range(STEPS):
        busy = repeat(lambda: open_run(rate, nginx, options, seconds=1), "bakeoff").busy
        rate = min(rate * BUSY / busy, most)
    return rate, f", held at {SERVER_SHARE:.0%} of the server's most" if rate == most else ""


def open_run(rate, nginx, options, seconds=None):
    load = Load(nginx.url("http", "1k"), options.connections, seconds or options.seconds, nginx.folder)
    command = [*own_connections(load, options), "--rate", f"{rate:.0f}/s"]
    return run_client("bakeoff", load, {options.client_core}, options.bakeoff, command)


def own_connections(load, options):
    """The command with bakeoff's own number of connections: a pool that is full would postpone."""
    command = bakeoff_command(load, options.bakeoff)
    at = command.index("--connections")
    return command[:at] + command[at + 2 :]


def memory(nginx, options, _results):
    yield connections(nginx, options)
    yield robots(nginx, options)


def connections(nginx, options):
    few, many = CONNECTIONS
    what = f"per busy plain connection ({few} and {many})"
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < WORKER_CONNECTIONS:
        return Figure(what, f"skipped: needs `ulimit -Hn {WORKER_CONNECTIONS}`, is {hard}")
    # Thousands connect at once: they need a while.
    seconds = max(options.seconds, 4)

    def peak(count):
        load = Load(nginx.url("http", "1k"), count, seconds, nginx.folder)
        bytes_, output = peak_of(bakeoff_command(load, options.bakeoff), {options.client_core})
        opened = bakeoff_report(output)["connections"]
        if opened < count:
            raise Refused(f"{opened} of {count} connections were opened")
        return bytes_

    return difference(what, peak, few, many, 8)


def robots(nginx, options):
    few, many = ROBOTS
    what = f"per waiting robot ({few} and {many})"
    for flag in ("--robots", "--think"):
        if not knows(options.bakeoff, flag):
            return Figure(what, f"skipped: this `bakeoff load` does not know {flag}")

    def peak(count):
        load = Load(nginx.url("http", "1k"), options.connections, max(options.seconds, 4), nginx.folder)
        command = [*own_connections(load, options), "--robots", str(count), "--think", f"{THINK_SECONDS}s"]
        bytes_, output = peak_of(command, {options.client_core})
        bakeoff_report(output)
        return bytes_

    return difference(what, peak, few, many, 1)


def difference(what, peak, few, many, target_kb):
    try:
        low, high = (repeat(lambda count=count: peak(count), f"bakeoff with {count}") for count in (few, many))
    except Refused as why:
        return Figure(what, f"refused: {why}")
    if high <= low:
        return Figure(what, f"refused: {high} bytes with {many} are not more than {low} with {few}")
    each = (high - low) / (many - few) / 1e3
    value = f"{each:.2f} KB ({low / 1e6:.1f} and {high / 1e6:.1f} MB in all)"
    return Figure(what, value, f"{target_kb} KB", each <= target_kb)


FIGURES = {
    "open-lateness": ("how late an open loop sends at half of a core", open_lateness),
    "memory": ("resident memory of the client's process", memory),
}
