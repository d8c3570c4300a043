//! `revoke`: takes back a delegation or a key.

use super::login::{SessionArgs, delegated, of_agent};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::client::{self, AgentError};
use bakeoff_layers_agent::message::RevocationTarget;
use bakeoff_layers_agent::server::own_bundle;
use bakeoff_layers_agent::session::SessionOf;
use bakeoff_layers_agent::{item, read as agent_read, read_secret_key, trust};
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::hash;
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::statement::IdentityContent;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct RevokeArgs {
    /// What: the file that `delegate` wrote; transfer:HASH, identity:HASH or key:THUMBPRINT; a name, with all keys that
    /// logged in under it; or an identity's file
    #[arg(value_name = "WHAT")]
    what: String,
    #[command(flatten)]
    session: SessionArgs,
    /// As the administrator: the directory of the domain's agent, whose key may take back everything
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    ola: Option<PathBuf>,
}

pub(crate) fn revoke(args: &RevokeArgs) -> Result<Exit, Failure> {
    let (what, whose) = what(&args.what)?;
    let epoch = match &args.ola {
        Some(dir) => {
            let bundle = own_bundle(dir).map_err(Failure::failed)?;
            let key = read_secret_key(&dir.join("agent.key")).map_err(Failure::failed)?;
            client::revoke(&key, &bundle, Hello::default(), what)
        }
        None => {
            let session = args.session.open(SessionOf::Person)?;
            let domain = whose.unwrap_or_else(|| session.name().domain().clone());
            let bundles = trust::read(session.trust()).map_err(Failure::failed)?;
            let bundle = bundles
                .get(&domain)
                .ok_or_else(|| Failure::failed(AgentError::UnknownDomain(domain.clone())))?;
            client::revoke(session.key(), bundle, session.identity().clone(), what)
        }
    };
    let epoch = epoch.map_err(of_agent)?;
    terminal::say(&format!("taken back: {}; epoch {epoch}", args.what));
    Ok(Exit::Done)
}

/// Object of the revocation, and its domain, if that is known.
fn what(text: &str) -> Result<(RevocationTarget, Option<Domain>), Failure> {
    if let Some(item) = item(text) {
        return Ok((RevocationTarget::Item(item), None));
    }
    if let Ok(name) = text.parse::<PrincipalName>() {
        let domain = name.domain().clone();
        return Ok((RevocationTarget::Name(name), Some(domain)));
    }
    let path = Path::new(text);
    if let Ok(bytes) = agent_read(path)
        && let Ok((name, _)) = IdentityContent::peek(&bytes)
    {
        let identity = RevocationTarget::Item(Item::Identity(hash(&bytes)));
        return Ok((identity, Some(name.domain().clone())));
    }
    let mut shown = delegated(path)?;
    match shown.chain.pop() {
        Some((giver, bytes)) => Ok((RevocationTarget::Transfer(bytes), Some(giver.domain().clone()))),
        None => Err(Failure::usage(format!("{text}: nothing is delegated by it"))),
    }
}
