//! `mac explain`: the decision on an access, with its reason.

use super::PolicyArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_mac::access::Access;
use bakeoff_layers_mac::grant::{AccessDecision, DomainGrant, PortUse};
use bakeoff_layers_mac::policy::{accesses, disk};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// The domain
    #[arg(long, value_name = "NAME")]
    domain: String,
    #[command(flatten)]
    what: What,
    /// What is done to it: some of read list write create delete rename exec ioctl, or any
    #[arg(long, value_name = "WORDS", requires = "path")]
    access: Option<String>,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// A file or directory. What is created, deleted or renamed is judged by the directory that it is in
    #[arg(long, value_name = "PATH", requires = "access")]
    path: Option<PathBuf>,
    /// A TCP port that is bound
    #[arg(long, value_name = "PORT")]
    listen: Option<u16>,
    /// A TCP port that is connected to
    #[arg(long, value_name = "PORT")]
    connect: Option<u16>,
}

pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let policy = args.policy.read()?;
    let grant = policy.grant(&args.domain).map_err(Failure::usage)?;
    let kinds = accesses(args.access.as_deref().unwrap_or("any")).map_err(Failure::usage)?;
    let mut told = Vec::new();
    if let Some(path) = &args.what.path {
        let path = std::path::absolute(path).map_err(Failure::usage)?;
        told.extend(kinds.iter().map(|access| (access.name(), at_path(grant, &path, access))));
    }
    told.extend(args.what.listen.map(|port| ("listen", grant.because_port(PortUse::Listen, port))));
    told.extend(args.what.connect.map(|port| ("connect", grant.because_port(PortUse::Connect, port))));
    for (word, because) in &told {
        let verdict = if because.granted { "allowed" } else { "refused" };
        terminal::say(&format!("{word} {verdict}: {}", because.reason));
    }
    Ok(if told.iter().all(|(_, because)| because.granted) { Exit::Done } else { Exit::Refused })
}

/// Judges an access as the kernel does.
fn at_path<'g>(grant: &'g DomainGrant, path: &Path, access: Access) -> AccessDecision<'g> {
    let inside = matches!(access, Access::Create | Access::Delete | Access::Rename);
    let judged = path.parent().filter(|_| inside).unwrap_or(path);
    grant.because(&disk::see(judged, &[]).path, access)
}
