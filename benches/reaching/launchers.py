"""An sshd on each generator's host, and a Slurm of all hosts, as a user of them would have them."""

import subprocess

from .hosts import checked, until

FORCED = 'restrict,command="{bakeoff} generator --stdio --only {subject} --only {other}" {key}'


class Ssh:
    """Keys that may start a generator, and nothing else; on the last host one that may do all, as it lacks bakeoff."""

    def __init__(self, hosts, work, bakeoff):
        own, server = work / "id", work / "host-key"
        for key in (own, server):
            checked(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
        public = own.with_suffix(".pub").read_text()
        known = work / "known_hosts"
        key = " ".join(server.with_suffix(".pub").read_text().split()[:2])
        known.write_text("".join(f"{host.address} {key}\n" for host in hosts.generators))
        config = f"Host *\\n IdentityFile {own}\\n UserKnownHostsFile {known}\\n User root\\n"
        hosts.sut.run("sh", "-c", f"mkdir -m 700 ~root/.ssh && printf '{config}' >~root/.ssh/config")
        self.servers = []
        other = hosts.generators[-1].address
        forced = FORCED.format(bakeoff=bakeoff, subject=hosts.sut.address, other=other, key=public)
        for host in hosts.generators:
            allowed = work / f"authorized_keys-{host.name}"
            allowed.write_text(public if host is hosts.generators[-1] else forced)
            settings = work / f"sshd_config-{host.name}"
            settings.write_text(
                f"HostKey {server}\nAuthorizedKeysFile {allowed}\nStrictModes no\nPidFile none\nUsePAM no\n"
                "PermitRootLogin prohibit-password\nPasswordAuthentication no\n"
            )
            log = work / f"sshd-{host.name}.log"
            self.servers.append(host.start("/usr/sbin/sshd", "-D", "-e", "-f", str(settings), log=log))
            probe = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=1", host.address, "true"]
            answers = lambda words=hosts.sut.words(*probe): subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True
            ).returncode != 255
            until(answers, f"sshd of {host.name} does not answer; see {log}")


class Slurm:
    """Controller on the subject's host; every host is a node, with its role as a feature."""

    def __init__(self, hosts, work):
        self.hosts, self.work = hosts, work
        self.socket = work / "munge.sock"
        self.settings = work / "slurm.conf"
        (work / "state").mkdir()
        key = work / "munge.key"
        key.write_bytes(b"a key of namespaces that live for minutes".ljust(1024, b"."))
        key.chmod(0o400)
        files = [f"--{what}={work / ('munge.' + what)}" for what in ("pid-file", "log-file", "seed-file")]
        words = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.socket}", *files]
        self.servers = [subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
        self.settings.write_text(self._settings())
        until(self.socket.exists, "munged does not start")
        # Their own logs are where the settings say.
        log = work / "slurm.log"
        self.servers.append(hosts.sut.start("slurmctld", "-D", "-f", str(self.settings), log=log))
        for host in [hosts.sut, *hosts.generators]:
            words = ["slurmd", "-D", "-N", host.name, "-f", str(self.settings)]
            self.servers.append(host.start(*words, log=log))
        nodes = 1 + len(hosts.generators)
        until(lambda: self.say("sinfo", "-h", "-o", "%t%D").strip() == f"idle{nodes}", f"no idle nodes; see {log}")

    def _settings(self):
        machine = dict(field.split("=") for field in checked(["slurmd", "-C"]).split() if "=" in field)
        shape = " ".join(f"{key}={machine[key]}" for key in ("CPUs", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore"))
        roles = [(self.hosts.sut, "subject"), *((host, "generator") for host in self.hosts.generators)]
        nodes = [f"NodeName={host.name} NodeAddr={host.address} {shape} Features={role}" for host, role in roles]
        names = ",".join(host.name for host, _ in roles)
        return "\n".join([
            "ClusterName=bench",
            f"SlurmctldHost=sut({self.hosts.sut.address})",
            "SlurmctldPort=27001",
            "SlurmdPort=27002",
            "SrunPortRange=27100-27899",
            "SlurmUser=root",
            "SlurmdUser=root",
            f"AuthInfo=socket={self.socket}",
            f"StateSaveLocation={self.work / 'state'}",
            f"SlurmdSpoolDir={self.work}/%n/spool",
            f"SlurmctldPidFile={self.work / 'slurmctld.pid'}",
            f"SlurmdPidFile={self.work}/%n/slurmd.pid",
            f"SlurmctldLogFile={self.work / 'slurmctld.log'}",
            f"SlurmdLogFile={self.work}/slurmd-%n.log",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none",
            "AccountingStorageType=accounting_storage/none",
            "SelectType=select/linear",
            "MpiDefault=none",
            "ReturnToService=2",
            "SlurmdTimeout=10",
            "MessageTimeout=5",
            "KillWait=2",
            *nodes,
            f"PartitionName=lab Nodes={names} Default=YES State=UP",
            "",
        ])

    def say(self, *words):
        return self.hosts.sut.run("env", f"SLURM_CONF={self.settings}", *words)

    def submit(self, line, count, path):
        """Number of a job in which the subject and so many generators have a node each."""
        wanted = ["--exclusive", f"--nodes={count + 1}", f"--constraint=[subject*1&generator*{count}]"]
        script = f"PATH={path}:$PATH exec {line}"
        where = ["--batch=subject", f"--output={self.work}/job-%j.log", f"--chdir={self.work}"]
        return self.say("sbatch", "--parsable", *wanted, *where, "--wrap", script).strip()

    def log_of(self, job):
        return (self.work / f"job-{job}.log").read_text(errors="replace")

    def is_over(self, job):
        return not self.say("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip() in ("PENDING", "RUNNING", "COMPLETING")

    def end(self):
        for server in reversed(self.servers):
            server.terminate()
        for server in self.servers:
            server.wait()
