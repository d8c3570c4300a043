//! Commands of an arm: its serving daemon, and hooks that set a file system up, drop its caches, take it down, and
//! prove that it is on.
//!
//! Cold. Processes that hooks leave running belong to the arm's layer, the serving daemon has an account of its own;
//! the proof has none.

use super::super::RunError;
use super::arm::{FilesArm, Surroundings};
use super::ends::word;
use bakeoff_results::ProofRecord;
use bakeoff_subject::{CommandEnd, CommandJob, Errand};
use bakeoff_sys::mount;
use bakeoff_units::Nanos;
use std::fs;
use std::path::PathBuf;

impl FilesArm {
    /// Starts the daemon that serves the directory, on another port each time.
    pub(super) fn serve(&mut self, around: &Surroundings<'_>) -> Result<(), RunError> {
        let Some(serve) = self.files.serve.clone() else { return Ok(()) };
        self.known.port = around.ends.free_port().map_err(RunError::System)?;
        let (dir, cpus) = (self.prints("serve")?, around.ends.far_cpus.clone());
        let job = CommandJob { dir, cpus, ..self.job(&serve.argv, around)? };
        let serving = &mut self.serving;
        let begun = around.ends.far(|| serving.start(&job, serve.ready.as_deref()));
        begun.map_err(RunError::System)??;
        Ok(())
    }

    /// Runs commands of this arm, one after the other. Processes they leave running are the layer's.
    pub(super) fn hooks(
        &mut self,
        commands: &[Vec<String>],
        around: &Surroundings<'_>,
    ) -> Result<(), RunError> {
        for argv in commands {
            let ended = self.hook(argv, around)?;
            if ended.status == CommandEnd::Interrupted {
                return Err(RunError::Interrupted);
            }
            if ended.status != CommandEnd::Exited(0) {
                return Err(self.hook_failed(argv, &ended));
            }
        }
        Ok(())
    }

    /// Runs the hooks that come before caches are dropped.
    pub(super) fn drop_hooks(&mut self, around: &Surroundings<'_>) -> Result<(), RunError> {
        self.hooks(&self.files.drop.clone(), around)?;
        let path = self.path.clone();
        let kind = self.over(around, |_| mount::of(&path).map_or("none".to_owned(), |mount| mount.kind))?;
        let known = self.found.as_ref().map_or("none", |found| found.mount.kind.as_str());
        if kind == known {
            return Ok(());
        }
        let what = format!("it lies on a file system of kind {kind} now, it was {known}");
        Err(self.wrong(what, "`drop` must leave the same file system mounted"))
    }

    fn hook(&mut self, argv: &[String], around: &Surroundings<'_>) -> Result<Errand, RunError> {
        let job = self.job(argv, around)?;
        let layer = &mut self.layer;
        let ended = around.ends.near(|| layer.run(&job));
        Ok(ended.map_err(RunError::System)??)
    }

    fn job<'a>(&self, argv: &[String], around: &Surroundings<'a>) -> Result<CommandJob<'a>, RunError> {
        Ok(CommandJob {
            arm: self.name.clone(),
            argv: argv.iter().map(|text| word(&self.name, &self.known, text)).collect::<Result<_, _>>()?,
            env: self.files.env.clone(),
            cwd: around.cwd.to_owned(),
            dir: self.logs.clone(),
            cpus: around.cpus.to_vec(),
            time_limit: Some(around.watch.patience),
            cpu_source: Default::default(),
            grace: Nanos::from_secs(2),
            executable: None,
            interrupted: around.watch.interrupted,
        })
    }

    fn hook_failed(&self, argv: &[String], ended: &Errand) -> RunError {
        let said: Vec<&str> =
            ended.stdout_tail.iter().chain(&ended.stderr_tail).map(String::as_str).collect();
        RunError::Command {
            arm: self.name.clone(),
            command: argv.join(" "),
            status: ended.status.to_string(),
            said: said.join("\n"),
        }
    }

    /// Runs the proof of the layer, if the plan has one.
    pub(super) fn prove(&self, around: &Surroundings<'_>) -> Result<Option<ProofRecord>, RunError> {
        let Some(argv) = &self.ask else { return Ok(None) };
        let dir = self.prints("proof")?;
        // Off the subjects' cores, and no part of the layer.
        let job = CommandJob { dir, cpus: Vec::new(), ..self.job(argv, around)? };
        let proof = around.ends.near(|| bakeoff_subject::prove_by(&job));
        Ok(Some(proof.map_err(RunError::System)??.into()))
    }

    /// A new directory for the output of a command.
    fn prints(&self, of: &str) -> Result<PathBuf, RunError> {
        let dir = self.logs.join(of);
        let made = fs::remove_dir_all(&dir).or(Ok(())).and_then(|()| fs::create_dir_all(&dir));
        made.map_err(|why| RunError::Scratch { path: dir.display().to_string(), why: why.to_string() })?;
        Ok(dir)
    }

    /// Refuses an arm whose layer is off: it is not worth a slice.
    pub(super) fn demand_layer(&self) -> Result<(), RunError> {
        match &self.proof {
            Some(proof) if !proof.active => {
                Err(RunError::LayerOff { arm: self.name.clone(), said: proof.words.clone() })
            }
            _ => Ok(()),
        }
    }
}
