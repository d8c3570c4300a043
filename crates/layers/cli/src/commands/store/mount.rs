//! `store mount`: the daemon in the foreground.

use super::key::{VaultArgs, hold};
use crate::commands::mounted::{ended, keeper_command, warn};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::release::{Counter, ReleaseRefusal, burn_stack, lock_heap};
use bakeoff_layers_store::mount::{MountFacts, MountOptions, forbid_dumps, serve};
use bakeoff_layers_store::{Caching, Vault};
use clap::Args;
use std::path::PathBuf;

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
    let lock = hold(&args.vault.key.sealed.of(&args.vault.vault))?;
    burn_stack();
    // The cipher library holds the vault's own keys, wherever it likes: so the whole heap is locked.
    lock_heap().map_err(ReleaseRefusal::Memory).map_err(Failure::failed)?;
    let contents = vault.contents();
    let (name, at) = (args.vault.vault.display().to_string(), args.at.display().to_string());
    let options = MountOptions {
        threads: args.threads,
        status: args.status,
        lock: Some(lock),
        keeper: Some(keeper_command("store")?),
    };
    let ready = |ready: MountFacts| {
        warn(ready);
        terminal::say(&format!(
            "mounted {name} on {at}: {} files, {} bytes",
            contents.files, contents.data_bytes
        ));
    };
    let end = serve(vault, &args.at, options, ready).map_err(Failure::failed)?;
    ended(end, &args.at)
}

/// Opens the vault with its own keys; the store's key is dropped when this returns.
fn open(args: &MountArgs) -> Result<Vault, Failure> {
    let (mut place, key) = args.vault.key.release(&args.vault.vault)?;
    let caching = if args.keep_encrypted { Caching::Page } else { Caching::Direct };
    let vault = Vault::open(&args.vault.vault, &key, caching).map_err(Failure::failed)?;
    // The number is authentic only now: it is part of the header that the key opened.
    place.advance(Counter::Vault, vault.header().sequence).map_err(Failure::failed)?;
    Ok(vault)
}
