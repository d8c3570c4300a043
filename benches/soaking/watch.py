"""What processes hold while they run: memory, descriptors, threads; and whether that grows.

Reads /proc only. `Watch` samples a process (and its children) from a thread of its own; `growth` compares
the two halves of what came after the warm-up, so that a level that is merely high is no growth.
"""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Growth from one half to the next that is still none: the allocator's and the kernel's own steps. At
# 20,000 requests/s for a minute and a half a leak of one byte a request is more than this.
MEMORY_GROWTH_BYTES = 1 << 20
# Connections that are being closed come and go.
DESCRIPTOR_GROWTH = 16


@dataclass(frozen=True)
class Sample:
    """What a process held at one moment."""

    at: float
    memory_bytes: int
    descriptors: int
    threads: int


def sample(pid):
    """Now, summed over the process and its children; None when it has ended."""
    try:
        all_of_them = [one(process) for process in processes(pid)]
    except OSError:
        return None
    return Sample(time.monotonic(), *(sum(column) for column in zip(*all_of_them)))


def processes(pid):
    """Itself and its children; there is no deeper level."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def one(pid):
    fields = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        fields[name] = value.split()
    # Without pages of files, such as the program's own: those can be had again. A zombie has none.
    memory = int(fields["RssAnon"][0]) * 1024 if "RssAnon" in fields else 0
    return memory, len(os.listdir(f"/proc/{pid}/fd")), int(fields["Threads"][0])


class Watch:
    """Samples a process every so often, until it ends or is told to stop."""

    def __init__(self, pid, every_seconds):
        self.pid, self.every, self.samples = pid, every_seconds, []
        self.told = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while (seen := sample(self.pid)) is not None:
            self.samples.append(seen)
            if self.told.wait(self.every):
                return

    def __enter__(self):
        self.begun = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.told.set()
        self.thread.join()

    def most(self):
        """The highest of each."""
        return most(self.samples)

    def between(self, early, late):
        """Those of these seconds since the start."""
        return [seen for seen in self.samples if early <= seen.at - self.begun <= late]


def most(samples):
    columns = [(seen.at, seen.memory_bytes, seen.descriptors, seen.threads) for seen in samples]
    return Sample(*(max(column) for column in zip(*columns))) if columns else Sample(0.0, 0, 0, 0)


@dataclass(frozen=True)
class Growth:
    """The highest of the first and of the second half."""

    early: Sample
    late: Sample

    def faults(self, who):
        """A sentence for each thing that has grown."""
        said = []
        memory = self.late.memory_bytes - self.early.memory_bytes
        if memory > MEMORY_GROWTH_BYTES:
            said.append(f"{who}: memory has grown by {megabytes(memory)} (bound {megabytes(MEMORY_GROWTH_BYTES)})")
        descriptors = self.late.descriptors - self.early.descriptors
        if descriptors > DESCRIPTOR_GROWTH:
            said.append(f"{who}: {descriptors} more descriptors are open (bound {DESCRIPTOR_GROWTH})")
        if self.late.threads > self.early.threads:
            said.append(f"{who}: {self.late.threads - self.early.threads} more threads")
        return said

    def text(self):
        return (
            f"memory {megabytes(self.early.memory_bytes)} then {megabytes(self.late.memory_bytes)}, descriptors "
            f"{self.early.descriptors} then {self.late.descriptors}, threads {self.late.threads}"
        )


def growth(samples):
    """None when there are too few to have two halves."""
    middle = len(samples) // 2
    return Growth(most(samples[:middle]), most(samples[middle:])) if middle else None


def megabytes(count):
    return f"{count / 1e6:.2f} MB"
