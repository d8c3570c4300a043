//! `store gocryptfs`: mounts a writable encrypted directory under the same key.

use super::key::{KeyArgs, hold};
use crate::commands::mounted::{ended, keeper_command};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_store::gocryptfs::{GocryptfsOptions, serve};
use bakeoff_layers_store::mount::forbid_dumps;
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
    #[command(flatten)]
    key: KeyArgs,
}

pub(super) fn gocryptfs(args: &GocryptfsArgs) -> Result<Exit, Failure> {
    forbid_dumps();
    let (place, key, new) = args.key.release_or_make(&args.cipher)?;
    drop(place);
    let lock = hold(&args.key.sealed.of(&args.cipher))?;
    new.iter().for_each(|new| terminal::note(new));
    let options = GocryptfsOptions { lock, keeper: Some(keeper_command("store")?) };
    let ready = || {
        terminal::say(&format!("mounted {} on {} by gocryptfs", args.cipher.display(), args.at.display()));
    };
    let end = serve(&args.cipher, &args.at, key, options, ready).map_err(Failure::failed)?;
    ended(end, &args.at)
}
