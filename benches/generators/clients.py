"""The clients that are compared: how each is called, and how many requests it says it made.

Owns command lines and the reading of what tools print. Starts nothing, measures nothing. A tool that
had any error, or says nothing one can read, is `Refused`: its run does not count.
"""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable


class Refused(Exception):
    """A run that does not count, and why."""


@dataclass(frozen=True)
class Load:
    """What a client is to do. With `requests` it makes so many, else it asks for `seconds`."""

    url: str
    connections: int
    seconds: int
    # Files that a tool needs to be started or leaves behind.
    scratch: Path
    requests: int | None = None
    # A connection for each request.
    close: bool = False
    threads: int = 1
    # Above 0: HTTP/2 with so many streams a connection.
    streams: int = 0


@dataclass(frozen=True)
class Client:
    """One tool."""

    # (load, bakeoff's path) to the arguments.
    command: Callable
    # (output, exit status, load) to the number of requests, or Refused.
    count: Callable
    # The arguments that make it say its version.
    version: tuple
    # An optional tool is used where it is installed; the others must be.
    optional: bool = False


def bakeoff_command(load, bakeoff):
    command = [str(bakeoff), "load", load.url, "--connections", str(load.connections)]
    command += ["--threads", str(load.threads), "--json"]
    command += ["--requests", str(load.requests)] if load.requests else ["--duration", f"{load.seconds}s"]
    # The other tools check no certificate either.
    command += ["--insecure"] if load.url.startswith("https") else []
    command += ["--no-keepalive"] if load.close else []
    if load.close and load.url.startswith("https") and knows(bakeoff, "--resume"):
        command += ["--resume", "0%"]
    command += ["--http2", "--streams", str(load.streams)] if load.streams else []
    return command


def bakeoff_report(output):
    """The JSON object that `bakeoff load --json` printed; refused when there were errors."""
    start = output.find("{")
    try:
        said = json.loads(output[start : output.rfind("}") + 1]) if start >= 0 else None
    except ValueError:
        said = None
    if said is None:
        raise Refused(f"no JSON: {last_lines(output)}")
    if said["errors"] != 0:
        raise Refused(f"{said['errors']} errors: {said.get('errors_by_class')}")
    if not said.get("valid", True):
        note(f"bakeoff calls its run invalid: {said.get('invalid_reason')}")
    return said


def bakeoff_count(output, _status, _load):
    return bakeoff_report(output)["requests"]


def wrk_command(load, _bakeoff):
    # wrk has no fixed number of requests; where others have one, it asks for the time alone.
    command = ["wrk", f"-t{load.threads}", f"-c{load.connections}", f"-d{load.seconds}s"]
    return command + (["-H", "Connection: close"] if load.close else []) + [load.url]


def wrk_count(output, status, _load):
    for sign in ("Socket errors", "Non-2xx"):
        if sign in output:
            raise Refused(next(line.strip() for line in output.splitlines() if sign in line))
    found = re.search(r"^\s*(\d+) requests in ", output, re.M)
    if status != 0 or not found:
        raise Refused(last_lines(output))
    return int(found[1])


def h2load_command(load, _bakeoff):
    command = ["h2load", f"-t{load.threads}", f"-c{load.connections}"]
    command += ["-m", str(load.streams)] if load.streams else ["--h1"]
    if load.close:
        # It then connects again for each request, with -n at least: with -D version 1.52 ends without a
        # word on its requests. A connection resumes the TLS session of the one before it where the
        # server lets it, and no option forbids that: the server must.
        command += ["-H", "Connection: close"]
    return command + (["-n", str(load.requests)] if load.requests else [f"-D{load.seconds}"]) + [load.url]


def h2load_count(output, status, _load):
    counts = r"^requests: .*?(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout"
    found = re.search(counts, output, re.M)
    if status != 0 or not found:
        raise Refused(last_lines(output))
    done, succeeded, failed, errored, late = map(int, found.groups())
    if failed or errored or late or succeeded != done:
        raise Refused(found[0])
    return done


def ab_command(load, _bakeoff):
    count = ["-n", str(load.requests)] if load.requests else ["-t", str(load.seconds), "-n", "1000000000"]
    return ["ab", "-q", "-c", str(load.connections), *count, *([] if load.close else ["-k"]), load.url]


def ab_count(output, status, _load):
    done = re.search(r"^Complete requests:\s*(\d+)", output, re.M)
    failed = re.search(r"^Failed requests:\s*(\d+)", output, re.M)
    if status != 0 or not done or not failed:
        raise Refused(last_lines(output))
    if int(failed[1]) or "Non-2xx" in output:
        raise Refused(next(line for line in output.splitlines() if "Failed" in line or "Non-2xx" in line))
    return int(done[1])


def oha_command(load, _bakeoff):
    # Without -w, what is in flight at the end is counted as an error.
    command = ["oha", "--no-tui", "--output-format", "json", "-w", "-z", f"{load.seconds}s"]
    return command + ["-c", str(load.connections), "--insecure", load.url]


def oha_count(output, status, _load):
    start = output.find("{")
    if status != 0 or start < 0:
        raise Refused(last_lines(output))
    said = json.loads(output[start:])
    statuses, errors = said["statusCodeDistribution"], said["errorDistribution"]
    if errors or set(statuses) != {"200"}:
        raise Refused(f"statuses {statuses}, errors {errors}")
    return statuses["200"]


def vegeta_command(load, _bakeoff):
    targets = load.scratch / "vegeta.targets"
    targets.write_text(f"GET {load.url}\n")
    workers = str(load.connections)
    # Rate 0 is its closed loop.
    command = ["vegeta", "attack", "-rate=0", "-workers", workers, "-max-workers", workers, "-connections", workers]
    command += [f"-duration={load.seconds}s", "-insecure", "-http2=false", "-targets", str(targets)]
    return command + ["-output", str(load.scratch / "vegeta.results")]


def vegeta_count(output, status, load):
    report = ["vegeta", "report", "-type=json", str(load.scratch / "vegeta.results")]
    said = subprocess.run(report, capture_output=True, text=True)
    if status != 0 or said.returncode != 0:
        raise Refused(last_lines(output + said.stderr))
    said = json.loads(said.stdout)
    if said["success"] != 1 or said["errors"]:
        raise Refused(f"success {said['success']}, errors {said['errors']}")
    return said["requests"]


def k6_command(load, _bakeoff):
    script = load.scratch / "k6.js"
    script.write_text(
        "import http from 'k6/http';\n"
        "export const options = { discardResponseBodies: true, insecureSkipTLSVerify: true };\n"
        f"export default () => http.get('{load.url}');\n"
    )
    command = ["k6", "run", "--quiet", "--no-usage-report", "--vus", str(load.connections)]
    return command + ["--duration", f"{load.seconds}s", "--summary-export", str(load.scratch / "k6.json"), str(script)]


def k6_count(output, status, load):
    summary = load.scratch / "k6.json"
    if status != 0 or not summary.exists():
        raise Refused(last_lines(output))
    metrics = json.loads(summary.read_text())["metrics"]
    summary.unlink()
    if metrics["http_req_failed"]["value"] != 0:
        raise Refused(f"failed: {metrics['http_req_failed']}")
    return metrics["http_reqs"]["count"]


CLIENTS = {
    "bakeoff": Client(bakeoff_command, bakeoff_count, ("--version",)),
    "wrk": Client(wrk_command, wrk_count, ("-v",)),
    "h2load": Client(h2load_command, h2load_count, ("--version",)),
    "ab": Client(ab_command, ab_count, ("-V",)),
    "oha": Client(oha_command, oha_count, ("--version",), optional=True),
    "vegeta": Client(vegeta_command, vegeta_count, ("-version",), optional=True),
    "k6": Client(k6_command, k6_count, ("version",), optional=True),
}


def installed(name, bakeoff):
    return name == "bakeoff" or shutil.which(name) is not None


def version(name, bakeoff):
    """The first line of what a tool says of its version."""
    program = str(bakeoff) if name == "bakeoff" else name
    if name != "bakeoff" and not shutil.which(name):
        return "not installed"
    said = subprocess.run([program, *CLIENTS[name].version], capture_output=True, text=True)
    lines = (said.stdout + said.stderr).splitlines()
    return lines[0].strip() if lines else "says no version"


HELP = {}


def knows(bakeoff, flag):
    """Whether this `bakeoff load` has the flag."""
    if bakeoff not in HELP:
        said = subprocess.run([str(bakeoff), "load", "--help"], capture_output=True, text=True)
        HELP[bakeoff] = set(re.findall(r"--[a-z0-9-]+", said.stdout))
    return flag in HELP[bakeoff]


NOTED = set()


def note(text):
    """A warning, once, whatever numbers stand in it."""
    words = re.sub(r"[\d.]+", "", text)
    if words not in NOTED:
        NOTED.add(words)
        print(f"WARNING: {text}", file=sys.stderr)


def last_lines(text):
    return "\n".join(text.strip().splitlines()[-5:])
