//! Process of one arm of the `calls` workload: started through the arm's wraps, and sent orders.
//!
//! Measuring side, cold: a batch is timed by the process itself. Owns its directory, its port and the time limit of an
//! answer.

use super::super::RunError;
use bakeoff_calls::{BatchCost, CallOperation, CallReply, CallRequest, WORD};
use bakeoff_plan::{ArmCalls, CallsWork};
use bakeoff_results::{ProofRecord, SubjectSetup};
use bakeoff_subject::{
    CommandJob, Dialogue, HeldPort, Proof, Substitutions, WaitOutcome, WrapSpec, prove_wraps, wrapped,
};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Data common to all arms.
pub(super) struct Common<'a> {
    pub(super) work: &'a CallsWork,
    pub(super) cpus: Vec<usize>,
    pub(super) cwd: PathBuf,
    pub(super) interrupted: &'a AtomicBool,
}

/// An arm.
pub(super) struct Caller {
    pub(super) name: String,
    dir: PathBuf,
    logs: PathBuf,
    arm: ArmCalls,
    wraps: Vec<WrapSpec>,
    port: HeldPort,
    /// The command last executed.
    argv: Vec<String>,
    dialogue: Option<Dialogue>,
    pub(super) proof: Option<ProofRecord>,
}

/// Reason why an operation was not made, as its process reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// The system's name of the error, such as `EPERM`, or `wrong`.
    pub(super) word: String,
    pub(super) why: String,
}

impl Caller {
    pub(super) fn new(
        name: &str,
        (arm, wraps): (&ArmCalls, &[WrapSpec]),
        (dir, logs): (PathBuf, PathBuf),
    ) -> Result<Self, RunError> {
        std::fs::create_dir_all(&logs)
            .map_err(|why| RunError::Scratch { path: logs.display().to_string(), why: why.to_string() })?;
        Ok(Self {
            name: name.to_owned(),
            dir,
            logs,
            arm: arm.clone(),
            wraps: wraps.to_vec(),
            port: bakeoff_subject::hold_free_port().map_err(RunError::System)?,
            argv: Vec::new(),
            dialogue: None,
            proof: None,
        })
    }

    /// Starts its process, and runs the wraps' proofs. Returns the time until it waited for orders.
    pub(super) fn start(&mut self, common: &Common<'_>) -> Result<Nanos, RunError> {
        self.dialogue = None;
        self.argv = self.command(common)?;
        let clock = MonotonicClock::new();
        let dialogue = Dialogue::start(&self.job(common, &self.logs, self.argv.clone()))?;
        let pid = dialogue.pid();
        self.dialogue = Some(dialogue);
        // Output of wraps comes first.
        while self.hear(common)? != Some(CallReply::Begun) {}
        let took = clock.now();
        self.proof = self.prove(common, pid)?;
        Ok(took)
    }

    /// Makes a batch. The inner error: this arm cannot make it.
    pub(super) fn batch(
        &mut self,
        common: &Common<'_>,
        operation: CallOperation,
        count: u64,
    ) -> Result<Result<BatchCost, Refused>, RunError> {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.say(&CallRequest::Batch(operation, count).to_string());
        }
        match self.hear(common)? {
            Some(CallReply::Made(made, of, batch)) if (made, of) == (operation, count) => Ok(Ok(batch)),
            Some(CallReply::Cannot(not, word, why)) if not == operation => Ok(Err(Refused { word, why })),
            other => {
                let what = format!("was asked for {count} {} and answered {other:?}", operation.word());
                Err(self.failed(what))
            }
        }
    }

    /// For `setup.json`.
    pub(super) fn subject(&self) -> SubjectSetup {
        SubjectSetup {
            server: WORD.to_owned(),
            command: self.argv.clone(),
            cpu_source: Some("clocks of the process, of its children and of its partners".to_owned()),
            proof: self.proof.clone(),
            ..SubjectSetup::default()
        }
    }

    fn command(&self, common: &Common<'_>) -> Result<Vec<String>, RunError> {
        let work = common.work;
        let executable =
            bakeoff_sys::process::own_executable().map_err(RunError::System)?.display().to_string();
        let (dir, depth, port) =
            (self.dir.display().to_string(), work.depth.to_string(), self.port.port.to_string());
        let flags = ["--dir", &dir, "--depth", &depth, "--port", &port, "--peers", work.peers.as_str()];
        let argv = [&executable, WORD].into_iter().chain(flags).map(str::to_owned).collect();
        Ok(wrapped(&self.wraps, argv, (&self.name, &self.known(), &common.cwd))?)
    }

    fn known(&self) -> Substitutions {
        let dir = self.dir.display().to_string();
        Substitutions { port: self.port.port, dir, ..Substitutions::default() }
    }

    fn job<'a>(&self, common: &Common<'a>, prints: &Path, argv: Vec<String>) -> CommandJob<'a> {
        CommandJob {
            arm: self.name.clone(),
            argv,
            env: self.arm.env.clone(),
            cwd: common.cwd.clone(),
            dir: prints.to_owned(),
            cpus: common.cpus.clone(),
            time_limit: Some(common.work.time_limit),
            cpu_source: Default::default(),
            grace: Nanos::from_secs(2),
            executable: None,
            interrupted: common.interrupted,
        }
    }

    /// `None`: a line that is no answer.
    fn hear(&mut self, common: &Common<'_>) -> Result<Option<CallReply>, RunError> {
        let job = self.job(common, &self.logs, Vec::new());
        let Some(dialogue) = &mut self.dialogue else { return Err(RunError::Interrupted) };
        match dialogue.hear(&job)? {
            WaitOutcome::Line(line) => Ok(CallReply::parse(&line)),
            WaitOutcome::Interrupted => Err(RunError::Interrupted),
            WaitOutcome::Late => {
                Err(self.failed(format!("has not answered within {}", common.work.time_limit)))
            }
            WaitOutcome::Ended(ending) => Err(self.failed(format!("has ended: {ending}"))),
        }
    }

    fn failed(&mut self, status: String) -> RunError {
        let said = self.dialogue.take().map_or(Vec::new(), |dialogue| dialogue.last_words());
        RunError::Command {
            arm: self.name.clone(),
            command: self.argv.join(" "),
            status,
            said: said.join("\n"),
        }
    }

    /// Results of the wraps' proofs, as one.
    fn prove(&self, common: &Common<'_>, pid: u32) -> Result<Option<ProofRecord>, RunError> {
        let prints = self.logs.join("proof");
        std::fs::create_dir_all(&prints)
            .map_err(|why| RunError::Scratch { path: prints.display().to_string(), why: why.to_string() })?;
        let mut known = self.known();
        known.values.insert("pid".to_owned(), pid.to_string());
        let proofs = prove_wraps(&self.wraps, &known, &self.job(common, &prints, Vec::new()))?;
        let proof: Option<ProofRecord> = Proof::all(proofs).map(Into::into);
        match proof {
            Some(proof) if !proof.active => {
                Err(RunError::LayerOff { arm: self.name.clone(), said: proof.words })
            }
            proof => Ok(proof),
        }
    }
}
