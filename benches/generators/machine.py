"""What is read of the machine: what it is, how busy it is, what was stolen, whether there are ports.

Reads /proc only; changes nothing.
"""

import os
import platform
import re
import time
from pathlib import Path

# TIME_WAIT ends after 60 s on every Linux.
TIME_WAIT_SECONDS = 60


def processor():
    model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return model[1] if model else platform.machine()


class Window:
    """The share of all cores' time that the hypervisor gave to others since this was made."""

    def __init__(self):
        self.load = os.getloadavg()[0]
        self.before = self.read()

    @staticmethod
    def read():
        # user, nice, system, idle, iowait, irq, softirq, steal: proc(5). Guests are within user.
        fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return fields[7], sum(fields)

    def stolen(self):
        steal, total = (now - then for now, then in zip(self.read(), self.before))
        return steal / total if total else 0.0


def ephemeral_ports():
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    return high - low + 1


def wait_for_ports(most):
    """Until at most so many sockets are in TIME_WAIT: a run that opens many must not fail for want of ports."""
    deadline = time.monotonic() + TIME_WAIT_SECONDS + 10
    while True:
        waiting = int(re.search(r"^TCP:.* tw (\d+)", Path("/proc/net/sockstat").read_text(), re.M)[1])
        if waiting <= most or time.monotonic() > deadline:
            return
        time.sleep(0.5)


def cpu_clock(pid):
    """CPU seconds, user and system, of all threads of a process, to the nanosecond: clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


def peak_memory(pid):
    """Most bytes of memory that the process ever had (VmHWM); None when it has ended."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
