//! The guardian process: one thread, asleep until bakeoff speaks, a child ends, or bakeoff is gone.

use super::ending::{self, Ended};
use super::protocol::{Order, Plan, Report};
use crate::cgroup::{self, Group};
use bakeoff_sys::process::{self, ChildSignals, Launch};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// How long a subject may take to end when bakeoff died before it said.
const DEFAULT_GRACE: Nanos = Nanos::from_secs(2);

pub(super) fn run() -> io::Result<()> {
    process::own_session()?;
    process::become_subreaper()?;
    let signals = ChildSignals::take()?;
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let clock = MonotonicClock::new();
    let mut keeper =
        Keeper { control, signals, clock, heard: Vec::new(), child: None, group: None, grace: DEFAULT_GRACE };
    let told = keeper.listen();
    let ended = keeper.end_all();
    if told? == Farewell::Asked { keeper.say(&ended) } else { Ok(()) }
}

/// Why the guardian stops listening.
#[derive(PartialEq, Eq)]
enum Farewell {
    /// bakeoff asked, and waits for the answer.
    Asked,
    /// bakeoff is gone, or somebody sent SIGTERM.
    Alone,
}

struct Keeper {
    control: UnixStream,
    signals: ChildSignals,
    clock: MonotonicClock,
    heard: Vec<u8>,
    child: Option<Child>,
    group: Option<Group>,
    grace: Nanos,
}

struct Child {
    pid: u32,
    began: Nanos,
}

impl Keeper {
    fn listen(&mut self) -> io::Result<Farewell> {
        loop {
            let (spoken, signalled) = self.sleep()?;
            if signalled {
                let arrived = self.signals.arrived()?;
                self.reap()?;
                if arrived.terminate {
                    return Ok(Farewell::Alone);
                }
            }
            if spoken && !self.hear()? {
                return Ok(Farewell::Alone);
            }
            while let Some(order) = self.next_order()? {
                match order {
                    Order::Launch(plan) => self.launch(plan)?,
                    Order::Reaped => self.say(&Report::Reaped(process::children_used()?.into()))?,
                    Order::Stop => return Ok(Farewell::Asked),
                }
            }
        }
    }

    fn sleep(&self) -> io::Result<(bool, bool)> {
        let mut waited = [
            PollFd::new(self.control.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut waited, PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok((waited[0].any().unwrap_or(true), waited[1].any().unwrap_or(true)))
    }

    /// False when bakeoff's end is closed.
    fn hear(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        match self.control.read(&mut chunk) {
            Ok(0) => Ok(false),
            Ok(n) => {
                self.heard.extend_from_slice(&chunk[..n]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn next_order(&mut self) -> io::Result<Option<Order>> {
        let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.heard.drain(..=end).collect();
        Ok(Some(serde_json::from_slice(&line)?))
    }

    fn say(&mut self, report: &Report) -> io::Result<()> {
        let mut line = serde_json::to_vec(report)?;
        line.push(b'\n');
        self.control.write_all(&line)
    }

    fn launch(&mut self, plan: Plan) -> io::Result<()> {
        self.grace = Nanos::from_millis(plan.grace_ms);
        let report = match self.start(plan) {
            Ok(report) => report,
            Err((doing, error)) => Report::Failed {
                doing: doing.to_owned(),
                not_found: error.kind() == io::ErrorKind::NotFound && doing == SPAWNING,
                error: error.to_string(),
            },
        };
        self.say(&report)
    }

    fn start(&mut self, plan: Plan) -> Result<Report, (&'static str, io::Error)> {
        // What is started later joins what was started first.
        let groups = match &self.group {
            Some(group) => vec![group.clone()],
            None => cgroup::candidates(plan.cpu).map_err(|error| ("making a cgroup", error))?,
        };
        let launch = prepare(&plan, &groups).map_err(|error| ("opening its output files", error))?;
        let began = self.clock.now();
        let spawned = match process::spawn(launch) {
            Ok(spawned) => spawned,
            Err(error) => {
                if self.group.is_none() {
                    groups.iter().for_each(Group::remove);
                }
                return Err((SPAWNING, error));
            }
        };
        self.child = Some(Child { pid: spawned.pid, began });
        self.group = self.group.take().or_else(|| cgroup::keep_joined(groups, spawned.pid));
        if self.group.is_none() && plan.cpu.needs_group() {
            self.end_all();
            return Err(("joining its cgroup", io::ErrorKind::PermissionDenied.into()));
        }
        Ok(Report::Started { pid: spawned.pid, group: self.group.clone() })
    }

    /// Reaps all that ended; tells of the one that was started.
    fn reap(&mut self) -> io::Result<()> {
        while let Some(reaped) = process::reap()? {
            if let Some(child) = self.child.take_if(|child| child.pid == reaped.pid) {
                let elapsed = self.clock.now().since(child.began);
                self.say(&Report::exited(reaped.ending, elapsed))?;
            }
        }
        Ok(())
    }

    /// Ends and reaps everything below, then removes the cgroup.
    fn end_all(&mut self) -> Report {
        let Ended { killed, left } = ending::end_below_self(self.grace, self.group.as_ref());
        let group_ns = self.group.as_ref().and_then(|group| group.usage().ok()).map(Nanos::get);
        if let Some(group) = self.group.take() {
            group.remove();
        }
        let sum = process::children_used().unwrap_or_default().into();
        Report::Ended { sum, group_ns, killed, left }
    }
}

const SPAWNING: &str = "starting it";

fn prepare(plan: &Plan, groups: &[Group]) -> io::Result<Launch> {
    Ok(Launch {
        argv: plan.argv.iter().map(Into::into).collect(),
        env: plan.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        cwd: plan.cwd.clone(),
        stdout: log(plan, &plan.dir.join("stdout.log"))?,
        stderr: log(plan, &plan.dir.join("stderr.log"))?,
        cpus: plan.cpus.clone(),
        user: plan.as_user(),
        cgroups: groups.iter().filter_map(|group| group.door().ok()).collect(),
    })
}

/// Owned by the subject's user: some servers open `/dev/stderr` again.
fn log(plan: &Plan, path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    if let Some((uid, gid)) = plan.user {
        std::os::unix::fs::fchown(&file, Some(uid), Some(gid))?;
    }
    Ok(file)
}
