//! Bench of the `command` workload: commands as arms, run to their end, one at a time.

use super::bench::{Bench, Measured, Pace, Part, Sizing, Tried};
use super::page_cache::{Caches, drop_caches};
use super::scratch::{Scratch, on_disk};
use super::snapshot::fill_host;
use super::{Run, RunError, RunProgress};
use crate::environment::Placement;
use bakeoff_meter::host::HostMeter;
use bakeoff_meter::{SliceCounters, Times};
use bakeoff_plan::{ArmCommand, ArmKind, CommandWork};
use bakeoff_results::directory::LOGS;
use bakeoff_results::{ProofRecord, SubjectSetup, WorkloadSetup};
use bakeoff_subject::{
    CommandEnd, CommandJob, CommandOutcome, Context, LayerSpec, Layered, Proof, Substitutions, WrapSpec,
    prove_wraps, run_command, wrapped,
};
use bakeoff_units::Nanos;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The class of a command that ended with anything but 0.
const EXIT_STATUS: &str = "exit-status";
/// Flag for clean-up, which runs after Ctrl-C too. (A second Ctrl-C ends bakeoff at once.)
static NOT_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// All arms' commands.
pub(crate) struct CommandBench<'a> {
    work: &'a CommandWork,
    arms: Vec<CommandArm>,
    /// Number of the first of them that were set up.
    set_up: usize,
    host: HostMeter,
    cpus: Vec<usize>,
    cwd: PathBuf,
    interrupted: &'a AtomicBool,
    scratch: Scratch,
}

struct CommandArm {
    name: String,
    dir: PathBuf,
    logs: PathBuf,
    command: ArmCommand,
    /// Wraps that the command is started through, outermost first.
    wraps: Vec<WrapSpec>,
    proof: Option<ProofRecord>,
    layers: Vec<LayerSpec>,
    /// The layers over its directory, once they are up.
    layered: Option<Layered>,
}

impl<'a> CommandBench<'a> {
    pub(crate) fn start(
        run: &'a Run<'_>,
        work: &'a CommandWork,
        placement: &Placement,
        progress: &mut dyn RunProgress,
    ) -> Result<Self, RunError> {
        let scratch = Scratch::create(&mut |words| progress.stage(words))?;
        let _ = bakeoff_subject::supervisor::adopt_orphans();
        if work.cold {
            drop_caches(Caches::Everything).map_err(RunError::Cold)?;
        }
        let mut arms = Vec::new();
        for name in run.plan.names() {
            let Some(arm) = run.plan.arm_of(&name) else { continue };
            let ArmKind::Command(command) = arm.what.clone() else { continue };
            let dir = scratch.of_arm(&name, arm, run.plan)?;
            let logs = run.dir.path().join(LOGS).join(on_disk(&name));
            std::fs::create_dir_all(&logs).map_err(|why| RunError::Scratch {
                path: logs.display().to_string(),
                why: why.to_string(),
            })?;
            arms.push(CommandArm {
                name,
                dir,
                logs,
                command,
                wraps: arm.wraps.clone(),
                proof: None,
                layers: arm.layers.clone(),
                layered: None,
            });
        }
        let mut bench = Self {
            work,
            arms,
            set_up: 0,
            host: HostMeter::new(),
            cpus: placement.subject.clone(),
            cwd: run.plan.base_dir.clone(),
            interrupted: run.interrupted,
            scratch,
        };
        for arm in 0..bench.arms.len() {
            // The pilot then says that the budget is spent, and what was set up is cleaned up.
            if run.left() == Nanos::ZERO {
                return Ok(bench);
            }
            let place = &bench.arms[arm];
            progress.stage(&format!("setting up {}", place.name));
            bench.hooks(place, &place.command.setup)?;
            bench.set_up += 1;
        }
        for arm in 0..bench.arms.len() {
            if !bench.arms[arm].layers.is_empty() {
                progress.stage(&format!("putting up the layers of {}", bench.arms[arm].name));
                bench.raise(arm)?;
            }
            bench.arms[arm].proof = bench.prove(&bench.arms[arm])?;
        }
        Ok(bench)
    }

    /// Runs the cleanup of every arm that was set up.
    pub(crate) fn stop(mut self) -> Result<(), RunError> {
        self.interrupted = &NOT_INTERRUPTED;
        self.arms.iter_mut().for_each(|place| place.layered = None);
        for place in self.arms.iter().take(self.set_up) {
            self.hooks(place, &place.command.cleanup)?;
        }
        Ok(())
    }

    fn hooks(&self, place: &CommandArm, commands: &[Vec<String>]) -> Result<(), RunError> {
        for argv in commands {
            let outcome = self.execute(place, argv, &[], self.work.time_limit)?;
            if outcome.status != CommandEnd::Exited(0) {
                return Err(failed(place, argv, &outcome));
            }
        }
        Ok(())
    }

    fn execute(
        &self,
        place: &CommandArm,
        argv: &[String],
        wraps: &[WrapSpec],
        time_limit: Nanos,
    ) -> Result<CommandOutcome, RunError> {
        let argv = self.filled(place, argv, wraps, &place.known())?;
        Ok(run_command(&self.job(place, argv, &place.logs, time_limit))?)
    }

    /// Runs the measured command over its layers. A stack that was ended with a command that took too long is put up
    /// anew.
    fn execute_layered(&mut self, arm: usize, time_limit: Nanos) -> Result<CommandOutcome, RunError> {
        if self.arms[arm].layered.is_none() {
            self.raise(arm)?;
        }
        let Some(mut layered) = self.arms[arm].layered.take() else { return Err(RunError::Interrupted) };
        let place = &self.arms[arm];
        let known = Substitutions { root: layered.root().display().to_string(), ..place.known() };
        let argv = self.filled(place, &place.command.argv, &place.wraps, &known)?;
        let outcome = layered.run(&self.job(place, argv, &place.logs, time_limit))?;
        let stands = matches!(outcome.status, CommandEnd::Exited(_) | CommandEnd::Killed(_));
        self.arms[arm].layered = Some(layered).filter(|_| stands);
        Ok(outcome)
    }

    /// Command of an arm with substitutions made, and its wraps before it.
    fn filled(
        &self,
        place: &CommandArm,
        argv: &[String],
        wraps: &[WrapSpec],
        known: &Substitutions,
    ) -> Result<Vec<String>, RunError> {
        let words = argv.iter().map(|word| known.word(word)).collect::<Result<Vec<_>, _>>();
        let words =
            words.map_err(|why| RunError::System(std::io::Error::other(format!("{}: {why}", place.name))))?;
        Ok(wrapped(wraps, words, (&place.name, known, &self.cwd))?)
    }

    fn raise(&mut self, arm: usize) -> Result<(), RunError> {
        let layered = Layered::raise(&self.around(&self.arms[arm]))?;
        self.arms[arm].layered = Some(layered);
        Ok(())
    }

    /// The surroundings of an arm's layers.
    fn around(&self, place: &CommandArm) -> Context<'a> {
        Context {
            home: Some(self.cwd.clone()),
            cpus: self.cpus.clone(),
            start_timeout: self.work.time_limit,
            layers: place.layers.clone(),
            ..Context::new(&on_disk(&place.name), self.scratch.path(), &place.dir, self.interrupted)
        }
    }

    fn job(&self, place: &CommandArm, argv: Vec<String>, prints: &Path, time_limit: Nanos) -> CommandJob<'a> {
        CommandJob {
            arm: place.name.clone(),
            argv,
            env: place.command.env.clone(),
            cwd: self.cwd.clone(),
            dir: prints.to_owned(),
            cpus: self.cpus.clone(),
            time_limit: Some(time_limit),
            cpu_source: Default::default(),
            grace: Nanos::from_secs(2),
            executable: None,
            interrupted: self.interrupted,
        }
    }

    /// Results of the proofs of an arm's wraps, as one.
    fn prove(&self, place: &CommandArm) -> Result<Option<ProofRecord>, RunError> {
        let prints = place.logs.join("proof");
        std::fs::create_dir_all(&prints)
            .map_err(|why| RunError::Scratch { path: prints.display().to_string(), why: why.to_string() })?;
        let job = self.job(place, Vec::new(), &prints, self.work.time_limit);
        let mut proofs = match &place.layered {
            Some(layered) => layered.prove(&self.around(place))?,
            None => Vec::new(),
        };
        proofs.extend(prove_wraps(&place.wraps, &place.known(), &job)?);
        let proof: Option<ProofRecord> = Proof::all(proofs).map(Into::into);
        match proof {
            Some(proof) if !proof.active => {
                Err(RunError::LayerOff { arm: place.name.clone(), said: proof.words })
            }
            proof => Ok(proof),
        }
    }

    fn run_once(
        &mut self,
        arm: usize,
        time_limit: Nanos,
    ) -> Result<(CommandOutcome, SliceCounters), RunError> {
        let place = &self.arms[arm];
        self.hooks(place, &place.command.prepare)?;
        if self.work.cold {
            drop_caches(Caches::Everything).map_err(RunError::Cold)?;
        }
        let before = self.host.read();
        let outcome = if place.layers.is_empty() {
            self.execute(place, &place.command.argv, &place.wraps, time_limit)?
        } else {
            self.execute_layered(arm, time_limit)?
        };
        let host = self.host.read().since(&before);
        let cores = self.cpus.len().max(1) as f64;
        let cpu = outcome.cpu.map_or(outcome.user + outcome.system, |reading| reading.nanos);
        let mut counters = SliceCounters {
            requests: 1,
            wall_ns: outcome.elapsed.get(),
            subject_cpu_ns: Some(cpu.get()),
            subject_busy: Some(cpu.get() as f64 / (outcome.elapsed.get().max(1) as f64 * cores)),
            user_ns: Some(outcome.user.get()),
            system_ns: Some(outcome.system.get()),
            ..SliceCounters::default()
        };
        fill_host(&mut counters, &host);
        counters.usage.rss_bytes = Some(outcome.max_rss.get());
        match outcome.status {
            CommandEnd::Exited(0) => counters.replies = 1,
            _ => drop(counters.errors.insert(EXIT_STATUS.to_owned(), 1)),
        }
        Ok((outcome, counters))
    }
}

impl Bench for CommandBench<'_> {
    fn begin_round(&mut self, _round: u32, _load: Option<u32>, _requests: usize) -> Result<(), RunError> {
        Ok(())
    }

    fn measure(&mut self, arm: usize, _pace: Pace, _part: Part, limit: Nanos) -> Result<Measured, RunError> {
        let time_limit = self.work.time_limit.min(limit);
        let (outcome, counters) = self.run_once(arm, time_limit)?;
        // Ended by the budget and not by its own time limit: no slice, and no fault of the command.
        let cut_short = outcome.status == CommandEnd::TimedOut && time_limit < self.work.time_limit;
        let complete = outcome.status != CommandEnd::Interrupted && !cut_short;
        Ok(Measured::alone(counters, Times::default(), complete))
    }

    fn warm_up(&mut self, _requests: usize) -> Result<(), RunError> {
        self.try_out(1, Nanos::MAX).map(drop)
    }

    /// The first run of each arm: warms caches, and must succeed.
    fn try_out(&mut self, _requests: usize, limit: Nanos) -> Result<Vec<Tried>, RunError> {
        let time_limit = self.work.time_limit.min(limit);
        (0..self.arms.len())
            .map(|arm| {
                let (outcome, counters) = self.run_once(arm, time_limit)?;
                match outcome.status {
                    CommandEnd::Exited(0) => Ok(Tried::of(&counters, 1)),
                    CommandEnd::Interrupted => Err(RunError::Interrupted),
                    _ => Err(failed(&self.arms[arm], &self.arms[arm].command.argv, &outcome)),
                }
            })
            .collect()
    }

    fn sized(&self) -> Sizing {
        Sizing::Fixed(1)
    }

    fn has_cpu(&self) -> bool {
        true
    }

    fn max_lateness(&self) -> Option<Nanos> {
        None
    }

    fn workload(&self) -> WorkloadSetup {
        let cold = if self.work.cold { ", page cache dropped before each run" } else { "" };
        WorkloadSetup {
            kind: "command".to_owned(),
            description: format!("a command run to its end{cold}"),
            ..WorkloadSetup::default()
        }
    }

    fn proof(&self, arm: usize) -> Option<ProofRecord> {
        self.arms[arm].proof.clone()
    }

    fn subject(&self, arm: usize) -> SubjectSetup {
        let place = &self.arms[arm];
        let words = place.wraps.iter().flat_map(|wrap| &wrap.words).chain(&place.command.argv);
        SubjectSetup {
            server: "command".to_owned(),
            command: words.cloned().collect(),
            proof: place.proof.clone(),
            ..SubjectSetup::default()
        }
    }
}

impl CommandArm {
    fn known(&self) -> Substitutions {
        let dir = self.dir.display().to_string();
        Substitutions { root: dir.clone(), dir, ..Substitutions::default() }
    }
}

fn failed(place: &CommandArm, argv: &[String], outcome: &CommandOutcome) -> RunError {
    let said: Vec<&str> =
        outcome.stdout_tail.iter().chain(&outcome.stderr_tail).map(String::as_str).collect();
    RunError::Command {
        arm: place.name.clone(),
        command: argv.join(" "),
        status: outcome.status.to_string(),
        said: said.join("\n"),
    }
}
