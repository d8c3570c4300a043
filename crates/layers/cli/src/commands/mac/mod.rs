//! `bakeoff layer mac ...`: checking policies, and running programs under them.
//!
//! Glue. Owns the flags and the output; `bakeoff-layers-mac` owns the meaning of a policy.

mod check;
mod explain;
mod learn;
mod log;
mod run;

use super::proof::{ProofArgs, proof};
use crate::exit::{Exit, Failure};
use bakeoff_layers_mac::policy::{Lets, Policy, PolicyError};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look for faults in a policy, and print what each domain may do
    Check(check::CheckArgs),
    /// Tell whether a domain may do something, and why
    Explain(explain::ExplainArgs),
    /// Run a program, refuse nothing, and print a policy of what it did
    Learn(learn::LearnArgs),
    /// Tell what domains are refused, from the kernel's audit, until SIGTERM
    Log(log::LogArgs),
    /// Become a program, in its domain: the process keeps its number
    Run(run::RunArgs),
    /// Tell whether a process is in its domain: exit code 0 when it is, 1 when it is not
    Proof(ProofArgs),
}

/// A policy, as every command of this layer is told of it.
#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    /// The policy
    #[arg(value_name = "POLICY")]
    pub(crate) policy: PathBuf,
    /// What {NAME} in its paths and ports stands for; may be given more than once
    #[arg(long = "let", value_name = "NAME=VALUE")]
    lets: Vec<String>,
}

impl PolicyArgs {
    /// Reads the policy; faults are an error.
    pub(crate) fn read(&self) -> Result<Policy, Failure> {
        let lets = Lets::of_words(&self.lets).map_err(Failure::usage)?;
        Policy::read(&self.policy, &lets).map_err(|error| match error {
            PolicyError::Unreadable { .. } => Failure::failed(error),
            PolicyError::Wrong(_) | PolicyError::NoDomain(_) => Failure::usage(error),
        })
    }
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Check(args) => check::check(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Learn(args) => learn::learn(&args),
        Command::Log(args) => log::log(args),
        Command::Run(args) => run::run(&args),
        Command::Proof(args) => Ok(proof(&args, bakeoff_layers_mac::proof::proof)),
    }
}
