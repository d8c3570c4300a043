//! `remotefs mount`: the client in the foreground, and its keeper.

use super::PlainArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::daemon::degree::Degree;
use bakeoff_layers_remotefs::client::{self, End, MountError, Options, Ready, keeper_main};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

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
        keeper: Some(keeper_command()?),
    };
    let ready = |ready: Ready| {
        if ready.cleared {
            terminal::complain("a mount whose daemon was dead was taken away first");
        }
        if ready.read_ahead_kib.is_none() {
            terminal::complain("the kernel reads ahead 128 KiB only: raising it needs root");
        }
        if ready.degree != Degree::Full {
            terminal::complain(&format!("caching is {}", ready.degree));
        }
        terminal::say(&format!("mounted {} on {}", args.server, args.at.display()));
    };
    let ended = client::mount(&args.at, options, ready).map_err(|error| match error {
        MountError::OpenNetwork(_) => Failure::usage(error),
        error => Failure::failed(error),
    })?;
    match ended {
        End::Signal => {}
        End::SignalBusy => terminal::complain("files were open: whoever has one gets ENOTCONN from now on"),
        End::Left => {
            return Err(Failure::failed(format!(
                "the process that unmounts for this one is gone, and the mount is dead; as root: umount -l {}",
                args.at.display()
            )));
        }
        End::Unmounted => terminal::complain("somebody else unmounted it"),
    }
    Ok(Exit::Done)
}

fn keeper_command() -> Result<Command, Failure> {
    let own = std::env::current_exe().map_err(Failure::failed)?;
    let mut command = Command::new(own);
    command.args(["remotefs", "keeper"]);
    Ok(command)
}

#[derive(Args, Debug)]
pub(crate) struct KeeperArgs {
    at: PathBuf,
}

pub(super) fn keeper(args: &KeeperArgs) -> Result<Exit, Failure> {
    keeper_main(&args.at).map_err(Failure::failed)?;
    Ok(Exit::Done)
}
