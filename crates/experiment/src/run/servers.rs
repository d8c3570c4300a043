//! Servers as arms: site, processes, stations, and one slice at a time.

use super::bench::{Bench, Measured, Sizing};
use super::scratch::Scratch;
use super::snapshot::Reader;
use super::{Progress, Run, RunError, workloads};
use crate::directory::LOGS;
use crate::environment::{self, Placement};
use crate::plan::{Arm, ArmKind, LoadClock, RequestSource, RequestWork};
use crate::results::{SubjectSetup, WorkloadSetup};
use bakeoff_loadgen::{
    BodyCheck, Constant, Job, Original, Pace, Pacer, Poisson, Recording, Station, Target, Trust,
    client_config,
};
use bakeoff_meter::ErrorClass;
use bakeoff_subject::{Certificate, Context, Running, Spec};
use bakeoff_units::Nanos;
use bakeoff_workload::replay::LogSource;
use bakeoff_workload::{ListSource, Slice, Workload};
use rustls::pki_types::ServerName;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bound on the generator's lateness where requests are close together.
const LATENESS: Nanos = Nanos::from_millis(1);
/// A round that no real round has: what the pilot asks for.
const PILOT_ROUND: u64 = u64::MAX >> 1;

/// All arms, running.
pub(crate) struct ServerBench<'a> {
    work: &'a RequestWork,
    workload: Box<dyn Workload>,
    description: String,
    arms: Vec<Place>,
    reader: Reader,
    slice: Option<Slice>,
    seed: u64,
    interrupted: &'a AtomicBool,
    logs: PathBuf,
    // Last: servers are stopped before their directories go.
    _scratch: Scratch,
}

struct Place {
    name: String,
    running: Running,
    station: Station,
    tls: Option<String>,
}

impl<'a> ServerBench<'a> {
    pub(crate) fn start(
        run: &'a Run<'_>,
        work: &'a RequestWork,
        placement: &Placement,
        progress: &mut dyn Progress,
    ) -> Result<Self, RunError> {
        let plan = run.plan;
        let scratch = Scratch::create(progress)?;
        progress.stage("reading the workload");
        // Replies can be judged only where every arm holds what the workload knows.
        let expect = plan.arms.iter().all(|arm| arm.serves_site);
        let (workload, description) = workloads::build(work, plan.seed, expect)?;
        let files = prepare_files(&scratch, plan.arms.as_slice(), workload.as_ref(), progress)?;
        let _ = bakeoff_subject::guardian::adopt_orphans();
        let mut arms = Vec::new();
        let connections = work.clock.robots().unwrap_or(work.connections);
        for name in plan.names() {
            progress.stage(&format!("starting {name}"));
            let Some(arm) = plan.arm_of(&name) else { continue };
            let context = Context {
                home: Some(plan.base_dir.clone()),
                certificate: files.certificate.clone(),
                cpus: placement.subject.clone(),
                catalogue: files.catalogue.clone(),
                start_timeout: arm.start_timeout,
                connections,
                ..Context::new(&directory_name(&name), scratch.path(), &files.root, run.interrupted)
            };
            arms.push(start_arm(&name, arm, &context, work, placement)?);
        }
        let used = placement.generator.iter().chain(&placement.subject).copied().collect();
        Ok(Self {
            work,
            workload,
            description,
            arms,
            reader: Reader::new(used, placement.subject.len()),
            slice: None,
            seed: plan.seed,
            interrupted: run.interrupted,
            logs: run.dir.path().join(LOGS),
            _scratch: scratch,
        })
    }

    /// Stops all servers and keeps what they printed.
    pub(crate) fn stop(self) {
        for place in self.arms {
            let (name, dir) = (directory_name(&place.name), place.running.dir.clone());
            let _ = place.running.stop();
            if let Some(dir) = dir {
                keep_logs(&dir, &self.logs.join(name));
            }
        }
    }

    fn run_slice(
        &mut self,
        arm: usize,
        slice: &Slice,
        check: BodyCheck,
        limit: Nanos,
    ) -> Result<Recording, RunError> {
        let place = &mut self.arms[arm];
        place.running.alive()?;
        let threads = place.station.threads();
        let (sources, robots, pace) = match self.work.clock {
            LoadClock::Closed { think, .. } => {
                let sources = slice.by_robot(threads);
                let robots = sources.iter().map(ListSource::robots).collect();
                (sources, robots, Pace::Closed { think })
            }
            open => {
                let pacers = (0..threads).map(|lane| pacer(open, self.seed, lane, threads)).collect();
                let connections = self.work.connections;
                (slice.by_request(threads), Vec::new(), Pace::Open { pacers, connections })
            }
        };
        let timeout = self.work.timeout;
        let job =
            Job { sources, robots, pace, timeout, until: Some(limit), check, interrupted: self.interrupted };
        let recording = place.station.run(job).map_err(RunError::Generator)?;
        place.tls = place.tls.take().or_else(|| recording.tls.clone());
        if recording.gave_up {
            place.running.alive()?;
            return Err(no_replies(&place.name, &recording));
        }
        Ok(recording)
    }

    /// A few requests on every connection, in a closed loop whatever the clock, so that the slice
    /// does not begin with set-ups and cold caches.
    fn warm(&mut self, arm: usize, slice: &Slice, limit: Nanos) -> Result<(), RunError> {
        let lists: Vec<Vec<u32>> = match self.work.clock {
            LoadClock::Closed { .. } => {
                slice.lists.iter().map(|list| list.iter().copied().take(1).collect()).collect()
            }
            _ => slice.lists[0].iter().take(8).map(|&entry| vec![entry]).collect(),
        };
        let few = Slice { table: slice.table.clone(), lists: Arc::new(lists), at: Arc::default() };
        let place = &mut self.arms[arm];
        let sources = few.by_robot(place.station.threads());
        let robots = sources.iter().map(ListSource::robots).collect();
        let job = Job {
            sources,
            robots,
            pace: Pace::Closed { think: Nanos::ZERO },
            timeout: self.work.timeout,
            until: Some(limit),
            check: BodyCheck::Start,
            interrupted: self.interrupted,
        };
        place.station.run(job).map_err(RunError::Generator)?;
        Ok(())
    }

    fn pilot_slice(&mut self, requests: usize) -> Result<Slice, RunError> {
        Ok(self.workload.slice(PILOT_ROUND, requests)?)
    }
}

impl Bench for ServerBench<'_> {
    fn begin_round(&mut self, round: u32, requests: usize) -> Result<(), RunError> {
        self.slice = Some(self.workload.slice(u64::from(round), requests)?);
        Ok(())
    }

    fn measure(&mut self, arm: usize, limit: Nanos) -> Result<Measured, RunError> {
        let slice = match self.slice.clone() {
            Some(slice) => slice,
            None => self.pilot_slice(1)?,
        };
        self.arms[arm].running.alive()?;
        self.warm(arm, &slice, limit)?;
        let before = self.read(arm);
        let recording = self.run_slice(arm, &slice, BodyCheck::Start, limit)?;
        let after = self.read(arm);
        self.arms[arm].running.alive()?;
        let mut counters = recording.counters;
        self.reader.fill(&mut counters, &before, &after);
        let complete = counters.requests == slice.len() as u64;
        Ok(Measured { counters, times: recording.times.encode(), complete })
    }

    fn warm_up(&mut self, requests: usize) -> Result<(), RunError> {
        let slice = self.pilot_slice(requests)?;
        for arm in 0..self.arms.len() {
            self.run_slice(arm, &slice, BodyCheck::Start, Nanos::from_secs(60))?;
        }
        Ok(())
    }

    fn try_out(&mut self, requests: usize, limit: Nanos) -> Result<Vec<Nanos>, RunError> {
        let slice = self.pilot_slice(requests)?;
        (0..self.arms.len())
            .map(|arm| {
                let recording = self.run_slice(arm, &slice, BodyCheck::Full, limit)?;
                let made = recording.counters.requests.max(1);
                // An arm that time cut short counts as if it had gone on like that.
                let whole = recording.counters.wall_ns as f64 * slice.len() as f64 / made as f64;
                Ok(Nanos::new(whole as u64))
            })
            .collect()
    }

    fn sized(&self) -> Sizing {
        match self.work.clock {
            LoadClock::Closed { passes: Some(_), .. } => {
                Sizing::Fixed(usize::try_from(self.workload.total().unwrap_or(1)).unwrap_or(usize::MAX))
            }
            _ => self.work.slice_requests.map_or(Sizing::Free, |n| Sizing::Fixed(n as usize)),
        }
    }

    fn has_cpu(&self) -> bool {
        self.arms.iter().all(|place| place.running.cpu().is_ok())
    }

    fn max_lateness(&self) -> Option<Nanos> {
        match self.work.clock {
            LoadClock::Closed { .. } => None,
            LoadClock::Constant(rate) | LoadClock::Poisson(rate) => Some(LATENESS.max(rate.gap().times(0.1))),
            LoadClock::Original { .. } => Some(LATENESS),
        }
    }

    fn workload(&self) -> WorkloadSetup {
        WorkloadSetup {
            kind: self.work.kind().to_owned(),
            description: self.description.clone(),
            total_requests: self.workload.total(),
            skipped: self.workload.skipped(),
            robots: self.work.clock.robots().map(|robots| robots as u64),
            log_sha256: log_hash(self.work),
            ..WorkloadSetup::default()
        }
    }

    fn subject(&self, arm: usize) -> SubjectSetup {
        let place = &self.arms[arm];
        let running = &place.running;
        let scheme = if running.tls { "https" } else { "http" };
        let cpu = match running.cpu() {
            Ok(reading) => reading.source.label().to_owned(),
            Err(missing) => format!("cannot be read: {missing}"),
        };
        SubjectSetup {
            server: running.kind.to_owned(),
            version: running.version.clone(),
            url: format!("{scheme}://{}", running.address),
            command: running.command_line.clone(),
            config: running.config.clone(),
            binary_sha256: running.main_process().and_then(executable_hash),
            cpu_source: Some(cpu),
            tls: place.tls.clone(),
            ..SubjectSetup::default()
        }
    }
}

impl ServerBench<'_> {
    fn read(&self, arm: usize) -> super::snapshot::Snapshot {
        let others: Vec<&Running> = self
            .arms
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != arm)
            .map(|(_, place)| &place.running)
            .collect();
        self.reader.read(&self.arms[arm].running, &others)
    }
}

/// Directories of arms: the prime of the second baseline is no good name on disk.
fn directory_name(name: &str) -> String {
    name.replace('\'', ".second")
}

/// Of a log in a file; a pipe has been read and is gone.
fn log_hash(work: &RequestWork) -> Option<String> {
    match &work.source {
        RequestSource::Replay { log: LogSource::File(path), .. } if path.is_file() => {
            environment::sha256_of(path).ok()
        }
        _ => None,
    }
}

fn executable_hash(pid: u32) -> Option<String> {
    environment::sha256_of(&PathBuf::from(format!("/proc/{pid}/exe"))).ok()
}

struct Files {
    root: PathBuf,
    catalogue: Option<PathBuf>,
    certificate: Option<Certificate>,
}

/// Site, catalogue and certificates, as far as some arm needs them.
fn prepare_files(
    scratch: &Scratch,
    arms: &[Arm],
    workload: &dyn Workload,
    progress: &mut dyn Progress,
) -> Result<Files, RunError> {
    let root = scratch.subdirectory("site")?;
    let spec = |arm: &Arm| match &arm.what {
        ArmKind::Server(spec) => Some(spec.clone()),
        ArmKind::Command(_) => None,
    };
    let needs_files = |spec: &Spec| !matches!(spec, Spec::Origin { .. } | Spec::Url { .. });
    let writes = arms.iter().any(|arm| arm.serves_site && spec(arm).is_some_and(|spec| needs_files(&spec)));
    if let Some(site) = workload.site().filter(|_| writes) {
        let need = site.disk_need();
        scratch.demand_room(need.bytes.get())?;
        progress.stage(&format!("writing the site: {} files, {}", need.files, need.bytes));
        site.write_to(&root)?;
    }
    let catalogue = match workload.catalogue() {
        Some(catalogue) => Some(write(scratch.path(), "catalogue", catalogue.to_text().as_bytes())?),
        None => Some(write(scratch.path(), "catalogue", b"")?),
    };
    let makes_tls = |spec: &Spec| match spec {
        Spec::Origin { tls, .. }
        | Spec::Nginx { tls, .. }
        | Spec::Apache { tls, .. }
        | Spec::Command { tls, .. } => *tls,
        Spec::Url { .. } => false,
    };
    let certificate = if arms.iter().filter_map(spec).any(|spec| makes_tls(&spec)) {
        Some(Certificate::create(scratch.path())?)
    } else {
        None
    };
    Ok(Files { root, catalogue, certificate })
}

fn write(dir: &Path, name: &str, content: &[u8]) -> Result<PathBuf, RunError> {
    let path = dir.join(name);
    std::fs::write(&path, content)
        .map_err(|why| RunError::Scratch { path: path.display().to_string(), why: why.to_string() })?;
    Ok(path)
}

fn start_arm(
    name: &str,
    arm: &Arm,
    context: &Context<'_>,
    work: &RequestWork,
    placement: &Placement,
) -> Result<Place, RunError> {
    let ArmKind::Server(spec) = &arm.what else {
        return Err(RunError::System(std::io::Error::other("no server")));
    };
    let running = bakeoff_subject::start(spec, context)?;
    let target = target(arm, &running, context.certificate.as_ref(), work)?;
    let robots = work.clock.robots().unwrap_or(usize::MAX);
    let threads = placement.generator.len().min(robots);
    let station = Station::new(target, threads, placement.generator.clone()).map_err(RunError::Generator)?;
    Ok(Place { name: name.to_owned(), running, station, tls: None })
}

fn target(
    arm: &Arm,
    running: &Running,
    certificate: Option<&Certificate>,
    work: &RequestWork,
) -> Result<Target, RunError> {
    let tls = if running.tls {
        let ours = certificate.map(|certificate| Trust::File(certificate.ca.clone()));
        let trust = arm.trust.clone().or(ours).unwrap_or_else(Trust::system);
        let name = ServerName::try_from(running.server_name.clone()).map_err(|why| {
            RunError::System(std::io::Error::other(format!("{}: {why}", running.server_name)))
        })?;
        Some((client_config(&trust)?, name))
    } else {
        None
    };
    let host = match running.address.port() {
        80 if !running.tls => running.server_name.clone(),
        443 if running.tls => running.server_name.clone(),
        port => format!("{}:{port}", running.server_name),
    };
    Ok(Target { address: running.address, host, tls, keep_alive: work.keep_alive, headers: Vec::new() })
}

fn pacer(clock: LoadClock, seed: u64, lane: usize, lanes: usize) -> Box<dyn Pacer> {
    match clock {
        LoadClock::Constant(rate) => Box::new(Constant::new(rate, lane, lanes)),
        LoadClock::Poisson(rate) => Box::new(Poisson::new(rate, seed, lane, lanes)),
        LoadClock::Original { speed } => Box::new(Original::new(speed)),
        LoadClock::Closed { .. } => Box::new(Original::new(1.0)), // a closed loop has no pacer
    }
}

fn no_replies(arm: &str, recording: &Recording) -> RunError {
    let errors = &recording.counters.errors;
    let classes =
        errors.iter().map(|(class, count)| format!("{class} {count}")).collect::<Vec<_>>().join(", ");
    let most = errors.iter().max_by_key(|(_, count)| **count).map_or("", |(class, _)| class.as_str());
    let hint = ErrorClass::ALL.into_iter().find(|class| class.as_str() == most).map_or("", ErrorClass::hint);
    RunError::NoReplies { arm: arm.to_owned(), classes, hint }
}

fn keep_logs(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        let has_words = entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
        if is_log && has_words && std::fs::create_dir_all(to).is_ok() {
            let _ = std::fs::copy(&path, to.join(entry.file_name()));
        }
    }
}
