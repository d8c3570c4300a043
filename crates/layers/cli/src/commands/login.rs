//! `login` and `logout`: begin and end a session.

use super::moment;
use super::passphrase::{PassphraseArgs, secret};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::client::{self, AgentError};
use bakeoff_layers_agent::session::{self, AgentSession, NewSession, SessionError, SessionOf};
use bakeoff_layers_agent::{read as read_file, read_secret_key, role, trust};
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::SecretKey;
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::statement::IdentityContent;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct LoginArgs {
    /// Who you are: user:alice@home.example
    #[arg(value_name = "NAME")]
    name: PrincipalName,
    /// Your secret key
    #[arg(long, value_name = "FILE", required_unless_present = "role", requires = "identity")]
    key: Option<PathBuf>,
    /// Your domain's word for it, which `ca certify` wrote
    #[arg(long, value_name = "FILE", requires = "key")]
    identity: Option<PathBuf>,
    /// Log in as a role: the directory that `role create` made, whose passphrase is needed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["key", "identity", "with"], requires = "passphrase_file")]
    role: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// The directory of trusted bundles
    #[arg(long, value_name = "DIR")]
    trust: PathBuf,
    /// For how long, at most 24h
    #[arg(long = "for", id = "for", value_name = "TIME", default_value = "8h", value_parser = moment::seconds)]
    seconds: u64,
    /// Act through what somebody delegated to you: the file that `delegate` wrote
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    /// The session's directory, in memory and yours alone [default: $XDG_RUNTIME_DIR/bakeoff/NAME]
    #[arg(long, value_name = "DIR")]
    session: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct SessionArgs {
    /// Whose session: alice@home.example, node:files@home.example; or its directory [default: the only one below
    /// $XDG_RUNTIME_DIR/bakeoff; of several, but not to log out, the only one that is no node's]
    #[arg(long, value_name = "NAME|DIR")]
    pub(super) session: Option<PathBuf>,
}

impl SessionArgs {
    fn dir(&self, whose: SessionOf) -> Result<PathBuf, Failure> {
        session::find(self.session.as_deref(), whose).map_err(of_session)
    }

    pub(super) fn open(&self, whose: SessionOf) -> Result<AgentSession, Failure> {
        AgentSession::open(&self.dir(whose)?).map_err(of_session)
    }
}

pub(crate) fn login(args: &LoginArgs) -> Result<Exit, Failure> {
    let (key, identity, transfer) = papers(args)?;
    // The user's own name means its default place; any other argument is a directory that is yet to be made.
    let dir = match &args.session {
        Some(dir) if session::named(dir).as_ref() != Some(&args.name) => dir.clone(),
        _ => session::place(&args.name).map_err(of_session)?,
    };
    let bundles = trust::read(&args.trust).map_err(Failure::failed)?;
    let trusted = fs::canonicalize(&args.trust).map_err(|error| of_file(&args.trust, error))?;
    let domain = args.name.domain();
    let bundle =
        bundles.get(domain).ok_or_else(|| Failure::failed(AgentError::UnknownDomain(domain.clone())))?;
    let leaf = client::login(&key, bundle, identity.clone(), args.seconds).map_err(of_agent)?;
    let begun = NewSession {
        key: &key,
        leaf: &leaf,
        identity: &identity,
        transfer: transfer.as_ref(),
        trust: &trusted,
    };
    AgentSession::begin(&dir, begun).map_err(of_session)?;
    terminal::say(&format!("logged in as {}: {}", args.name, dir.display()));
    Ok(Exit::Done)
}

/// A key, its identities, and the transfer to it.
fn papers(args: &LoginArgs) -> Result<(SecretKey, Hello, Option<Hello>), Failure> {
    if let Some(dir) = &args.role {
        let role = role::open(dir, &args.name, secret(&args.passphrase)?).map_err(Failure::failed)?;
        return Ok((role.key, role.identity, Some(role.transfer)));
    }
    let (Some(key), Some(path)) = (&args.key, &args.identity) else {
        return Err(Failure::usage("by which key? Say --key FILE and --identity FILE, or --role DIR"));
    };
    let key = read_secret_key(key).map_err(|error| {
        let make = format!("openssl genpkey -algorithm ed25519 -out {}", key.display());
        Failure::failed(error.or_make(make))
    })?;
    let certify = format!("bakeoff layer ca certify {} --pub FILE --out {}", args.name, path.display());
    let statement = read(path, certify)?;
    let (name, _) = IdentityContent::peek(&statement).map_err(|why| of_file(path, why))?;
    if name != args.name {
        return Err(Failure::usage(format!(
            "{} is the identity of {name}, not of {}",
            path.display(),
            args.name
        )));
    }
    let identity = Hello { identities: vec![(name, statement)], ..Hello::default() };
    Ok((key, identity, args.with.as_deref().map(delegated).transpose()?))
}

pub(crate) fn logout(args: &SessionArgs) -> Result<Exit, Failure> {
    let dir = args.dir(SessionOf::Anybody)?;
    AgentSession::end(&dir).map_err(of_session)?;
    terminal::say(&format!("logged out: {} is gone", dir.display()));
    Ok(Exit::Done)
}

/// The file that `delegate` wrote.
pub(super) fn delegated(path: &Path) -> Result<Hello, Failure> {
    let make = format!("bakeoff layer delegate --to IDENTITY --out {}", path.display());
    let bytes = read(path, make)?;
    if IdentityContent::peek(&bytes).is_ok() {
        return Err(of_file(path, "an identity, by which nothing is delegated; give what `delegate` wrote"));
    }
    let shown = Hello::read(&bytes).map_err(|why| of_file(path, why))?;
    if shown.chain.is_empty() { Err(of_file(path, "nothing is delegated by it")) } else { Ok(shown) }
}

/// The bytes of a file which that command makes.
pub(super) fn read(path: &Path, make: String) -> Result<Vec<u8>, Failure> {
    read_file(path).map_err(|error| Failure::failed(error.or_make(make)))
}

pub(super) fn of_file(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("{}: {why}", path.display()))
}

pub(super) fn of_session(error: SessionError) -> Failure {
    match error {
        SessionError::NoPlace | SessionError::Several { .. } => Failure::usage(error),
        error => Failure::failed(error),
    }
}

pub(super) fn of_agent(error: AgentError) -> Failure {
    match error {
        AgentError::Refused { .. } => Failure::refused(error),
        error => Failure::failed(error),
    }
}
