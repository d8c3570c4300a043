//! `store show` and `store verify`.

use super::key::VaultArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_store::{Caching, Vault, summary, verify as trying};
use clap::Args;
use std::fmt::Write;

/// Limit on damaged files that are named; the rest is counted.
const NAMED: usize = 20;

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    vault: VaultArgs,
    /// List the files, too
    #[arg(long)]
    files: bool,
}

pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let (header, bytes) = summary(&args.vault.vault).map_err(Failure::failed)?;
    let id: String = header.vault_id.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let mut text = format!(
        "vault {id}\nnumber {}\nbytes {bytes}\nblock {}\n",
        header.sequence,
        header.block.disk_bytes()
    );
    if args.vault.key.secret.read()?.is_none() {
        if args.files {
            return Err(Failure::usage("--files needs the store's key: give --key or --passphrase-file"));
        }
        text.push_str("Nothing of this is proved without the store's key.\n");
        terminal::say(&text);
        return Ok(Exit::Done);
    }
    let vault = open(&args.vault)?;
    let contents = vault.contents();
    let _ = writeln!(
        text,
        "files {}\ndirectories {}\nlinks {}\nfile bytes {}\nsealed at {} s since 1970",
        contents.files, contents.directories, contents.links, contents.data_bytes, contents.sealed_at_s
    );
    if args.files {
        for (id, node) in vault.tree().nodes() {
            let _ = writeln!(text, "{:>12} {}", node.size, vault.tree().path(id).escape_debug());
        }
    }
    terminal::say(&text);
    Ok(Exit::Done)
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    vault: VaultArgs,
}

pub(super) fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let vault = open(&args.vault)?;
    let damage = trying(&vault);
    let Some((_, first)) = damage.blocks.first() else {
        terminal::say(&format!("all {} blocks are what was sealed", vault.header().blocks));
        return Ok(Exit::Done);
    };
    let mut text = format!(
        "{} of {} blocks are damaged ({first}), {} files cannot be read whole:\n",
        damage.blocks.len(),
        vault.header().blocks,
        damage.files.len()
    );
    for path in damage.files.iter().take(NAMED) {
        let _ = writeln!(text, "  {}", path.escape_debug());
    }
    if damage.files.len() > NAMED {
        let _ = writeln!(text, "  and {} more", damage.files.len() - NAMED);
    }
    text.push_str("Bring the vault back from a copy.");
    Err(Failure::failed(text))
}

fn open(args: &VaultArgs) -> Result<Vault, Failure> {
    let (_, key) = args.key.release(&args.vault)?;
    Vault::open(&args.vault, &key, Caching::Direct).map_err(Failure::failed)
}
