//! `proof`: whether a daemon polices, and how far.

use crate::exit::Exit;
use crate::terminal;
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct ProofArgs {
    /// The daemon's process, or one above it
    #[arg(long, value_name = "PID")]
    pid: u32,
    /// The status that `run` was told to write
    #[arg(long, value_name = "FILE")]
    status: PathBuf,
}

pub(crate) fn proof(args: &ProofArgs) -> Exit {
    match bakeoff_layers_police::daemon::proof(args.pid, &args.status) {
        Ok(degree) => {
            terminal::say(&degree);
            Exit::Done
        }
        Err(why) => {
            terminal::say(&format!("none: {why}"));
            Exit::Off
        }
    }
}
