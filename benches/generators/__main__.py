"""The engine's bench: flags, the machine's description, one case after the other, the page.

Run as `benches/compare-generators`, whose head says what it is about.
"""

import argparse
import datetime
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import clients, machine, table
from .cases import COMPARED, Skipped
from .clients import CLIENTS, Refused, note
from .figures import FIGURES
from .servers import Nginx

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/engine.md"
CASES = [*COMPARED, *FIGURES]
# What `make bench` does. Fewer rounds or shorter ones are no figures to keep.
ROUNDS, SECONDS = 7, 3


def main(about):
    sys.stdout.reconfigure(line_buffering=True)
    # Debian keeps servers where an ordinary user's PATH does not look.
    os.environ["PATH"] += ":/usr/sbin"
    options = arguments(about)
    find(options)
    # SIGTERM must take the same way out as Ctrl-C: through the ends that stop the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begin = time.monotonic()
    folder = tempfile.TemporaryDirectory(prefix="bakeoff-bench-")
    with folder as path, Nginx(Path(path), options.server_core) as nginx:
        page = table.Page(description(options, nginx))
        for what, here in page.machine:
            print(f"{what}: {here}")
        warn(options)
        results = {}
        refused = [case for case in options.cases if not measure(case, nginx, options, results, page)]
    print(f"\n{len(options.cases)} cases took {time.monotonic() - begin:.0f} s")
    write(page, options)
    if refused:
        sys.exit(f"refused: {', '.join(refused)}")


def arguments(about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="of each run that goes by time")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--client-core", type=int, default=1)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--tools", nargs="+", choices=list(CLIENTS), default=list(CLIENTS))
    parser.add_argument("--bakeoff", type=Path, default=ROOT / "target/release/bakeoff")
    parser.add_argument(
        "--output",
        type=Path,
        help=f"Markdown file to write [default: {PAGE.relative_to(ROOT)}, but only by a run of all cases "
        f"with at least {ROUNDS} rounds of {SECONDS} s]",
    )
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds < 1 or options.connections < 1:
        parser.error("rounds, seconds and connections start at 1")
    cores = os.sched_getaffinity(0)
    if not {options.server_core, options.client_core} <= cores:
        parser.error(f"this process may use the cores {sorted(cores)} only: --server-core, --client-core")
    # In the table's order, whatever order they were asked for in: later cases use earlier ones' figures.
    options.cases = [case for case in CASES if case in options.cases]
    return options


def find(options):
    needed = ["nginx", "openssl", *(name for name in options.tools if name != "bakeoff" and not CLIENTS[name].optional)]
    if any(case.startswith("origin") for case in options.cases):
        needed.append("wrk")
    for program in needed:
        if not shutil.which(program):
            sys.exit(f"{program} is missing; as root, tests/prepare installs what is needed")
    if not os.access(options.bakeoff, os.X_OK):
        sys.exit(f"{options.bakeoff} is missing: cargo build --release")


def first_line(*command):
    try:
        said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    except OSError:
        return "unknown"
    return next(iter((said.stdout + said.stderr).splitlines()), "unknown")


def description(options, nginx):
    return [
        ("date", datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("processor", f"{machine.processor()}, {os.cpu_count()} cores"),
        ("placement", f"servers on core {options.server_core}, clients on core {options.client_core}, loopback"),
        ("load average", f"{os.getloadavg()[0]:.2f} before the first case"),
        ("runs", f"{options.rounds} rounds of {options.seconds} s, {options.connections} connections"),
        ("TLS", nginx.check_tls()),
        ("revision", first_line("git", "describe", "--always", "--dirty")),
        ("nginx", first_line("nginx", "-v").removeprefix("nginx version: ")),
        ("openssl", f"{first_line('openssl', 'version')} (nginx, wrk, h2load and ab use the system's)"),
        *((name, clients.version(name, options.bakeoff)) for name in options.tools),
    ]


def warn(options):
    if os.getloadavg()[0] > 0.3 * os.cpu_count():
        note("the load average is high: somebody else is using this machine, do not believe small differences")
    if options.server_core == options.client_core:
        note("server and client share a core")


def measure(case, nginx, options, results, page):
    """Measures, prints and files one case; False when it was refused."""
    window = machine.Window()

    def conditions():
        return f"{window.stolen():.1%}", f"{window.load:.2f}"

    what = COMPARED[case][0] if case in COMPARED else FIGURES[case][0]
    print(f"\n{case}: {what}")
    try:
        if case in COMPARED:
            _, target, run = COMPARED[case]
            results[case] = run(nginx, options)
            page.add_ratio(case, what, target, results[case], conditions())
            lines = table.terminal_ratio(results[case], target)
        else:
            figures = list(FIGURES[case][1](nginx, options, results))
            page.add_figures(case, figures, conditions())
            lines = table.terminal_figures(figures)
    except (Refused, Skipped) as why:
        kind = type(why).__name__.lower()
        page.add_missing(case, f"{kind}: {why}")
        print(f"  {kind}: {why}")
        return isinstance(why, Skipped)
    print("\n".join(lines))
    print("  stolen {}, load average when it began {}".format(*conditions()))
    return True


def write(page, options):
    whole = options.cases == CASES and options.tools == list(CLIENTS)
    path = options.output
    if path is None and whole and options.rounds >= ROUNDS and options.seconds >= SECONDS:
        path = PAGE
    if path is None:
        print("no page is written: this was not the whole bench (--output FILE writes one)")
        return
    path.write_text(page.text())
    print(f"written: {path}")


if __name__ == "__main__":
    main(__doc__)
