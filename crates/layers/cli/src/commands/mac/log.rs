//! `mac log`: reads a domain's refusals from the kernel's audit.

use super::PolicyArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_mac::log::{self, DomainLog};
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
}

pub(crate) fn log(args: LogArgs) -> Result<Exit, Failure> {
    let grant = args.policy.read()?.grant(&args.domain).map_err(Failure::usage)?.clone();
    let reading = DomainLog { grant, status: args.status, out: args.out };
    log::read(reading, terminal::say).map_err(Failure::failed)?;
    Ok(Exit::Done)
}
