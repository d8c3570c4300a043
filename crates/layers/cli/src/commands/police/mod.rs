//! `bakeoff layer police ...`: checking rules, and enforcing them before a server.
//!
//! Glue. Owns the flags and the output; `bakeoff-layers-police` owns the meaning of rules.

mod check;
mod explain;
mod run;

use super::proof::{ProofArgs, proof};
use crate::exit::{Exit, Failure};
use bakeoff_layers_police::rules::{Rules, RulesError};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look for faults in rules, and print what they are compiled to
    Check(check::CheckArgs),
    /// Tell which rule decides about a client or a request, and why
    Explain(explain::ExplainArgs),
    /// Put rules in force before a running server, until SIGTERM
    Run(run::RunArgs),
    /// Tell whether a daemon polices, and how far: exit code 0 when it does, 1 when it does not
    Proof(ProofArgs),
}

/// Rules, as every command of this layer is told of them.
#[derive(Args, Debug)]
pub(crate) struct RulesArgs {
    /// The rules
    #[arg(value_name = "RULES")]
    rules: PathBuf,
}

impl RulesArgs {
    /// Reads the rules; faults are an error.
    pub(crate) fn read(&self) -> Result<Rules, Failure> {
        Rules::read(&self.rules).map_err(|error| match error {
            RulesError::Unreadable { .. } => Failure::failed(error),
            RulesError::Wrong(_) => Failure::usage(error),
        })
    }
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Check(args) => check::check(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Run(args) => run::run(args),
        Command::Proof(args) => Ok(proof(&args, bakeoff_layers_police::daemon::proof)),
    }
}
