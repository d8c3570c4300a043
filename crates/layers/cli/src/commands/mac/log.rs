//! `log`: what a domain is refused, as the kernel tells it.

use super::PolicyArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_mac::log::{self, Reading, Whose};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// The domain, for names and reasons
    #[arg(long, value_name = "NAME")]
    domain: String,
    /// File for status and counters, as lines of text
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
    /// File to which lines of JSON are added, one for what was refused
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Process that is about to confine itself and waits on standard input; only its domain is read
    #[arg(long, value_name = "PID", hide = true)]
    launcher: Option<u32>,
    /// The launcher is not our parent any more
    #[arg(long, hide = true, requires = "launcher")]
    detached: bool,
}

pub(crate) fn log(args: LogArgs) -> Result<Exit, Failure> {
    if args.launcher.is_some() && !args.detached {
        log::detach().map_err(Failure::failed)?;
        return Ok(Exit::Done);
    }
    let grant = args.policy.read()?.grant(&args.domain).map_err(Failure::usage)?.clone();
    let whose = args.launcher.map_or(Whose::Any, Whose::Launcher);
    let reading = Reading { whose, grant, status: args.status, out: args.out };
    log::read(reading, terminal::say).map_err(Failure::failed)?;
    Ok(Exit::Done)
}
