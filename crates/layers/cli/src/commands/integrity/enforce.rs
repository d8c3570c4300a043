//! `integrity enforce` and `integrity thaw`.

use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::manifest::FaultAction;
use bakeoff_layers_base::name::EscapedName;
use bakeoff_layers_integrity::{EnforcementSettings, Links, OnTimeout, Unlisted, supervisor};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct EnforceArgs {
    /// The tree
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// What it should be; SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
    /// Name that it was sealed with (`seal --name`) [default: the path of DIR]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Public key that it must be signed with
    #[arg(long = "pub", value_name = "FILE")]
    public: PathBuf,
    /// What is done when a file is wrong: log says so, deny refuses to open it, stop also ends the
    /// served processes, lock also locks the store
    #[arg(long, value_name = "NAME")]
    mode: FaultAction,
    /// File that keeps the newest version which was taken, so that an older one is refused after a
    /// restart, too
    #[arg(long, value_name = "FILE")]
    high_water: Option<PathBuf>,
    /// File for status and counters, as lines of text
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
    /// Path below DIR that is not looked at; may be given more than once
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,
    /// Files that are there and not in the manifest
    #[arg(long, value_enum, value_name = "deny|allow", default_value_t = Allowed::Deny)]
    unlisted: Allowed,
    /// Symbolic links in the place of signed files, on the way to them, or out of the tree; FIFOs and
    /// devices, too: deny does not start with one, allow names them as a gap
    #[arg(long, value_enum, value_name = "deny|allow", default_value_t = Allowed::Deny)]
    links: Allowed,
    /// Do not make files immutable while they are guarded: the tree can be written to, and what is
    /// written after an open is seen at the next one
    #[arg(long)]
    no_freeze: bool,
    /// With --mode log: freeze all the same. Otherwise log changes nothing, and holds a lease and a descriptor for each file
    #[arg(long, conflicts_with = "no_freeze")]
    freeze: bool,
    /// Do not hash files before somebody opens them
    #[arg(long)]
    no_ahead: bool,
    /// Longest time that an open waits, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    time_limit: u64,
    /// Opens that waited so long [default: allow in mode log, deny otherwise]
    #[arg(long, value_enum, value_name = "deny|allow")]
    on_timeout: Option<Allowed>,
    /// With --mode stop: root of the process tree that is ended; it must be running
    #[arg(long, value_name = "PID", required_if_eq("mode", "stop"))]
    stop_pid: Option<u32>,
    /// With --mode lock: key file of the store that is locked
    #[arg(long, value_name = "FILE", required_if_eq("mode", "lock"))]
    lock_store: Option<PathBuf>,
    /// Most verdicts that are kept, one descriptor each [default: as many as descriptors allow]
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Allowed {
    Deny,
    Allow,
}

#[derive(Args, Debug)]
pub(crate) struct ThawArgs {
    /// The tree
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn enforce(args: EnforceArgs) -> Result<Exit, Failure> {
    supervisor::run(&settings(args), terminal::say, terminal::note).map_err(Failure::failed)?;
    Ok(Exit::Done)
}

pub(crate) fn thaw(args: &ThawArgs) -> Result<Exit, Failure> {
    let thawed = bakeoff_layers_integrity::thaw(&args.dir).map_err(Failure::failed)?;
    terminal::say(&format!("{thawed} files and directories were immutable, and can be changed again"));
    Ok(Exit::Done)
}

fn settings(args: EnforceArgs) -> EnforcementSettings {
    EnforcementSettings {
        // It is looked for again and again, by processes that may not ask for their directory.
        root: std::path::absolute(&args.dir).unwrap_or(args.dir),
        manifest: args.manifest,
        name: args.name.map(EscapedName::of),
        public_key: args.public,
        mode: args.mode,
        high_water: args.high_water,
        status: args.status,
        exclude: args.exclude,
        unlisted: match args.unlisted {
            Allowed::Deny => Unlisted::Deny,
            Allowed::Allow => Unlisted::Allow,
        },
        links: match args.links {
            Allowed::Deny => Links::Deny,
            Allowed::Allow => Links::Allow,
        },
        // A mode that refuses nothing changes nothing either, unless requested.
        freeze: args.freeze || (!args.no_freeze && args.mode != FaultAction::Log),
        ahead: !args.no_ahead,
        time_limit: Duration::from_millis(args.time_limit),
        on_timeout: match args.on_timeout {
            None => OnTimeout::Mode,
            Some(Allowed::Allow) => OnTimeout::Allow,
            Some(Allowed::Deny) => OnTimeout::Deny,
        },
        stop_pid: args.stop_pid,
        lock_store: args.lock_store,
        keep: args.keep,
    }
}
