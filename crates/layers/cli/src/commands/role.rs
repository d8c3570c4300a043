//! `role create`: makes a role with a part of the user's rights and a key of its own.

use super::delegate::{SKEW_S, WhatArgs, hand_on};
use super::login::SessionArgs;
use super::passphrase::{PassphraseArgs, secret};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::role;
use bakeoff_layers_agent::session::SessionOf;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_credentials::name::{PrincipalKind, PrincipalName};
use bakeoff_layers_credentials::statement::TransferRequest;
use clap::{Args, Subcommand};
use std::fs;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a role with a part of your rights; whoever has its directory and passphrase can log in as it
    Create(CreateArgs),
}

#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    /// Its name: `editor` of user:alice@home.example is role:editor.alice@home.example
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    what: WhatArgs,
    /// Days for which it is good
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
    /// Its directory
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    #[command(flatten)]
    session: SessionArgs,
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    let Command::Create(args) = command;
    let (session, now) = (args.session.open(SessionOf::Person)?, now_unix_s());
    let owner = session.name();
    if owner.kind() != PrincipalKind::User {
        return Err(Failure::usage(format!("a role is a user's, and this is the session of {owner}")));
    }
    let name = format!("role:{}.{}@{}", args.name, owner.local(), owner.domain());
    let name: PrincipalName = name.parse().map_err(Failure::usage)?;
    let key = role::make_key(&args.out, &name, secret(&args.passphrase)?).map_err(Failure::failed)?;
    let times = (now.saturating_sub(SKEW_S), now + args.days * 24 * 60 * 60);
    let wish = TransferRequest {
        receiver: Some(name.clone()),
        key,
        audience: args.what.audience,
        grants: args.what.grants,
        from_unix_s: times.0,
        until_unix_s: times.1,
        hops: args.what.hops,
    };
    let papers = hand_on(&session, &wish).and_then(|(transfer, given)| {
        let made = role::certify(&args.out, (&name, key), session.key(), &transfer, times);
        made.map(|()| given).map_err(Failure::failed)
    });
    // Without statements the key is useless, and in the way of the next attempt.
    let given = papers.inspect_err(|_| drop(fs::remove_dir_all(&args.out)))?;
    terminal::say(&format!("{}: {name}, {given}", args.out.display()));
    Ok(Exit::Done)
}
