//! `remotefs serve`: the server in the foreground.

use super::{As, AsArgs, missing};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::client::{self, AgentError, Subscriptions};
use bakeoff_layers_agent::session::{AgentSession, SessionOf};
use bakeoff_layers_agent::trust::LiveBundles;
use bakeoff_layers_credentials::name::PrincipalKind;
use bakeoff_layers_remotefs::server::audit::{Keep, NotKept};
use bakeoff_layers_remotefs::server::{self, Credentials, ServeError, ServerOptions};
use clap::Args;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The directory
    #[arg(value_name = "DIR")]
    export: PathBuf,
    /// The access list: who may do what, below which directory. Read again at SIGHUP, as the trust bundles are
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    acl: Option<PathBuf>,
    #[command(flatten)]
    by: AsArgs,
    /// Directory for the audit log; then nothing is decided that is not written down
    #[arg(long, value_name = "DIR", conflicts_with = "plain")]
    audit: Option<PathBuf>,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// File for the counters, written again within 0.1 s of every change
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
    /// How long a client may believe what it was told without being heard of, 1 to 60. Changes wait so long for one that is gone,
    /// and the first after a start do
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    term: u64,
}

pub(super) fn serve(args: ServeArgs) -> Result<Exit, Failure> {
    let credentials = match (args.by.plain, args.acl) {
        (true, _) => None,
        (false, Some(acl)) => Some(credentials(args.by.open(SessionOf::Node)?, acl, args.audit)?),
        (false, None) => return Err(missing("by which access list: --acl FILE")),
    };
    let options = ServerOptions {
        export: args.export.clone(),
        listen: args.listen,
        status: args.status,
        term: Duration::from_secs(args.term),
        credentials,
    };
    let ready = |address| terminal::say(&format!("listening on {address}: {}", args.export.display()));
    server::serve(options, ready).map(|()| Exit::Done).map_err(|error| match error {
        ServeError::OpenNetwork(_) | ServeError::Term => Failure::usage(error),
        error => Failure::failed(error),
    })
}

/// Credentials of the server; subscribes to agents before the server is confined to its export.
fn credentials(by: As, acl: PathBuf, audit: Option<PathBuf>) -> Result<Credentials, Failure> {
    let name = by.session.name();
    if name.kind() != PrincipalKind::Node {
        return Err(Failure::usage(format!(
            "{name} is no server: log in as a node: of its domain, and give that session"
        )));
    }
    let (sender, notices) = channel();
    let (live, subscriptions) = (by.bundles.clone(), Subscriptions::begin(&by.bundles, sender));
    let subscriptions = subscriptions.map_err(Failure::failed)?;
    let dir = by.session.dir().to_owned();
    let keep = keep(&dir, by.bundles.clone());
    Ok(Credentials {
        name: by.session.name().clone(),
        holder: Box::new(move || AgentSession::open(&dir).ok().map(AgentSession::holder)),
        bundles: by.bundles.now(),
        read_bundles: Box::new(move || {
            let bundles = live.read_again().ok()?;
            subscriptions.follow().ok().map(|()| bundles)
        }),
        acl,
        notices,
        audit,
        keep: Some(keep),
        revoked: Some(by.trust.join("revoked")),
    })
}

/// Keeps checkpoints with the agent of the server's domain, under the server's present identity.
fn keep(dir: &Path, bundles: LiveBundles) -> Keep {
    let dir = dir.to_owned();
    Box::new(move |note| {
        let session = AgentSession::open(&dir).map_err(|_| NotKept::Away)?;
        let bundles = bundles.now();
        let bundle = bundles.get(session.name().domain()).ok_or(NotKept::Away)?;
        client::keep(&session, bundle, note).map_err(|error| match error {
            AgentError::Refused { name, .. } => NotKept::Refused(name),
            _ => NotKept::Away,
        })
    })
}
