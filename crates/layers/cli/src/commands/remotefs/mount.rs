//! `remotefs mount`: the client in the foreground.

use super::PlainArgs;
use crate::commands::mounted::{ended, keeper_command, warn};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::daemon::degree::Degree;
use bakeoff_layers_base::daemon::mount::Ready;
use bakeoff_layers_remotefs::client::{self, MountError, Options};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct MountArgs {
    /// The server
    #[arg(value_name = "ADDRESS:PORT")]
    server: SocketAddr,
    /// Where to mount it: a directory
    #[arg(value_name = "DIR")]
    at: PathBuf,
    #[command(flatten)]
    plain: PlainArgs,
    /// Nobody may change anything through it
    #[arg(long)]
    read_only: bool,
    /// File for the counters, written again within 0.1 s of every change
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
}

pub(super) fn mount(args: MountArgs) -> Result<Exit, Failure> {
    args.plain.look()?;
    let options = Options {
        server: args.server,
        read_only: args.read_only,
        status: args.status,
        keeper: Some(keeper_command("remotefs")?),
    };
    let ready = |ready: Ready, degree: Degree| {
        warn(ready);
        if degree != Degree::Full {
            terminal::complain(&format!("caching is {degree}"));
        }
        terminal::say(&format!("mounted {} on {}", args.server, args.at.display()));
    };
    let end = client::mount(&args.at, options, ready).map_err(|error| match error {
        MountError::OpenNetwork(_) => Failure::usage(error),
        error => Failure::failed(error),
    })?;
    ended(end, &args.at)
}
