//! `run --at` and `check --at`: a command on another machine, whose lines and files come here as they are written.
//!
//! Glue. What is said there is passed on, and the exit code there is this one's. A machine that is lost is a failed run;
//! what had come by then stays.

use super::named::Named;
use super::{RunEnded, RunOrder, SentFile, ToRunner};
use crate::exit::Exit;
use crate::{Failure, kinds, terminal};
use bakeoff_experiment::run::GENERATOR;
use bakeoff_plan::PlanSource;
use bakeoff_reach::{Channels, Executable, LEASE, Mouth, Passing, PieceOf, Place, ReachError, Sink};
use bakeoff_results::digest;
use bakeoff_results::directory::{LOGS, ResultsDir};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// A command about a plan, to be followed at a place.
pub(crate) struct Call<'a> {
    pub(crate) place: &'a Place,
    /// Places that are called from here for the run there.
    pub(crate) generators: &'a [Place],
    pub(crate) source: &'a PlanSource,
    /// The words of the command there, with what the plan is called there.
    pub(crate) words: &'a dyn Fn(String) -> Vec<String>,
    pub(crate) interrupted: &'a AtomicBool,
}

impl Call<'_> {
    /// Checks the plan.
    pub(crate) fn check(&self) -> Result<Exit, Failure> {
        Ok(match self.made(None) {
            Ok(ended) => concluded(&ended, Path::new("")),
            Err(why) => told(why),
        })
    }

    /// Runs it into a directory here.
    pub(crate) fn run(&self, dir: &ResultsDir, json: bool) -> Result<Exit, Failure> {
        let ended = self.made(Some(dir.path()));
        let is_told = ended.is_ok();
        let exit = match ended {
            Ok(ended) => concluded(&ended, dir.path()),
            Err(why) => told(why),
        };
        match dir.has_begun() {
            true if is_told => {} // by the run there
            true => kinds::say_where(dir.path(), json),
            false => kinds::take_back(dir),
        }
        Ok(exit)
    }

    fn made(&self, dir: Option<&Path>) -> Result<RunEnded, NoEnd> {
        let named = Named::of(self.source)?;
        let executable = Executable::own().map_err(Failure::failed)?;
        let (places, logs) = ([self.place.clone()], dir.map(|dir| dir.join(LOGS)));
        let mouth = Arc::new(OnceLock::new());
        let passing = Passing::of(self.generators.to_vec(), executable.clone(), &GENERATOR);
        let sink = sink(dir.map(Path::to_owned), passing, mouth.clone());
        let channels =
            Channels::<ToRunner>::open((&places, None), &executable, LEASE, logs.as_deref(), Some(sink))?;
        let _ = mouth.set(channels.mouth(0)); // it is set once
        channels.greet(&executable, self.interrupted)?;
        let mut files = Vec::new();
        let mut hand = |path: String, bytes: &[u8], is_program| {
            let taken = format!("file {}", files.len() + 1);
            channels.hand_over(&taken, bytes, self.interrupted)?;
            files.push(SentFile { path, taken, is_program });
            Ok::<_, NoEnd>(())
        };
        for file in named.read() {
            let file = file?;
            hand(file.path, &file.bytes, file.is_program)?;
        }
        let mut plan = self.source.name.clone();
        if self.source.base_dir.is_some() {
            plan = format!("{plan}.toml");
            hand(plan.clone(), self.source.text.as_bytes(), false)?;
        }
        let order = RunOrder {
            words: (self.words)(plan),
            files,
            program: std::env::args().next().unwrap_or_else(|| "bakeoff".to_owned()),
            out: dir.map(|dir| dir.display().to_string()),
            typed: terminal::command_line(),
            passes: !self.generators.is_empty(),
            columns: terminal::width(),
        };
        let ended = channels.see_through(&order, self.interrupted)?;
        ended.into_iter().next().ok_or_else(|| Failure::failed("no machine ran it").into())
    }
}

/// Reasons why there is no end to tell of.
enum NoEnd {
    Reach(ReachError),
    Here(Failure),
}

impl From<ReachError> for NoEnd {
    fn from(error: ReachError) -> Self {
        Self::Reach(error)
    }
}

impl From<Failure> for NoEnd {
    fn from(failure: Failure) -> Self {
        Self::Here(failure)
    }
}

/// Says why, and how that ends.
fn told(why: NoEnd) -> Exit {
    match why {
        NoEnd::Reach(ReachError::Interrupted) => {
            terminal::note("interrupted; nothing was begun");
            Exit::Interrupted
        }
        NoEnd::Reach(why) => failed(&why),
        NoEnd::Here(failure) => {
            terminal::complain(&failure.message);
            failure.exit
        }
    }
}

fn failed(why: &dyn std::fmt::Display) -> Exit {
    terminal::complain(&why.to_string());
    Exit::Failed
}

/// Passes on what is printed, and writes what is written.
fn sink(dir: Option<PathBuf>, mut passing: Passing, mouth: Arc<OnceLock<Mouth>>) -> Sink {
    Box::new(move |of, at, bytes| match of {
        PieceOf::Output => {
            terminal::pass_on(&mut io::stdout().lock(), bytes);
            Ok(())
        }
        PieceOf::Errors => {
            terminal::pass_on(&mut io::stderr().lock(), bytes);
            Ok(())
        }
        PieceOf::Pass(number) => match mouth.get() {
            Some(mouth) => passing.pass(number, bytes, mouth),
            None => Err(io::Error::other("it came too early")),
        },
        PieceOf::File(path) => match &dir {
            Some(dir) => write(dir, &path, at, bytes),
            None => Err(io::Error::other(format!("`{path}` was not asked for"))),
        },
    })
}

fn write(dir: &Path, path: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other(format!("`{path}` is no file of a results directory")));
    }
    let path = dir.join(path);
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    if at == 0 {
        file.set_len(0)?;
    } else if file.metadata()?.len() != at {
        return Err(io::Error::other(format!("{}: bytes before it are missing", path.display())));
    }
    file.write_all(bytes)
}

/// The end of a run that could tell of it.
fn concluded(ended: &RunEnded, dir: &Path) -> Exit {
    let differs = |(path, theirs): &(&String, &String)| {
        digest::sha256_of(&dir.join(path)).ok().as_ref() != Some(*theirs)
    };
    if let Some((path, _)) = ended.files.iter().find(differs) {
        return failed(&format!(
            "{}: what came of it is not what was written there",
            dir.join(path).display()
        ));
    }
    match ended.code.and_then(Exit::of_code) {
        Some(exit) => exit,
        None => failed(&format!("the command there ended: {}", ended.how)),
    }
}
