//! `bakeoff layer audit ...`: inspection of a file server's audit log.
//!
//! Glue. Owns the flags and the output; `bakeoff-layers-credentials` owns the log, `bakeoff-layers-remotefs` its
//! directory.

mod show;

use super::login::{SessionArgs, of_agent};
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_agent::client::{self, AgentError};
use bakeoff_layers_agent::session::SessionOf;
use bakeoff_layers_agent::trust;
use bakeoff_layers_base::plain::{self, FileOwner};
use bakeoff_layers_credentials::audit::{
    AuditFinding, Checkpoint, CheckpointKeys, LogEnd, MOST_FINDINGS, Replay, SegmentReader,
};
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::key::Hash;
use bakeoff_layers_remotefs::server::audit::directory::AuditDirectory;
use clap::{Args, Subcommand};
use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

/// Limit on differences that are printed; the rest is counted.
const NAMED: u64 = 100;
/// Longest checkpoint that is read.
const MOST_CHECKPOINT: u64 = 1 << 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look whether a log is what its server wrote: nothing changed, removed, swapped or cut off
    Verify(VerifyArgs),
    /// Make every decision of a log again, from the evidence that was kept, and tell what differs
    Replay(DirArgs),
    /// Print a log, a line for each decision
    Show(show::ShowArgs),
}

#[derive(Args, Debug)]
pub(crate) struct DirArgs {
    /// The directory of the log
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    dir: DirArgs,
    /// An older checkpoint of this log that was kept elsewhere; may be given more than once
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    /// Ask the agent of the server's domain, too, which keeps the last checkpoint that the server sent
    #[arg(long)]
    agent: bool,
    /// The session whose trust bundles count: whose, or its directory [default: the only one that there is]
    #[arg(long, value_name = "NAME|DIR", requires = "agent", conflicts_with = "trust")]
    session: Option<PathBuf>,
    /// The trust bundles, by which the agent is known
    #[arg(long, value_name = "DIR", requires = "agent")]
    trust: Option<PathBuf>,
}

impl VerifyArgs {
    fn bundles(&self) -> Result<Bundles, Failure> {
        let trust = match &self.trust {
            Some(trust) => trust.clone(),
            None => SessionArgs { session: self.session.clone() }.open(SessionOf::Person)?.trust().to_owned(),
        };
        trust::read(&trust).map_err(Failure::failed)
    }
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Verify(args) => verify(&args),
        Command::Replay(args) => replay(&args.dir),
        Command::Show(args) => show::show(&args),
    }
}

/// A log, with its server's signatures.
struct Log {
    directory: AuditDirectory,
    keys: CheckpointKeys,
    checkpoints: Vec<Checkpoint>,
}

/// Result of reading a log.
struct Found {
    end: LogEnd,
    findings: Vec<AuditFinding>,
}

impl Log {
    /// Opens a log, with its own last checkpoint and these.
    fn open(dir: &Path, others: &[PathBuf]) -> Result<Self, Failure> {
        let directory = AuditDirectory::at(dir);
        let keys = directory.keys().map_err(Failure::failed)?;
        let own = directory.checkpoint().map_err(Failure::failed)?;
        let mut log = Self { directory, keys, checkpoints: Vec::new() };
        if let Some(own) = own {
            log.hold(&dir.join("checkpoint").display(), &own)?;
        }
        for other in others {
            let read = plain::read_regular(other, FileOwner::Anybody, MOST_CHECKPOINT);
            let bytes = read.map_err(|error| Failure::failed(format!("{}: {error}", other.display())))?;
            log.hold(&other.display(), &String::from_utf8_lossy(&bytes))?;
        }
        Ok(log)
    }

    /// Compares it with another checkpoint; returns the checkpoint's number of records.
    fn hold(&mut self, from: &dyn Display, note: &str) -> Result<u64, Failure> {
        let opened = Checkpoint::open(note, &self.keys);
        let opened = opened.map_err(|no| Failure::altered(format!("{from}: {no}")))?;
        let size = opened.0.size;
        self.checkpoints.push(opened);
        Ok(size)
    }

    /// Compares it with the checkpoint that the agent of the server's domain keeps, and says whether there is one.
    fn hold_by_agent(&mut self, bundles: &Bundles) -> Result<bool, Failure> {
        let server = self.keys.server.clone();
        let domain = server.domain();
        let bundle =
            bundles.get(domain).ok_or_else(|| Failure::failed(AgentError::UnknownDomain(domain.clone())))?;
        let agent = format!("the agent of {domain}");
        match client::kept(bundle, &server).map_err(of_agent)? {
            Some(note) => {
                let size = self.hold(&format!("the checkpoint that {agent} keeps"), &note)?;
                terminal::note(&format!("{agent} was told of {size} records"));
                Ok(true)
            }
            None => {
                terminal::note(&format!("{agent} was never told of a log of {server}"));
                Ok(false)
            }
        }
    }

    fn end(reader: SegmentReader) -> Found {
        let (end, half, findings) = reader.end();
        if let Some(half) = half {
            terminal::note(&format!(
                "the last {} bytes are a half record, which is not looked at: its server writes at this moment, or was \
                 killed, and cuts it off when it starts again",
                half.bytes
            ));
        }
        Found { end, findings }
    }
}

impl Found {
    /// Prints the findings; any is an error.
    fn said(&self) -> Result<(), Failure> {
        if self.findings.is_empty() {
            return Ok(());
        }
        let mut text: String = self.findings.iter().map(|finding| format!("{finding}\n")).collect();
        if self.findings.len() >= MOST_FINDINGS {
            text.push_str("what follows was not looked at\n");
        }
        terminal::say(&text);
        Err(Failure::altered(format!(
            "the log is not what its server wrote: {} findings",
            self.findings.len()
        )))
    }
}

fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let mut log = Log::open(&args.dir.dir, &args.checkpoint)?;
    let by_agent = args.agent && log.hold_by_agent(&args.bundles()?)?;
    let reader = log.directory.read(&log.keys, log.checkpoints.clone(), drop).map_err(Failure::failed)?;
    let found = Log::end(reader);
    found.said()?;
    let mut text = format!("good: {} records of {}\n", found.end.size, log.keys.server);
    match log.checkpoints.iter().map(|checkpoint| checkpoint.0.size).max() {
        Some(size) => {
            let keys = args.dir.dir.join("keys");
            let _ = writeln!(text, "{} is signed by a key in {}:", checked(size), keys.display());
            text.push_str(&log.keys.to_string());
        }
        None => {
            text.push_str("There is no checkpoint: a log that was made anew cannot be told from this one.\n")
        }
    }
    if args.checkpoint.is_empty() && !by_agent {
        text.push_str("Who could write to the directory could make all of it anew: give a checkpoint that was kept elsewhere, or ask the agent (--agent).\n");
    }
    terminal::say(&text);
    Ok(Exit::Done)
}

/// Records that the newest checkpoint covers, as the beginning of a sentence.
fn checked(size: u64) -> String {
    match size {
        0 => "None is checked yet: the newest checkpoint is from before the first of them, and".to_owned(),
        1 => "The first is that of a checkpoint that".to_owned(),
        size => format!("The first {size} are those of a checkpoint that"),
    }
}

fn replay(dir: &Path) -> Result<Exit, Failure> {
    let log = Log::open(dir, &[])?;
    let fetch = |hash: &Hash| log.directory.evidence(hash);
    let mut replay = Replay::new(&log.keys.server, &fetch);
    let mut differences = 0;
    let read = log.directory.read(&log.keys, log.checkpoints.clone(), |record| {
        if let Err(difference) = replay.again(&record) {
            differences += 1;
            if differences <= NAMED {
                terminal::say(&format!("record {}: {difference}", record.number));
            }
        }
    });
    let found = Log::end(read.map_err(Failure::failed)?);
    found.said()?;
    if differences > 0 {
        return Err(Failure::altered(format!(
            "{differences} of {} decisions are not what evidence and rules say",
            found.end.size
        )));
    }
    let mut text = format!("good: {} decisions are the same when they are made again\n", found.end.size);
    if replay.strangers > 0 {
        let _ = writeln!(
            text,
            "Of these, {} refusals of strangers were not: nothing that strangers show is kept.",
            replay.strangers
        );
    }
    if replay.beside > 0 {
        let _ = writeln!(
            text,
            "Of {} refusals for reasons beside rights the rights alone were made again.",
            replay.beside
        );
    }
    terminal::say(&text);
    Ok(Exit::Done)
}
