//! The supervisor process: one thread, asleep until bakeoff speaks, a child ends, or bakeoff is gone.

use super::NO_LINK;
use super::ending::{self, Ended};
use super::protocol::{Fault, Order, Plan, Report};
use crate::cgroup::{Group, Groups, NoGroups, Prospects};
use crate::litter::Litter;
use bakeoff_sys::lines::Lines;
use bakeoff_sys::process::{self, ChildSignals, Launch};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Time that a subject may take to end if bakeoff died before it gave one.
const DEFAULT_GRACE: Nanos = Nanos::from_secs(2);

pub(super) fn run() -> io::Result<()> {
    process::own_session()?;
    process::become_subreaper()?;
    let signals = ChildSignals::take()?;
    let control = Lines::of_stdin()?;
    let clock = MonotonicClock::new();
    let mut keeper = Keeper {
        control,
        signals,
        clock,
        child: None,
        groups: Groups::default(),
        grace: DEFAULT_GRACE,
        litter: Litter::default(),
    };
    let told = keeper.listen();
    let ended = keeper.end_all();
    let said = if matches!(told, Ok(Farewell::Asked)) { keeper.say(&ended) } else { told.map(|_| ()) };
    keeper.litter.remove();
    said
}

/// Reasons why the supervisor stops listening.
#[derive(PartialEq, Eq)]
enum Farewell {
    /// bakeoff asked, and waits for the answer.
    Asked,
    /// bakeoff is gone, or the supervisor got SIGTERM.
    Alone,
}

struct Keeper {
    control: Lines,
    signals: ChildSignals,
    clock: MonotonicClock,
    child: Option<Child>,
    groups: Groups,
    grace: Nanos,
    litter: Litter,
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
            if spoken && !self.control.hear()? {
                return Ok(Farewell::Alone);
            }
            while let Some(order) = self.next_order()? {
                match order {
                    Order::Launch(plan) => self.launch(*plan)?,
                    Order::Reaped => self.say(&Report::Reaped(process::children_used()?.into()))?,
                    Order::Kill => self.kill_all()?,
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

    fn next_order(&mut self) -> io::Result<Option<Order>> {
        Ok(self.control.next_line().map(|line| serde_json::from_slice(&line)).transpose()?)
    }

    fn say(&mut self, report: &Report) -> io::Result<()> {
        self.control.say(serde_json::to_vec(report)?)
    }

    fn launch(&mut self, plan: Plan) -> io::Result<()> {
        self.grace = Nanos::from_millis(plan.grace_ms);
        self.litter.clone_from(&plan.litter);
        let report = match self.start(plan) {
            Ok(report) => report,
            Err(failed) => failed,
        };
        self.say(&report)
    }

    /// Starts a process; later ones join the groups of the first. The error is a report too.
    fn start(&mut self, plan: Plan) -> Result<Report, Report> {
        let is_first = self.groups.is_empty();
        if plan.own_mounts {
            let own = bakeoff_sys::mount::own_namespace();
            own.map_err(|error| failed(Fault::Other, "making a mount namespace (needs root)", &error))?;
        }
        let prospects = match is_first {
            true => Prospects::make(plan.cpu, &plan.ceiling).map_err(no_groups)?,
            false => Prospects::of(&self.groups),
        };
        let began = self.clock.now();
        let spawned = prepare(&plan, &prospects)
            .map_err(|error| failed(Fault::Other, "opening its output files", &error))
            .and_then(|launch| process::spawn(launch).map_err(|error| not_spawned(&error)));
        let spawned = spawned.inspect_err(|_| {
            if is_first {
                prospects.remove();
            }
        })?;
        self.child = Some(Child { pid: spawned.pid, began });
        if is_first {
            self.groups = prospects.keep_joined(spawned.pid);
        }
        if self.groups.account.is_none() && plan.cpu.needs_group() {
            self.end_all();
            let error = io::Error::from(io::ErrorKind::PermissionDenied);
            return Err(failed(Fault::Other, "joining its cgroup", &error));
        }
        Ok(Report::Started { pid: spawned.pid, groups: self.groups.clone() })
    }

    /// Reaps all processes that ended; reports the exit of the one that was started.
    fn reap(&mut self) -> io::Result<()> {
        while let Some(reaped) = process::reap()? {
            if let Some(child) = self.child.take_if(|child| child.pid == reaped.pid) {
                let elapsed = self.clock.now().since(child.began);
                self.say(&Report::exited(reaped.ending, elapsed))?;
            }
        }
        Ok(())
    }

    /// Kills and reaps everything below; the next start joins the same groups. The exit of the started process is not
    /// reported, since the caller asked for it.
    fn kill_all(&mut self) -> io::Result<()> {
        let Ended { left, .. } = ending::end_below_self(Nanos::ZERO, &self.groups);
        self.child = None;
        self.say(&Report::Killed { left })
    }

    /// Ends and reaps everything below, then removes the cgroups.
    fn end_all(&mut self) -> Report {
        let groups = std::mem::take(&mut self.groups);
        let Ended { killed, left } = ending::end_below_self(self.grace, &groups);
        let usage = |account: &Group| account.usage().ok();
        let group_ns = groups.account.as_ref().and_then(usage).map(Nanos::get);
        groups.remove();
        let sum = process::children_used().unwrap_or_default().into();
        Report::Ended { sum, group_ns, killed, left }
    }
}

fn no_groups(none: NoGroups) -> Report {
    match none {
        NoGroups::Account(error) => failed(Fault::Other, "making a cgroup", &error),
        NoGroups::Limit(sentence) => failed(Fault::Limits, "limiting it", &sentence),
    }
}

fn not_spawned(error: &io::Error) -> Report {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    failed(if is_missing { Fault::NotFound } else { Fault::Other }, "starting it", error)
}

fn failed(fault: Fault, doing: &str, error: &dyn std::fmt::Display) -> Report {
    Report::Failed { fault, doing: doing.to_owned(), error: error.to_string() }
}

fn prepare(plan: &Plan, prospects: &Prospects) -> io::Result<Launch> {
    let spoken = || Ok::<_, io::Error>(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    Ok(Launch {
        argv: plan.argv.iter().map(Into::into).collect(),
        env: plan.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        cwd: plan.cwd.clone(),
        stdin: plan.speaks.then(spoken).transpose()?,
        stdout: if plan.speaks { spoken()? } else { log(plan, &plan.dir.join("stdout.log"))? },
        stderr: log(plan, &plan.dir.join("stderr.log"))?,
        cpus: plan.cpus.clone(),
        user: plan.as_user(),
        cgroups: prospects.any(),
        demanded_cgroups: prospects.all()?,
    })
}

/// Opens a log owned by the subject's user: some servers open `/dev/stderr` again.
fn log(plan: &Plan, path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).custom_flags(NO_LINK).open(path)?;
    if let Some((uid, gid)) = plan.user {
        std::os::unix::fs::fchown(&file, Some(uid), Some(gid))?;
    }
    Ok(file)
}
