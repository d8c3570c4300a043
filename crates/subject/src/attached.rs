//! Programs attached to a running server: they run beside it, without a port of their own.
//!
//! Measuring side, cold path. An attached program starts when the server is ready, as bakeoff's own user and in the
//! server's network, under a supervisor of its own. It is told which server it is attached to; bakeoff does not look at
//! what it does there.

use crate::SubjectError;
use crate::cgroup::{Ceiling, HitMeter};
use crate::config::Substitutions;
use crate::context::Context;
use crate::cpu::Account;
use crate::front::{FrontFile, FrontSpec};
use crate::limits::Limits;
use crate::private_dir::private_dir;
use crate::program;
use crate::run_command::{CommandJob, guard};
use crate::running::Running;
use crate::supervisor::{Supervisor, still_there};
use crate::words::last_words;
use bakeoff_units::{Clock, MonotonicClock};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// Interval between two looks at its output.
const GLANCE: Duration = Duration::from_millis(10);

/// Its command, the beginning of the line that it prints when it is ready, and its file.
type Words<'f> = (&'f [String], Option<&'f str>, Option<&'f FrontFile>);

/// Starts it and returns when it is ready. Nothing of it is left when this fails, except what it printed.
pub(crate) fn start(
    front: &FrontSpec,
    words: Words<'_>,
    server: &Running,
    context: &Context<'_>,
) -> Result<Running, SubjectError> {
    context.inside(|| start_here(front, words, server, context))
}

fn start_here(
    front: &FrontSpec,
    (argv, ready, file): Words<'_>,
    server: &Running,
    context: &Context<'_>,
) -> Result<Running, SubjectError> {
    let clock = MonotonicClock::new();
    let arm = format!("{}.{}", context.arm, front.name);
    let dir_error =
        |path: &Path, source| SubjectError::Dir { arm: arm.clone(), path: path.to_owned(), source };
    let dir = private_dir(&context.base, &arm).map_err(|source| dir_error(&context.base, source))?;
    let substitutions = substitutions(server, context, &dir)?;
    if let Some(file) = file {
        write(file, &substitutions, &arm, context)?;
    }
    let cwd = context.home.clone().unwrap_or_else(|| dir.clone());
    let job = CommandJob {
        arm: arm.clone(),
        argv: program::command(&arm, &substitutions, argv, &format!("front {}", front.name), &cwd)?,
        env: Vec::new(),
        cwd,
        dir: dir.clone(),
        cpus: context.cpus.clone(),
        time_limit: Some(context.start_timeout),
        cpu_source: context.cpu_source,
        grace: context.grace,
        executable: context.executable.clone(),
        interrupted: context.interrupted,
    };
    let supervisor = guard(None, &job)?;
    await_ready(&job, &supervisor, ready, &clock)?;
    let lost =
        |source| SubjectError::Supervisor { arm: arm.clone(), source, log: dir.join("supervisor.log") };
    let account = Account::of(&supervisor).map_err(lost)?;
    let hits = HitMeter::open(supervisor.groups(), &Ceiling::default());
    let standing = front.standing(&substitutions);
    Ok(Running {
        arm: arm.clone(),
        kind: "attached",
        address: server.address,
        tls: false,
        server_name: server.server_name.clone(),
        version: None,
        command_line: job.argv.clone(),
        config: None,
        dir: Some(dir.clone()),
        user: None,
        start_time: clock.now(),
        limits: Limits::default(),
        substitutions,
        hits,
        logs: Vec::new(),
        supervisor: Some(supervisor),
        again: None,
        layers: standing.into_iter().collect(),
        account,
        pid: None,
    })
}

/// Puts its file into its private directory.
fn write(
    file: &FrontFile,
    known: &Substitutions,
    arm: &str,
    context: &Context<'_>,
) -> Result<(), SubjectError> {
    let text = known.file(&context.read(&file.from, arm)?).map_err(|source| SubjectError::Config {
        arm: arm.to_owned(),
        origin: file.origin.clone(),
        source,
    })?;
    let path = Path::new(&known.dir).join(&file.name);
    fs::write(&path, text).map_err(|source| SubjectError::Dir { arm: arm.to_owned(), path, source })
}

/// The substitutions that describe the server to it.
fn substitutions(server: &Running, context: &Context<'_>, dir: &Path) -> Result<Substitutions, SubjectError> {
    let mut known = server.substitutions.clone();
    let executable = context.executable().map_err(|source| SubjectError::Read {
        arm: context.arm.clone(),
        path: "/proc/self/exe".into(),
        source,
    })?;
    let layers = executable.with_file_name(crate::stack::LAYERS).display().to_string();
    let pid = server.main_process().map_or(String::new(), |pid| pid.to_string());
    let pids: Vec<String> = server.processes().iter().map(u32::to_string).collect();
    let interface = interface_of(server.address.ip())
        .map_err(|source| SubjectError::Network { arm: context.arm.clone(), source })?;
    let values = [("pid", pid), ("pids", pids.join(",")), ("interface", interface), ("layers", layers)];
    known.values.extend(values.map(|(name, value)| (name.to_owned(), value)));
    known.dir = dir.display().to_string();
    Ok(known)
}

/// Name of the network interface that has this address, in the network of the calling thread.
fn interface_of(address: IpAddr) -> io::Result<String> {
    let mut devices = nix::ifaddrs::getifaddrs()?;
    let has_it = |device: &nix::ifaddrs::InterfaceAddress| {
        let found =
            device.address.as_ref().and_then(|address| address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip())));
        found == Some(address) || (address.is_loopback() && device.interface_name == "lo")
    };
    let found = devices.find(has_it).map(|device| device.interface_name);
    found.ok_or_else(|| io::Error::other(format!("no device has the address {address}")))
}

/// Waits until it has printed the ready line; returns at once if there is none to wait for.
pub(crate) fn await_ready(
    job: &CommandJob<'_>,
    supervisor: &Supervisor,
    ready: Option<&str>,
    clock: &MonotonicClock,
) -> Result<(), SubjectError> {
    loop {
        let arm = || job.arm.clone();
        let ended = still_there(supervisor).map_err(|source| SubjectError::Supervisor {
            arm: arm(),
            source,
            log: job.dir.join("supervisor.log"),
        })?;
        if let Some(ending) = ended {
            return Err(SubjectError::DiedAtStart { arm: arm(), ending, said: last_words(&job.dir, &[]) });
        }
        let printed = fs::read(job.dir.join("stdout.log")).unwrap_or_default();
        let has_printed =
            |ready: &str| String::from_utf8_lossy(&printed).lines().any(|line| line.starts_with(ready));
        if ready.is_none_or(has_printed) {
            return Ok(());
        }
        if job.interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(SubjectError::Interrupted { arm: arm() });
        }
        if let Some(waited) = job.time_limit.filter(|limit| clock.now() >= *limit) {
            let missing =
                format!("it has not printed a line that begins with `{}`", ready.unwrap_or_default());
            return Err(SubjectError::NotReady {
                arm: arm(),
                waited,
                missing,
                said: last_words(&job.dir, &[]),
            });
        }
        std::thread::sleep(GLANCE);
    }
}
