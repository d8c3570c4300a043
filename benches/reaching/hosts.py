"""Hosts on one machine: a network, PID, mount and host name of their own each, joined by a bridge in one more.

Nothing of it has a name in the machine's own namespaces: all of it is gone with the processes that hold it.
"""

import os
import subprocess
import time
from pathlib import Path

NETWORK = "10.91.0"
# For a server to be there.
patience_seconds = 20


class Host:
    """A process 1 with namespaces, and a cable to the switch."""

    def __init__(self, name, number, switch, work):
        self.name, self.number, self.switch = name, number, switch
        self.address = f"{NETWORK}.{number}"
        self.scratch = work / name
        self.scratch.mkdir(mode=0o700)
        self.boot()

    def boot(self):
        # Its home of root and /run hide the machine's; the rest of the file system is shared, as by NFS.
        script = (
            f"hostname {self.name} && mount -t tmpfs tmpfs ~root && mount -t tmpfs tmpfs /run && mkdir /run/sshd"
            " && ip link set lo up && exec sleep infinity"
        )
        words = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]
        self.outer = subprocess.Popen([*words, script], stdin=subprocess.DEVNULL)
        self.pid = until(self._first, f"{self.name} does not start")
        if self.switch is None:
            self.run("ip", "link", "add", "br0", "type", "bridge")
            self.run("ip", "link", "set", "br0", "up")
            return
        cable = f"c{self.number}"
        peer = ["peer", "name", "eth0", "netns", str(self.pid)]
        # In the switch's network, but by the machine's numbers of processes.
        enter = ["nsenter", f"--net=/proc/{self.switch.pid}/ns/net"]
        checked([*enter, "ip", "link", "add", cable, "type", "veth", *peer])
        checked([*enter, "ip", "link", "set", cable, "master", "br0", "up"])
        self.run("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")

    def _first(self):
        children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text().split()
        if not children or self.outer.poll() is not None:
            return None
        # `sleep` is what the script ends in.
        is_up = Path(f"/proc/{children[0]}/comm").read_text().strip() == "sleep"
        return int(children[0]) if is_up else None

    def words(self, *words):
        """The words that run others on this host."""
        enter = ["nsenter", "-t", str(self.pid), "--net", "--uts", "--mount", "--pid"]
        return [*enter, "env", f"TMPDIR={self.scratch}", *words]

    def run(self, *words):
        return checked(self.words(*words))

    def start(self, *words, log):
        with open(log, "ab") as errors:
            return subprocess.Popen(self.words(*words), stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)

    def cut(self):
        self.switch.run("ip", "link", "set", f"c{self.number}", "down")

    def mend(self):
        self.switch.run("ip", "link", "set", f"c{self.number}", "up")

    def power_off(self):
        """No process says goodbye, and no packet leaves any more."""
        self.cut()
        self.end()

    def processes(self, part):
        """Processes of this host whose command line has `part`, by the machine's numbers, the newest last."""
        own = os.stat(f"/proc/{self.pid}/ns/pid").st_ino
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                line = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if part in line and os.stat(f"/proc/{process}/ns/pid").st_ino == own:
                    found.append(int(process))
            except OSError:
                continue  # it has just ended
        return sorted(found)

    def end(self):
        self.outer.kill()
        self.outer.wait()


class Hosts:
    """A switch, the subject's host `sut`, and `g1`, `g2`, ... for generators."""

    def __init__(self, work, generators):
        self.all = []
        try:
            self.switch = self._add("switch", 2, None, work)
            self.sut = self._add("sut", 11, self.switch, work)
            self.generators = [
                self._add(f"g{number}", 20 + number, self.switch, work) for number in range(1, generators + 1)
            ]
        except BaseException:
            self.end()
            raise

    def _add(self, *of):
        self.all.append(Host(*of))
        return self.all[-1]

    def end(self):
        for host in reversed(self.all):
            host.end()


def until(found, complaint, seconds=None):
    """What `found` gives once it gives something."""
    seconds = seconds or patience_seconds
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        try:
            result = found()
        except (OSError, RuntimeError):
            result = None  # not there yet
        if result:
            return result
        time.sleep(0.02)
    raise RuntimeError(f"after {seconds} s: {complaint() if callable(complaint) else complaint}")


def checked(words):
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: exit code {ended.returncode}: {ended.stderr.strip()}")
    return ended.stdout
