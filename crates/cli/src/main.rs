//! `bakeoff`: what does that layer cost?
//!
//! Glue: flags in, exit codes out. Owns the command line, standard output and standard error; every
//! decision about figures is elsewhere. Parsing does nothing: `args` is what the user typed, each
//! module of `commands` does one thing with it.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod elsewhere;
mod exit;
mod kinds;
mod rules;
mod signals;
mod terminal;

use args::{Cli, Command};
use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Not for people, and before anything else: in a guest every instruction counts.
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == bakeoff_calls::WORD => return commands::calls::calls(words),
        Some(word) if word == bakeoff_guest::WORD => return kinds::guest::inside(words),
        _ => {}
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::of_clap(&error),
    };
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Peak(args) => commands::peak::peak(&args),
        Command::Load(args) => commands::load::load(&args),
        Command::Origin(args) => commands::origin::origin(&args),
        Command::Robots(args) => commands::robots::robots(&args),
        Command::Generator(args) => commands::generator::generator(&args),
        Command::Runner(_) => elsewhere::runner(),
        Command::Extract(args) => commands::extract::extract(&args),
        Command::Conformance(args) => commands::conformance::conformance(&args),
        Command::Layer(args) => commands::layer::layer(&args),
        Command::Plans(args) => commands::plans::plans(&args),
        Command::Check(args) => commands::plans::check(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Verify(args) => commands::verify::verify(&args),
        Command::Doctor(args) => commands::doctor::doctor(&args),
        Command::Studies(args) => commands::studies::studies(&args),
        Command::Prices(args) => commands::prices::prices(&args),
        Command::CompareResults(args) => commands::compare_results::compare_results(&args),
        Command::Schema(args) => commands::docs::schema(&args),
        Command::Meters(args) => commands::docs::meters(&args),
        Command::Completions(args) => commands::docs::completions(&args),
        Command::Manual(args) => commands::docs::manual(&args),
        Command::Version => Ok(commands::docs::version()),
        Command::Supervisor => return bakeoff_subject::supervisor::main(),
        Command::Relay(args) => elsewhere::relay(&args),
        Command::Emulator => return bakeoff_link::emulator_main(),
    };
    result
        .unwrap_or_else(|failure| {
            terminal::complain(&failure.message);
            failure.exit
        })
        .into()
}

/// A command that ends early: what to say and which exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// The command line or the plan is wrong.
    pub(crate) fn usage(message: impl ToString) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    /// The same of a part of a suite.
    pub(crate) fn of_part(self, suite: &str, part: &str) -> Self {
        Self { message: format!("{suite}, part {part}: {}", self.message), ..self }
    }

    /// Somebody pressed Ctrl-C, and there is nothing to keep.
    pub(crate) fn interrupted() -> Self {
        Self { exit: Exit::Interrupted, message: "interrupted".to_owned() }
    }

    /// A subject or the environment failed.
    pub(crate) fn failed(message: impl ToString) -> Self {
        Self { exit: Exit::Failed, message: message.to_string() }
    }
}
