//! `bakeoff layer ca ...`: making a domain, certifying names, and exchanging trust bundles.
//!
//! Glue. Owns the flags and the output; `bakeoff-layers-agent` owns keys and files.

use super::delegate::SKEW_S;
use super::passphrase::PassphraseArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::authority::{self, AuthorityError, Certified, KeyBefore, NextKeys, Terms};
use bakeoff_layers_agent::{read_public_key, trust, write, write_secret_key};
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::manifest::signature::AdminPublicKey;
use bakeoff_layers_base::plain::FileAudience;
use bakeoff_layers_credentials::bundle::DomainBundle;
use bakeoff_layers_credentials::key::SecretKey;
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use clap::{Args, Subcommand};
use std::path::PathBuf;

const DAY_S: u64 = 24 * 60 * 60;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a domain: its keys, the directory of its agent, and the bundle by which others know it
    Init(InitArgs),
    /// Certify for some weeks that a key is a name's
    Certify(CertifyArgs),
    /// Write a newer bundle, where the agent is elsewhere or the old one is nearly over
    Bundle(BundleArgs),
    /// Make a new key for the CA, and a bundle that names it
    Rotate(RotateArgs),
    /// Take a domain's bundle into a directory of those that are trusted
    Import(ImportArgs),
}

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Its name, like home.example
    #[arg(value_name = "DOMAIN")]
    domain: Domain,
    /// Directory for the keys; it should not be on a network
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    terms: TermsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TermsArgs {
    /// Where the agent is reached; may be given up to four times
    #[arg(long = "ola", value_name = "HOST:PORT")]
    agents: Vec<String>,
    /// Days for which the bundle is good
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=36_500))]
    days: u64,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl TermsArgs {
    fn read(&self, now_unix_s: u64) -> Result<Terms<'_>, Failure> {
        let passphrase = self.passphrase.read()?;
        Ok(Terms { agents: &self.agents, until_unix_s: now_unix_s + self.days * DAY_S, passphrase })
    }
}

/// A domain's directory.
#[derive(Args, Debug)]
pub(crate) struct CaArgs {
    /// The domain's directory
    #[arg(long, value_name = "DIR", default_value = "ca")]
    ca: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct CertifyArgs {
    /// Whose key it is: user:alice@home.example, node:files@home.example
    #[arg(value_name = "NAME")]
    name: PrincipalName,
    #[command(flatten)]
    ca: CaArgs,
    /// The public key, as openssl pkey -pubout writes it
    #[arg(long = "pub", id = "public", value_name = "FILE", required_unless_present = "new_key")]
    public: Option<PathBuf>,
    /// Make a key, and put it there: for who cannot make one
    #[arg(long, value_name = "FILE", conflicts_with = "public")]
    new_key: Option<PathBuf>,
    /// A group that it is in, group:staff@home.example, if the agent's file of groups says so, too; may be given up to 32
    /// times
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<PrincipalName>,
    /// Days for which it is good
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
    /// Where the identity goes; if not said, the name without its kind and domain, and .identity
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    ca: CaArgs,
    /// End rotations: of each kind the newest key alone counts
    #[arg(long)]
    drop_old: bool,
    #[command(flatten)]
    terms: TermsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct RotateArgs {
    #[command(flatten)]
    ca: CaArgs,
    /// The key before counts no more. Otherwise it does until `ca bundle --drop-old`
    #[arg(long)]
    stolen: bool,
    #[command(flatten)]
    terms: TermsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// The bundle; its signature lies beside it
    #[arg(value_name = "FILE")]
    bundle: PathBuf,
    /// The public key of the domain's administrator, which you got in another way than the bundle; not needed for newer
    /// bundles of a domain that is known
    #[arg(long = "pub", value_name = "FILE")]
    public: Option<PathBuf>,
    /// The directory of trusted bundles
    #[arg(long, value_name = "DIR")]
    trust: PathBuf,
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Init(args) => init(&args),
        Command::Certify(args) => certify(&args),
        Command::Bundle(args) => {
            let keys = if args.drop_old { NextKeys::Newest } else { NextKeys::Same };
            bundle(&args.ca, keys, &args.terms)
        }
        Command::Rotate(args) => rotate(&args, NextKeys::NewCa),
        Command::Import(args) => import(&args),
    }
}

fn init(args: &InitArgs) -> Result<Exit, Failure> {
    if args.terms.agents.is_empty() {
        return Err(Failure::usage("where will the agent be reached? Say --ola HOST:PORT"));
    }
    let now = now_unix_s();
    let terms = args.terms.read(now)?;
    let open = terms.passphrase.is_none();
    authority::init(&args.domain, &args.out, terms, now).map_err(failure)?;
    let public = args.out.join("admin.pub");
    let id = AdminPublicKey::read(&public).map_err(Failure::failed)?.id();
    let dir = args.out.display();
    terminal::say(&format!(
        "{}: the domain {}\nfor its agent: {dir}/ola\nfor whom it shall be known to: {dir}/trust/{}.trust with its .minisig, and \
         by another way {} (key {id:016X})",
        args.out.display(),
        args.domain,
        args.domain,
        public.display()
    ));
    if open {
        terminal::say("The key that signs the bundle has no passphrase: whoever reads admin.key can sign.");
    }
    Ok(Exit::Done)
}

fn certify(args: &CertifyArgs) -> Result<Exit, Failure> {
    let now = now_unix_s();
    let made = args.new_key.as_ref().map(|_| SecretKey::generate()).transpose().map_err(Failure::failed)?;
    let key = match (&args.public, &made) {
        (_, Some(made)) => made.public(),
        (Some(public), None) => read_public_key(public).map_err(|error| {
            let secret = public.with_extension("key");
            Failure::failed(error.or_make(format!(
                "openssl pkey -in {} -pubout -out {}",
                secret.display(),
                public.display()
            )))
        })?,
        (None, None) => return Err(Failure::usage("whose key is it? Say --pub FILE or --new-key FILE")),
    };
    let Certified { identity, line } = authority::certify(
        &args.ca.ca,
        (&args.name, &args.groups),
        key,
        (now.saturating_sub(SKEW_S), now + args.days * DAY_S),
    )
    .map_err(failure)?;
    let usual = || PathBuf::from(format!("{}.identity", args.name.local()));
    let out = args.out.clone().unwrap_or_else(usual);
    if let (Some(path), Some(made)) = (&args.new_key, &made) {
        write_secret_key(path, made).map_err(Failure::failed)?;
        terminal::say(&format!(
            "{}: the secret key; hand it over so that nobody else sees it",
            path.display()
        ));
    }
    write(&out, &identity, FileAudience::Everybody).map_err(Failure::failed)?;
    terminal::say(&format!("{}: the identity of {}, good for {} days", out.display(), args.name, args.days));
    let roll = args.ca.ca.join("ola/roll");
    terminal::say(&format!(
        "{}: has the line; add it to the roll of an agent that is elsewhere:\n  {line}",
        roll.display()
    ));
    Ok(Exit::Done)
}

fn bundle(ca: &CaArgs, keys: NextKeys, terms: &TermsArgs) -> Result<Exit, Failure> {
    let now = now_unix_s();
    let bundle = authority::renew(&ca.ca, keys, terms.read(now)?, now).map_err(failure)?;
    terminal::say(&format!("{}/trust/{}.trust: {}", ca.ca.display(), bundle.domain, about(&bundle)));
    Ok(Exit::Done)
}

/// Makes a new key of one kind.
pub(super) fn rotate(args: &RotateArgs, kind: fn(KeyBefore) -> NextKeys) -> Result<Exit, Failure> {
    let before = if args.stolen { KeyBefore::IsOut } else { KeyBefore::Counts };
    bundle(&args.ca, kind(before), &args.terms)?;
    terminal::say(
        "Take this bundle in wherever the domain is known, and send SIGHUP to the file servers there; the agent needs it in its \
         trust, a new agent.key if it is that one, and SIGHUP.",
    );
    Ok(Exit::Done)
}

fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let bundle = trust::import(&args.bundle, args.public.as_deref(), &args.trust, now_unix_s());
    let bundle = bundle.map_err(Failure::failed)?;
    terminal::say(&format!("{}: {} is known, {}", args.trust.display(), bundle.domain, about(&bundle)));
    Ok(Exit::Done)
}

fn about(bundle: &DomainBundle) -> String {
    let days = bundle.not_after_unix_s.saturating_sub(now_unix_s()) / DAY_S;
    format!("version {}, good for {days} days, agent at {}", bundle.version, bundle.addresses.join(" and "))
}

fn failure(error: AuthorityError) -> Failure {
    match error {
        AuthorityError::NotOurs { .. } | AuthorityError::Bundle(_) => Failure::usage(error),
        error => Failure::failed(error),
    }
}
