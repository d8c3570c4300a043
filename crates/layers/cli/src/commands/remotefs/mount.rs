//! `remotefs mount`: the client in the foreground.

use super::{As, AsArgs, missing};
use crate::commands::mounted::{ended, keeper_command, warn};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::client::{AgentError, endorse};
use bakeoff_layers_agent::session::{AgentSession, SessionOf};
use bakeoff_layers_base::daemon::degree::Degree;
use bakeoff_layers_base::daemon::mount::MountFacts;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::tls::Holder;
use bakeoff_layers_remotefs::client::{self, ClientError, ClientOptions, Shown};
use clap::Args;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(Args, Debug)]
pub(crate) struct MountArgs {
    /// The server
    #[arg(value_name = "HOST:PORT")]
    server: String,
    /// Where to mount it: a directory
    #[arg(value_name = "DIR")]
    at: PathBuf,
    /// Who the server must be, such as node:files@home.example
    #[arg(long, value_name = "NAME", conflicts_with = "plain")]
    as_server: Option<PrincipalName>,
    #[command(flatten)]
    by: AsArgs,
    /// Nobody may change anything through it
    #[arg(long)]
    read_only: bool,
    /// Programs may lock files, and exclude others at this mount alone; without it they get ENOLCK
    #[arg(long, value_name = "WHERE", value_parser = ["local"])]
    locks: Option<String>,
    /// Connect to the server when something is asked of it, and not before
    #[arg(long)]
    delay_connect: bool,
    /// File for the counters, written again within 0.1 s of every change
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
}

pub(super) fn mount(args: MountArgs) -> Result<Exit, Failure> {
    let mut session = None;
    let credentials = match (args.by.plain, args.as_server) {
        (true, _) => None,
        (false, Some(server)) => {
            let by = args.by.open(SessionOf::Person)?;
            session = Some(by.session.dir().to_owned());
            Some(shown(by, server))
        }
        (false, None) => return Err(missing("who the server must be: --as-server NAME")),
    };
    let server = address(&args.server)?;
    let options = ClientOptions {
        server,
        read_only: args.read_only,
        local_locks: args.locks.is_some(),
        delay_connect: args.delay_connect,
        status: args.status,
        keeper: Some(keeper_command("remotefs")?),
        credentials,
    };
    let ready = |ready: MountFacts, degree: Degree| {
        warn(ready);
        if degree != Degree::Full {
            terminal::note(&format!("caching is {degree}"));
        }
        terminal::say(&format!("mounted {server} on {}", args.at.display()));
    };
    let end = client::mount(&args.at, options, ready).map_err(|error| match error {
        ClientError::OpenNetwork(_) => Failure::usage(error),
        error => Failure::failed(error),
    })?;
    if let Some(dir) = session.filter(|dir| AgentSession::is_over(dir)) {
        terminal::note(&format!(
            "{}: logged out, so {} is no mount any more; log in and mount again",
            dir.display(),
            args.at.display()
        ));
    }
    ended(end, &args.at)
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let mut found = text.to_socket_addrs().map_err(|error| {
        Failure::usage(format!("{text} is no server: {error}; write HOST:PORT, such as 127.0.0.1:7441"))
    })?;
    found.next().ok_or_else(|| Failure::failed(format!("{text} has no address")))
}

/// Credentials from the session's present state, with fresh statuses. While an agent is away the previous ones are
/// shown: the server knows how long they are valid.
fn shown(by: As, server: PrincipalName) -> Shown {
    let (its, live) = (by.session.dir().to_owned(), by.bundles.clone());
    let (dir, bundles, last) = (by.session.dir().to_owned(), by.bundles.clone(), Mutex::new(Vec::new()));
    let show = move || -> Result<(Holder, Hello), String> {
        let session = AgentSession::open(&dir).map_err(|error| error.to_string())?;
        let mut hello = session.hello();
        let mut last = lock(&last);
        match endorse(&session, &bundles.now()) {
            Ok(statuses) => *last = statuses,
            Err(AgentError::Unreached { .. }) if !last.is_empty() => {}
            Err(error) => return Err(error.to_string()),
        }
        hello.statuses.clone_from(&last);
        Ok((session.holder(), hello))
    };
    Shown {
        server,
        // With faults in the directory the previous ones count.
        bundles: Box::new(move || live.read_again().unwrap_or_else(|_| live.now())),
        show: Box::new(show),
        is_over: Box::new(move || AgentSession::is_over(&its)),
    }
}
