"""`bakeoff load` as a child: started, stopped, watched, and what it says."""

import json
import os
import signal
import subprocess
import time

from generators.clients import last_lines

from .servers import Fault, before_exec
from .watch import Watch

# Exit statuses of `bakeoff load`: all is well, the figures say nothing of the server, ended by a signal.
GOOD, INVALID, INTERRUPTED = 0, 4, 130
# After the time it was given: what is in flight has a time limit of 10 s.
PATIENCE_SECONDS = 40


class Run:
    """One run of `bakeoff load`, watched from start to end."""

    def __init__(self, bakeoff, url, arguments, scratch, seconds, every_seconds, descriptors=None, stop_after=None):
        scratch.mkdir(exist_ok=True)
        command = [str(bakeoff), "load", url, "--json", *arguments]
        out = scratch.parent / "load.out"
        with open(out, "w+") as output, open(scratch.parent / "load.err", "w+") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env={**os.environ, "TMPDIR": str(scratch)},
                preexec_fn=lambda: before_exec(descriptors),
            )
            try:
                with Watch(process.pid, every_seconds) as self.watch:
                    self.wait(process, seconds, stop_after)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            errors.seek(0)
            self.errors = errors.read()
        self.status = process.returncode
        self.left = sorted(os.listdir(scratch))
        self.said = read(out.read_text(), self.errors, self.status)

    @staticmethod
    def wait(process, seconds, stop_after):
        begin = time.monotonic()
        if stop_after is not None:
            time.sleep(stop_after)
            process.send_signal(signal.SIGINT)
        try:
            process.wait(seconds + PATIENCE_SECONDS - (time.monotonic() - begin))
        except subprocess.TimeoutExpired:
            raise Fault(f"bakeoff load had not ended {PATIENCE_SECONDS} s after its time: it hangs") from None

    def faults(self):
        """What an orderly end must not leave or say."""
        said = [f"left behind: {', '.join(self.left)}"] if self.left else []
        reason = self.said["invalid_reason"] or ""
        # At full speed the generator may be the limit; that is no fault of it.
        if self.status not in (GOOD, INVALID) or (self.status == INVALID and "the generator was" not in reason):
            said.append(f"it ended with {self.status}: {reason or last_lines(self.errors)}")
        return said


def read(text, errors, status):
    try:
        return json.loads(text)
    except ValueError:
        raise Fault(f"bakeoff load ended with {status} and no JSON: {last_lines(text + errors)}") from None
