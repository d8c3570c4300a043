//! `bakeoff-layers`: the layers that bakeoff measures. `bakeoff layer ...` executes it.
//!
//! Measured side, and never linked by the measuring side. Glue: flags in, exit codes out. Owns the command line,
//! standard output and standard error; parsing has no effects, each module of `commands` runs one command.

#![forbid(unsafe_code)]

mod commands;
mod exit;
mod terminal;

use clap::{Parser, Subcommand};
use exit::Failure;
use std::process::ExitCode;

/// The layers that bakeoff measures: each can be used by itself, in front of any server.
#[derive(Debug, Parser)]
#[command(name = "bakeoff-layers", bin_name = "bakeoff layer", version, max_term_width = 90)]
#[command(disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    layer: Layer,
}

#[derive(Debug, Subcommand)]
enum Layer {
    /// What a file server decided, and whether it was right
    #[command(subcommand, disable_help_subcommand = true)]
    Audit(commands::audit::Command),
    /// A domain: its keys, the names it certifies, the bundle by which others know it
    #[command(subcommand, disable_help_subcommand = true)]
    Ca(commands::ca::Command),
    /// Hand a part of your rights to somebody else, for a time
    Delegate(commands::delegate::DelegateArgs),
    /// Files are what an administrator signed, or they are not served
    #[command(subcommand, disable_help_subcommand = true)]
    Integrity(commands::integrity::Command),
    /// Begin a session: your domain's agent counter-signs your identity for some hours
    Login(commands::login::LoginArgs),
    /// End a session; nothing of it is left
    Logout(commands::login::SessionArgs),
    /// A program may do to files and ports what the policy of its domain says, and nothing else
    #[command(subcommand, disable_help_subcommand = true)]
    Mac(commands::mac::Command),
    /// The on-line agent of a domain
    #[command(subcommand, disable_help_subcommand = true)]
    Ola(commands::ola::Command),
    /// Who may connect how often, in which class, and which requests are let through
    #[command(subcommand, disable_help_subcommand = true)]
    Police(commands::police::Command),
    /// A directory of another host, mounted here and never stale
    #[command(subcommand, disable_help_subcommand = true)]
    Remotefs(commands::remotefs::Command),
    /// Take back what you handed on, or a key
    Revoke(commands::revoke::RevokeArgs),
    /// Parts of your rights with keys of their own
    #[command(subcommand, disable_help_subcommand = true)]
    Role(commands::role::Command),
    /// A tree as one encrypted file, whose key is given out only in the right state
    #[command(subcommand)]
    Store(commands::store::Command),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::of_clap(&error),
    };
    let result = match cli.layer {
        Layer::Audit(command) => commands::audit::run(command),
        Layer::Ca(command) => commands::ca::run(command),
        Layer::Delegate(args) => commands::delegate::delegate(args),
        Layer::Login(args) => commands::login::login(&args),
        Layer::Logout(args) => commands::login::logout(&args),
        Layer::Ola(command) => commands::ola::run(command),
        Layer::Revoke(args) => commands::revoke::revoke(&args),
        Layer::Role(command) => commands::role::run(command),
        Layer::Store(command) => commands::store::run(command),
        Layer::Mac(command) => commands::mac::run(command),
        Layer::Police(command) => commands::police::run(command),
        Layer::Remotefs(command) => commands::remotefs::run(command),
        Layer::Integrity(command) => commands::integrity::run(command),
    };
    result
        .unwrap_or_else(|failure: Failure| {
            terminal::note(&failure.message);
            failure.exit
        })
        .into()
}
