//! `store mount`: the daemon in the foreground, and its keeper.

use super::key::VaultArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::release::{Counter, Refusal, Release, burn_stack, lock_heap};
use bakeoff_layers_store::mount::{End, Options, Ready, forbid_dumps, keeper_main, serve};
use bakeoff_layers_store::{Caching, Vault};
use clap::Args;
use std::path::PathBuf;
use std::process::Command;

#[derive(Args, Debug)]
pub(crate) struct MountArgs {
    #[command(flatten)]
    vault: VaultArgs,
    /// Where to mount it: a directory
    #[arg(value_name = "DIR")]
    at: PathBuf,
    /// File for the counters, written again within 0.1 s of every change
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
    /// Threads that serve [default: two a core]
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Let the kernel keep the encrypted bytes, too: reads that come again after the plain ones were
    /// dropped are faster, and the memory for it is used twice
    #[arg(long)]
    keep_encrypted: bool,
}

pub(super) fn mount(args: MountArgs) -> Result<Exit, Failure> {
    forbid_dumps();
    let vault = open(&args)?;
    burn_stack();
    // The vault's own keys are the cipher library's, and that keeps them where it likes.
    lock_heap().map_err(Refusal::Memory).map_err(Failure::failed)?;
    let contents = vault.contents();
    let (name, at) = (args.vault.vault.display().to_string(), args.at.display().to_string());
    let options = Options {
        threads: args.threads,
        status: args.status,
        sealed: Some(args.vault.sealed()),
        keeper: Some(keeper_command()?),
    };
    let ready = |ready: Ready| {
        if ready.cleared {
            terminal::complain("a mount whose daemon was dead was taken away first");
        }
        if ready.read_ahead_kib.is_none() {
            terminal::complain("the kernel reads ahead 128 KiB only: raising it needs root");
        }
        terminal::say(&format!(
            "mounted {name} on {at}: {} files, {} bytes",
            contents.files, contents.data_bytes
        ));
    };
    match serve(vault, &args.at, options, ready).map_err(Failure::failed)? {
        End::Signal => {}
        End::SignalBusy => terminal::complain("files were open: whoever has one gets ENOTCONN from now on"),
        End::Left => {
            return Err(Failure::failed(format!(
                "the process that unmounts for this one is gone, and the mount is dead; as root: umount -l {}",
                args.at.display()
            )));
        }
        End::Unmounted | End::Locked => terminal::complain("somebody else unmounted it"),
    }
    Ok(Exit::Done)
}

/// The vault, with the keys of its own; the store's is gone again when this returns.
fn open(args: &MountArgs) -> Result<Vault, Failure> {
    let (mut place, key) = args.vault.release()?;
    let caching = if args.keep_encrypted { Caching::Page } else { Caching::Direct };
    let vault = Vault::open(&args.vault.vault, &key, caching).map_err(Failure::failed)?;
    // The number is genuine only now: it is part of the header that the key opened.
    place.advance(Counter::Vault, vault.header().sequence).map_err(Failure::failed)?;
    Ok(vault)
}

pub(super) fn keeper_command() -> Result<Command, Failure> {
    let own = std::env::current_exe().map_err(Failure::failed)?;
    let mut command = Command::new(own);
    command.args(["store", "keeper"]);
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
