//! Parts shared by commands that mount: messages on a mount, and the keeper process that unmounts.
//!
//! Glue. `bakeoff_layers_base::daemon::mount` owns the life of a mount.

use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::daemon::keeper::keeper_main;
use bakeoff_layers_base::daemon::mount::{MountEnd, MountFacts};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Warnings about a mount that is ready.
pub(super) fn warn(ready: MountFacts) {
    if ready.cleared {
        terminal::note("a mount whose daemon was dead was taken away first");
    }
    if ready.read_ahead_kib.is_none() {
        terminal::note("the kernel reads ahead 128 KiB only: raising it needs root");
    }
}

/// Message and exit code for the end of a mount.
pub(super) fn ended(end: MountEnd, at: &Path) -> Result<Exit, Failure> {
    match end {
        MountEnd::Signal => {}
        MountEnd::SignalBusy => terminal::note("files were open: whoever has one gets ENOTCONN from now on"),
        MountEnd::Left => {
            return Err(Failure::failed(format!(
                "the process that unmounts for this one is gone, and the mount is dead; as root: umount -l {}",
                at.display()
            )));
        }
        MountEnd::Unmounted => terminal::note("somebody else unmounted it"),
    }
    Ok(Exit::Done)
}

/// Runs the keeper of a layer's mount: the layer has a hidden command `keeper`.
pub(super) fn keeper_command(layer: &str) -> Result<Command, Failure> {
    let own = std::env::current_exe().map_err(Failure::failed)?;
    let mut command = Command::new(own);
    command.args([layer, "keeper"]);
    Ok(command)
}

#[derive(Args, Debug)]
pub(crate) struct KeeperArgs {
    at: PathBuf,
}

/// Runs the keeper.
pub(super) fn keeper(args: &KeeperArgs) -> Result<Exit, Failure> {
    keeper_main(&args.at).map_err(Failure::failed)?;
    Ok(Exit::Done)
}
