//! `bakeoff layer remotefs ...`: a directory served, and mounted elsewhere.
//!
//! Glue. Owns the flags and what is printed; the protocol, the server and the mount are `bakeoff-layers-remotefs`'s.

mod mount;
mod serve;

use super::mounted::{KeeperArgs, keeper};
use crate::exit::{Exit, Failure};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a directory until Ctrl-C or SIGTERM
    Serve(serve::ServeArgs),
    /// Mount a served directory until Ctrl-C or SIGTERM
    Mount(mount::MountArgs),
    /// Not for people: unmounts when the daemon was killed
    #[command(hide = true)]
    Keeper(KeeperArgs),
}

/// That there are no credentials is said by whoever starts it.
#[derive(Args, Debug)]
pub(crate) struct PlainArgs {
    /// Without credentials: whoever reaches the server may do everything. For this machine and networks made for a
    /// test (198.18.0.0/15) alone
    #[arg(long)]
    plain: bool,
}

impl PlainArgs {
    /// Whether it was said.
    fn look(&self) -> Result<(), Failure> {
        match self.plain {
            true => Ok(()),
            false => Err(Failure::usage(
                "there are no credentials yet: whoever reaches the server may do everything; say --plain if that is \
                 what you want",
            )),
        }
    }
}

/// Does what was typed.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(args) => serve::serve(args),
        Command::Mount(args) => mount::mount(args),
        Command::Keeper(args) => keeper(&args),
    }
}
