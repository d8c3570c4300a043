//! `bakeoff layer integrity ...`: keys, manifests, enforcement.

mod enforce;
mod manifest;

use super::passphrase::PassphraseArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::key;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a pair of keys that signs manifests, in the format of minisign
    Keygen(KeygenArgs),
    /// Write and sign a manifest of a tree: what every file in it is
    Seal(manifest::SealArgs),
    /// Check the signature of a manifest, and a tree against it
    Verify(manifest::VerifyArgs),
    /// Print what is different in a newer manifest
    Diff(manifest::DiffArgs),
    /// Print a manifest whose signature is right
    Show(manifest::ShowArgs),
    /// Enforce a manifest until SIGTERM: files open only if they are what it says. Needs root
    Enforce(enforce::EnforceArgs),
    /// Make a tree changeable again whose enforcement was killed
    Thaw(enforce::ThawArgs),
}

#[derive(Args, Debug)]
pub(crate) struct KeygenArgs {
    /// File for the secret key, which signs; keep it off the machine that serves
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// File for the public key, which checks
    #[arg(long = "pub", value_name = "FILE")]
    public: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Keygen(args) => keygen(&args),
        Command::Seal(args) => manifest::seal(args),
        Command::Verify(args) => manifest::verify(&args),
        Command::Diff(args) => manifest::diff(&args),
        Command::Show(args) => manifest::show(&args),
        Command::Enforce(args) => enforce::enforce(args),
        Command::Thaw(args) => enforce::thaw(&args),
    }
}

fn keygen(args: &KeygenArgs) -> Result<Exit, Failure> {
    let passphrase = args.passphrase.read()?;
    let open = passphrase.is_none();
    key::generate(&args.key, &args.public, passphrase).map_err(Failure::failed)?;
    terminal::say(&format!("secret key: {}\npublic key: {}", args.key.display(), args.public.display()));
    if open {
        terminal::say("The secret key has no passphrase: whoever reads the file can sign.");
    }
    Ok(Exit::Done)
}
