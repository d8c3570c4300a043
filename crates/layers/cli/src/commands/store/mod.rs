//! `bakeoff layer store ...`: sealing, mounting, verifying and showing vaults; the store's key and its lock.
//!
//! Glue. Owns the flags and the output; `bakeoff-layers-store` owns the vault, `bakeoff_layers_base::release` decides
//! who gets its key.

mod gocryptfs;
mod key;
mod mount;
mod seal;
mod show;

use super::mounted::{KeeperArgs, keeper};
use crate::exit::{Exit, Failure};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a key file, under which a store's key can be sealed
    Keygen(key::KeygenArgs),
    /// Seal a directory into a vault: one encrypted, read-only file
    Seal(seal::SealArgs),
    /// Mount a vault until Ctrl-C or SIGTERM
    Mount(mount::MountArgs),
    /// Mount a directory that gocryptfs encrypts, for data that changes, under the store's key
    Gocryptfs(gocryptfs::GocryptfsArgs),
    /// Read every block of a vault, and name the files that are damaged
    Verify(show::VerifyArgs),
    /// Tell what a vault holds; without its key, what anybody can see
    Show(show::ShowArgs),
    /// Refuse the store's key from now on; a mounted store drops it at once
    Lock(key::LockArgs),
    /// End a lock
    Unlock(key::UnlockArgs),
    /// Not for people: unmounts when the daemon was killed
    #[command(hide = true)]
    Keeper(KeeperArgs),
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Keygen(args) => key::keygen(&args),
        Command::Seal(args) => seal::seal(&args),
        Command::Mount(args) => mount::mount(args),
        Command::Gocryptfs(args) => gocryptfs::gocryptfs(&args),
        Command::Verify(args) => show::verify(&args),
        Command::Show(args) => show::show(&args),
        Command::Lock(args) => key::lock(&args),
        Command::Unlock(args) => key::unlock(&args),
        Command::Keeper(args) => keeper(&args),
    }
}
