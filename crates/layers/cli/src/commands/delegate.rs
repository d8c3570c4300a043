//! `delegate`: gives a part of the user's rights to somebody else, for a time.

use super::login::{SessionArgs, of_file, read};
use super::moment;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::session::{AgentSession, SessionOf};
use bakeoff_layers_agent::{read_public_key, trust, write};
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::plain::FileAudience;
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{PublicKey, Serial, hash};
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::path::PathPrefix;
use bakeoff_layers_credentials::statement::{
    Audience, DelegationScope, IdentityContent, Transfer, TransferRequest,
};
use clap::Args;
use std::path::{Path, PathBuf};

/// Allowance for a server's clock that is behind ours, in seconds.
pub(super) const SKEW_S: u64 = 30;

#[derive(Args, Debug)]
pub(crate) struct DelegateArgs {
    /// To whom: his identity, or his public key in PEM if he has no name that is known here
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    what: WhatArgs,
    /// Until when: 18:00, 2026-12-24, 2026-12-24T18:00
    #[arg(long, value_name = "MOMENT", value_parser = moment::until)]
    until: u64,
    /// Where it goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    session: SessionArgs,
}

/// What is handed on, for where.
#[derive(Args, Debug)]
pub(crate) struct WhatArgs {
    /// What: a path, and what may be done to it and all below: read, list, write, create, remove, attributes, acl, all. May be
    /// given up to 16 times
    #[arg(long = "grant", value_name = "PATH=OPERATIONS", required = true, value_parser = scope)]
    pub(super) grants: Vec<DelegationScope>,
    /// For which server, node:files@site.example, or for all of a domain, *.site.example; may be given up to 16 times
    #[arg(long = "at", value_name = "SERVER", required = true, value_parser = audience)]
    pub(super) audience: Vec<Audience>,
    /// How often it may be handed on
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=8))]
    pub(super) hops: u8,
}

fn scope(text: &str) -> Result<DelegationScope, String> {
    let (path, words) = text.rsplit_once('=').ok_or("write /projects/x=read,list")?;
    let path =
        PathPrefix::parse(path).ok_or_else(|| format!("`{path}` is no path from the root, without `..`"))?;
    let operations = Operations::of_words(words).map_err(|word| {
        format!("there is no operation `{word}`; known are read, list, write, create, remove, attributes, acl, all")
    })?;
    Ok(DelegationScope { path, operations })
}

fn audience(text: &str) -> Result<Audience, String> {
    Audience::parse(text).ok_or_else(|| "write node:files@site.example, or *.site.example".to_owned())
}

pub(crate) fn delegate(args: DelegateArgs) -> Result<Exit, Failure> {
    let session = args.session.open(SessionOf::Person)?;
    let (receiver, key) = receiver(&args.to, &trust::read(session.trust()).map_err(Failure::failed)?)?;
    let wish = TransferRequest {
        receiver,
        key,
        audience: args.what.audience,
        grants: args.what.grants,
        from_unix_s: now_unix_s().saturating_sub(SKEW_S),
        until_unix_s: args.until,
        hops: args.what.hops,
    };
    let (shown, made) = hand_on(&session, &wish)?;
    write(&args.out, &shown.write(), FileAudience::Everybody).map_err(Failure::failed)?;
    let whom = wish.receiver.map_or_else(|| "who has that key".to_owned(), |name| name.to_string());
    let grants = wish.grants.iter().map(|grant| format!("{}={}", grant.path, grant.operations));
    let places = wish.audience.iter().map(Audience::to_string);
    let [grants, places] = [grants.collect::<Vec<_>>(), places.collect()].map(|each| each.join(" "));
    let until = moment::text(wish.until_unix_s);
    terminal::say(&format!(
        "{}: for {whom}, {made}\n  {grants} at {places} until {until}",
        args.out.display()
    ));
    Ok(Exit::Done)
}

/// Everything that the receiver has to show, and the new transfer, as it can be taken back.
pub(super) fn hand_on(session: &AgentSession, wish: &TransferRequest) -> Result<(Hello, Item), Failure> {
    let serial = Serial::random().map_err(Failure::failed)?;
    let mut shown = session.handing_on();
    let held = shown.chain.last().map(|(_, held)| held.as_slice());
    let made = Transfer::give(wish, session.name(), session.key(), held, serial).map_err(Failure::usage)?;
    let item = Item::Transfer(hash(&made));
    shown.chain.push((session.name().clone(), made));
    // Read back as by its receiver: too long a chain is found here.
    Hello::read(&shown.write()).map(|shown| (shown, item)).map_err(Failure::usage)
}

/// Name and key of the receiver: from an identity that is valid here, or a bare key.
fn receiver(path: &Path, bundles: &Bundles) -> Result<(Option<PrincipalName>, PublicKey), Failure> {
    let make = format!("bakeoff layer ca certify NAME --pub FILE --out {}", path.display());
    let bytes = read(path, make)?;
    if bytes.starts_with(b"-----BEGIN") {
        return read_public_key(path).map(|key| (None, key)).map_err(Failure::failed);
    }
    let (name, _) = IdentityContent::peek(&bytes).map_err(|why| of_file(path, why))?;
    let ca = bundles.get(name.domain()).map_or(&[][..], |bundle| bundle.ca.as_slice());
    let identity = IdentityContent::open(&bytes, &name, ca).map_err(|why| of_file(path, why))?;
    if identity.until_unix_s <= now_unix_s() {
        return Err(of_file(path, "its time is over; ask for a new one"));
    }
    Ok((Some(identity.name), identity.key))
}
