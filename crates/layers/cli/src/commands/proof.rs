//! `proof` of a layer: whether it protects a process, and to which degree.

use crate::exit::Exit;
use crate::terminal;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct ProofArgs {
    /// The process, or one above it
    #[arg(long, value_name = "PID")]
    pid: u32,
    /// The status that `run` was told to write
    #[arg(long, value_name = "FILE")]
    status: PathBuf,
}

/// Prints the result of `of`: the degree that a layer's status proves for a process, or the reason why it proves
/// none.
pub(crate) fn proof(args: &ProofArgs, of: fn(u32, &Path) -> Result<String, String>) -> Exit {
    match of(args.pid, &args.status) {
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
