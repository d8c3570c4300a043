//! `run`: this process becomes the program, in its domain.

use super::PolicyArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_mac::confine::{ConfineError, Confined, Degree, Least, Prepared, close_inherited};
use bakeoff_layers_mac::proof::{Kept, Mode, State, lines};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::Command;

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// The domain
    #[arg(long, value_name = "NAME")]
    domain: String,
    /// What is done with what the policy does not grant
    #[arg(long, value_enum, value_name = "enforce", default_value_t = Typed::Enforce)]
    mode: Typed,
    /// File for status and counters, as lines of text
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
    /// Descriptor that the program inherits besides 0, 1 and 2; may be given more than once
    #[arg(long = "keep-fd", value_name = "N", value_parser = clap::value_parser!(RawFd).range(3..))]
    keep: Vec<RawFd>,
    /// Start the program on a kernel without Landlock, or with an old one, too: the degree says so
    #[arg(long)]
    allow_none: bool,
    /// Do all but starting a program, and print the degree: exit code 0 when the domain holds, 1 when it does not
    #[arg(long, conflicts_with_all = ["program", "status"])]
    proof: bool,
    /// Take the kernel for one with no newer Landlock than this ABI
    #[arg(long, value_name = "N", hide = true)]
    most_abi: Option<u32>,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "proof")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Typed {
    Enforce,
}

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    // Before anything is opened.
    close_inherited(&args.keep).map_err(|error| nothing_ran(ConfineError::Descriptors(error)))?;
    let policy = args.policy.read()?;
    let grant = policy.grant(&args.domain).map_err(Failure::usage)?;
    let least = Least { allow_none: args.allow_none, most_abi: args.most_abi };
    let prepared = Prepared::of(grant, least).map_err(nothing_ran)?;
    let degree = prepared.granted().degree();
    if args.proof {
        prepared.enter().map_err(nothing_ran)?;
        terminal::say(&degree.to_string());
        return Ok(if matches!(degree, Degree::None(_)) { Exit::Off } else { Exit::Done });
    }
    let Some((program, arguments)) = args.program.split_first() else {
        return Err(Failure::usage("give a program behind --"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if degree != Degree::Full {
        terminal::note(&format!("degree {degree}"));
    }
    let status = kept(args, &prepared)?;
    let error = match armed(prepared, status.as_ref()) {
        Ok(confined) => confined.execute(&mut command),
        Err(error) => error,
    };
    if let Some(status) = &status {
        let _ = status.say(State::Failed);
    }
    Err(nothing_ran(error))
}

fn kept(args: &RunArgs, prepared: &Prepared<'_>) -> Result<Option<Kept>, Failure> {
    let mode = match args.mode {
        Typed::Enforce => Mode::Enforce,
    };
    let lines = || lines(mode, prepared.granted());
    let kept = |path: &PathBuf| {
        Kept::new(path, lines()).map_err(|why| nothing_ran(ConfineError::Status { path: path.clone(), why }))
    };
    args.status.as_ref().map(kept).transpose()
}

/// In the domain, and the status says so.
fn armed(prepared: Prepared<'_>, status: Option<&Kept>) -> Result<Confined, ConfineError> {
    let confined = prepared.enter()?;
    if let Some(status) = status {
        status.say(State::Armed).map_err(|why| ConfineError::Status { path: PathBuf::new(), why })?;
    }
    Ok(confined)
}

fn nothing_ran(error: ConfineError) -> Failure {
    Failure::failed(format!("{error}. Nothing was run"))
}
