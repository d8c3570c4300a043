//! `store seal`: turns a directory into a vault.

use super::key::KeyArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::name::EscapedName;
use bakeoff_layers_base::release::Counter;
use bakeoff_layers_store::{BlockSize, seal as sealing};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct SealArgs {
    /// The directory to seal
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The vault, which is replaced when it is there
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
    /// Bytes of a block on disk: a power of two from 4096 to 1048576
    #[arg(long, value_name = "BYTES", default_value_t = BlockSize::DEFAULT.disk_bytes() as u32)]
    block: u32,
}

pub(super) fn seal(args: &SealArgs) -> Result<Exit, Failure> {
    let block = BlockSize::from_bytes(args.block).ok_or_else(|| {
        Failure::usage(format!("--block {}: give a power of two from 4096 to 1048576", args.block))
    })?;
    let (mut place, key, new) = args.key.release_or_make(&args.out)?;
    let sequence = place.newest(Counter::Vault).map_err(Failure::failed)?.saturating_add(1);
    let options = sealing::SealOptions { block, sequence };
    let done = sealing::seal(&args.directory, &args.out, &key, options).map_err(Failure::failed)?;
    place.advance(Counter::Vault, sequence).map_err(Failure::failed)?;
    terminal::say(&format!(
        "sealed {} entries with {} bytes into {} ({} bytes, number {sequence})",
        done.nodes,
        done.data_bytes,
        args.out.display(),
        done.vault_bytes
    ));
    if let [first, ..] = done.links_out.as_slice() {
        terminal::note(&format!(
            "symbolic links that lead out of the tree: {} ({} is one); what they lead to is not sealed",
            done.links_out.len(),
            EscapedName::of(first)
        ));
    }
    new.iter().for_each(|new| terminal::say(new));
    Ok(Exit::Done)
}
