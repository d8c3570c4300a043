//! `store gocryptfs`: mounts a writable encrypted directory under the same key.

use super::key::{NameArgs, SecretArgs, StateArgs, hold, new_key, release_or_make, sealed_beside};
use crate::commands::mounted::keeper_command;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::release::SealedFile;
use bakeoff_layers_store::gocryptfs::{GocryptfsOptions, serve};
use bakeoff_layers_store::mount::{MountEnd, forbid_dumps};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct GocryptfsArgs {
    /// Directory with the encrypted files; an empty one becomes one of gocryptfs
    #[arg(value_name = "CIPHER")]
    cipher: PathBuf,
    /// Where to mount it: a directory
    #[arg(value_name = "DIR")]
    at: PathBuf,
    /// The sealed key [default: CIPHER.key]; made when it is not there
    #[arg(long, value_name = "FILE")]
    sealed: Option<PathBuf>,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    state: StateArgs,
}

pub(super) fn gocryptfs(args: &GocryptfsArgs) -> Result<Exit, Failure> {
    forbid_dumps();
    let sealed = sealed_beside(&args.cipher, args.sealed.as_deref());
    let mut place = SealedFile::new(&sealed, args.secret.need()?);
    let name = args.name.of(&args.cipher)?;
    let (key, fresh) = release_or_make(&mut place, &sealed, &name, &args.state)?;
    drop(place);
    let lock = hold(&sealed)?;
    if fresh {
        terminal::complain(&new_key(&sealed));
    }
    let options = GocryptfsOptions { lock, keeper: Some(keeper_command("store")?) };
    let ready = || {
        terminal::say(&format!("mounted {} on {} by gocryptfs", args.cipher.display(), args.at.display()));
    };
    match serve(&args.cipher, &args.at, key, options, ready).map_err(Failure::failed)? {
        MountEnd::Signal | MountEnd::Left => {}
        MountEnd::SignalBusy => {
            terminal::complain("files were open: whoever has one gets an error from now on")
        }
        MountEnd::Unmounted => terminal::complain("gocryptfs ended, or somebody else unmounted it"),
    }
    Ok(Exit::Done)
}
