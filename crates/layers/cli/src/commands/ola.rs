//! `bakeoff layer ola ...`: the on-line agent of a domain.

use super::ca::{RotateArgs, rotate};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::authority::NextKeys;
use bakeoff_layers_agent::server::{self, AgentOptions};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Counter-sign identities, endorse transfers and say what was taken back, until Ctrl-C or SIGTERM; SIGHUP reads
    /// groups, bundle and key again
    Serve(ServeArgs),
    /// Make a new key for the agent, in the domain's directory, and a bundle that names it
    Rotate(RotateArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The agent's directory: `ola` below that of `ca init`
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// File for the counters, written again within 0.1 s of every change
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    let ServeArgs { dir, listen, status } = match command {
        Command::Serve(args) => args,
        Command::Rotate(args) => return rotate(&args, NextKeys::NewAgent),
    };
    let options = AgentOptions { dir, listen, status };
    let ready =
        |address| terminal::say(&format!("listening on {address}: the agent of {}", options.dir.display()));
    server::serve(&options, ready, terminal::note).map(|()| Exit::Done).map_err(Failure::failed)
}
