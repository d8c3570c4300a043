"""Running things in turn, and what it cost.

A case has contenders: functions that do one run and say what it cost. They take turns; every other round
goes backwards, so that a drift of the machine hits all alike; one run of each before them does not
count. CPU of a client is user and system time of its whole process, its start included, by wait4.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from .clients import CLIENTS, Refused, last_lines
from .machine import peak_memory

# A run that was refused is repeated so many times before its contender gives up.
TRIES = 3
# How often the memory of a running client is looked at.
PEEK_SECONDS = 0.05


@dataclass(frozen=True)
class Sample:
    """One run."""

    requests: int
    cpu_seconds: float
    wall_seconds: float
    output: str = ""

    @property
    def micros(self):
        return self.cpu_seconds * 1e6 / self.requests

    @property
    def per_second(self):
        return self.requests / self.wall_seconds

    @property
    def busy(self):
        return self.cpu_seconds / self.wall_seconds


@dataclass
class Ratio:
    """What comes of a case whose contenders are compared."""

    samples: dict
    ours: str
    judges: tuple
    # Contender and why it is not there.
    absent: dict = field(default_factory=dict)

    def micros(self, name):
        return [sample.micros for sample in self.samples[name]]

    def median(self, name):
        return statistics.median(self.micros(name))

    def per_second(self, name):
        return statistics.median(sample.per_second for sample in self.samples[name])

    def judge(self):
        """The cheapest of those the target speaks of."""
        there = [name for name in self.judges if name in self.samples]
        return min(there, key=self.median) if there else None

    def of_medians(self, other):
        return self.median(self.ours) / self.median(other)

    def by_round(self, other):
        return [ours / theirs for ours, theirs in zip(self.micros(self.ours), self.micros(other))]


def run_client(name, load, cores, bakeoff, command=None):
    """One run of a client on these cores; Refused when it does not count."""
    client = CLIENTS[name]
    command = command or client.command(load, bakeoff)
    begin = time.monotonic()
    status, usage, text = attended(command, cores, whole_end)
    wall = time.monotonic() - begin
    try:
        requests = client.count(text, status, load)
    except (LookupError, TypeError, ValueError) as why:
        # A version of the tool that prints otherwise.
        raise Refused(f"what {name} printed cannot be read: {why!r}: {last_lines(text)}") from why
    if requests == 0:
        raise Refused(f"no request was made: {last_lines(text)}")
    return Sample(requests, usage.ru_utime + usage.ru_stime, wall, text)


def attended(command, cores, end):
    """Starts the command, waits by `end`, which says two things, and adds what the command printed."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        try:
            first, second = end(child)
        except BaseException:
            child.kill()
            child.wait()
            raise
        output.seek(0)
        return first, second, output.read().decode(errors="replace")


def whole_end(child):
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage


def peak_of(command, cores):
    """Most memory that a command had, in bytes, and what it printed.

    Not wait4's figure: that counts what this script had before it became the command.
    """
    peak, _, text = attended(command, cores, watched_end)
    return peak, text


def watched_end(child):
    peak = 0
    while child.poll() is None:
        # The kernel keeps the highest value itself: the last look before the end has it.
        peak = max(peak, peak_memory(child.pid) or 0)
        time.sleep(PEEK_SECONDS)
    return peak, child.returncode


def repeat(run, name):
    """A run, again if it is refused; the last reason when it always is."""
    for attempt in range(TRIES):
        try:
            return run()
        except Refused as why:
            last = why
            print(f"  refused, try {attempt + 1} of {TRIES}: {name}: {why}", file=sys.stderr)
    raise Refused(f"{name}: {TRIES} runs in a row were refused, the last: {last}")


def in_turns(contenders, optional, rounds, ours, judges):
    """All contenders, `rounds` times; an optional one that is refused is left out."""
    samples, absent = {}, {}
    for name, run in contenders.items():
        try:
            repeat(run, name)  # warms caches; does not count
            samples[name] = []
        except Refused as why:
            if name not in optional:
                raise
            absent[name] = str(why)
    names = list(samples)
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else reversed(names):
            samples[name].append(repeat(contenders[name], name))
    return Ratio(samples, ours, judges, absent)
