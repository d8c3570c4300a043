//! `integrity seal`, `verify`, `diff` and `show`: manifests without enforcement.

use super::PassphraseArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::digest::Algorithm;
use bakeoff_layers_base::key;
use bakeoff_layers_base::manifest::load::{self, TrustConditions};
use bakeoff_layers_base::manifest::seal::{self, Sealing};
use bakeoff_layers_base::manifest::signature::AdminPublicKey;
use bakeoff_layers_base::manifest::{FaultAction, Manifest, check};
use bakeoff_layers_base::name::EscapedName;
use clap::Args;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Default lifetime of a manifest in days.
const DAYS: u64 = 365;

#[derive(Args, Debug)]
pub(crate) struct SealArgs {
    /// The tree
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Secret key that signs
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Where the manifest goes; its signature goes beside it, with .minisig behind the name
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How files are digested: blake3, or sha256
    #[arg(long, value_name = "NAME", default_value = "blake3")]
    digest: Algorithm,
    /// Version of the manifest; an older one is refused once a newer one was taken [default: the
    /// seconds since 1970]
    #[arg(long, value_name = "N")]
    number: Option<u64>,
    /// Days for which it is good
    #[arg(long, value_name = "N", default_value_t = DAYS, value_parser = clap::value_parser!(u64).range(1..=36_500))]
    days: u64,
    /// The most that is done about a wrong file of this tree: log, deny, stop or lock [default: what
    /// --mode says when it is enforced]
    #[arg(long, value_name = "NAME", default_value = "lock", hide_default_value = true)]
    action: FaultAction,
    /// Path below DIR that is left out; may be given more than once
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,
    /// What the manifest is of, the same for each newer version: a store's key that is bound to it is given
    /// out with no other one [default: the full path of DIR]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    signed: SignedArgs,
    /// The tree [default: only the signature is checked]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Path below DIR that is left out; may be given more than once
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The older manifest
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The newer one
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Public key that both are signed with
    #[arg(long = "pub", value_name = "FILE")]
    public: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    signed: SignedArgs,
}

#[derive(Args, Debug)]
pub(crate) struct SignedArgs {
    /// The manifest
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
    /// Public key that it must be signed with
    #[arg(long = "pub", value_name = "FILE")]
    public: PathBuf,
}

pub(crate) fn seal(args: SealArgs) -> Result<Exit, Failure> {
    let key = key::read_secret(&args.key, args.passphrase.read()?).map_err(Failure::failed)?;
    let now = now_unix_s();
    let sealing = Sealing {
        algorithm: args.digest,
        version: args.number.unwrap_or(now),
        created_unix_s: now,
        not_after_unix_s: now + args.days * 24 * 60 * 60,
        action: args.action,
        exclude: args.exclude,
        name: args.name.map(EscapedName::of),
    };
    let manifest = seal::seal(&args.dir, &sealing, &key, &args.out).map_err(Failure::failed)?;
    terminal::say(&format!("{}: {}", args.out.display(), about(&manifest)));
    Ok(Exit::Done)
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let manifest = read(&args.signed.manifest, &args.signed.public)?;
    let Some(dir) = &args.dir else {
        terminal::say(&format!("good: {}", about(&manifest)));
        return Ok(Exit::Done);
    };
    let findings = check::tree(&manifest, dir, &args.exclude).map_err(Failure::failed)?;
    if findings.is_empty() {
        terminal::say(&format!("good: {} is as the manifest says, {} files", dir.display(), manifest.len()));
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for finding in &findings {
        let _ = writeln!(text, "{:<13} {}", finding.wrong.name(), finding.path);
    }
    terminal::say(&text);
    Err(Failure::altered(format!("{} files are not as the manifest says", findings.len())))
}

pub(crate) fn diff(args: &DiffArgs) -> Result<Exit, Failure> {
    let (old, new) = (read(&args.old, &args.public)?, read(&args.new, &args.public)?);
    let mut text = String::new();
    for found in check::diff(&old, &new) {
        let _ = writeln!(text, "{:<10} {}", found.change.name(), found.path);
    }
    terminal::say(if text.is_empty() { "no difference" } else { &text });
    Ok(Exit::Done)
}

pub(crate) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let manifest = read(&args.signed.manifest, &args.signed.public)?;
    let text = bakeoff_layers_base::manifest::text(
        manifest.header(),
        manifest.entries().collect::<Vec<_>>().into_iter(),
    );
    terminal::say(&String::from_utf8_lossy(&text));
    Ok(Exit::Done)
}

/// Reads a manifest without enforcing it: an expired or older one can still be looked at.
fn read(path: &Path, public: &Path) -> Result<Manifest, Failure> {
    let key = AdminPublicKey::read(public).map_err(Failure::failed)?;
    let trust = TrustConditions { key: &key, now_unix_s: 0, seen_version: 0 };
    load::load(path, &trust).map_err(Failure::failed)
}

fn about(manifest: &Manifest) -> String {
    let header = manifest.header();
    let left = header.not_after_unix_s.saturating_sub(now_unix_s()) / (24 * 60 * 60);
    let until = match left {
        0 => "EXPIRED or ends today".to_owned(),
        days => format!("good for {days} days"),
    };
    format!(
        "version {}, {} files, {}, key {:016X}, {until}",
        header.version,
        manifest.len(),
        header.algorithm,
        header.key_id
    )
}
