//! `enforce` and `thaw`; and the worker that `enforce` starts.

use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::manifest::Action;
use bakeoff_layers_integrity::supervisor::{self, Start};
use bakeoff_layers_integrity::worker::{self, Inherited};
use bakeoff_layers_integrity::{Links, OnTimeout, Settings, Unlisted};
use clap::{Args, ValueEnum};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Args, Debug)]
pub(crate) struct EnforceArgs {
    /// The tree
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// What it should be; SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
    /// Public key that it must be signed with
    #[arg(long = "pub", value_name = "FILE")]
    public: PathBuf,
    /// What is done when a file is wrong: log says so, deny refuses to open it, stop also ends the
    /// served processes, lock also locks the store
    #[arg(long, value_name = "NAME")]
    mode: Action,
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
    /// Do not hash files before somebody opens them
    #[arg(long)]
    no_ahead: bool,
    /// Longest time that an open waits, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    time_limit: u64,
    /// Opens that waited so long [default: allow in mode log, deny otherwise]
    #[arg(long, value_enum, value_name = "deny|allow")]
    on_timeout: Option<Allowed>,
    /// With --mode stop: root of the process tree that is ended
    #[arg(long, value_name = "PID")]
    stop_pid: Option<u32>,
    /// With --mode lock: key file of the store that is locked
    #[arg(long, value_name = "FILE")]
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
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    enforce: EnforceArgs,
    #[arg(long)]
    supervisor_pid: u32,
    #[arg(long)]
    group_fd: i32,
    #[arg(long)]
    restarts: u64,
    #[arg(long)]
    began_unix_ns: u64,
}

#[derive(Args, Debug)]
pub(crate) struct ThawArgs {
    /// The tree
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn enforce(args: EnforceArgs) -> Result<Exit, Failure> {
    let began_unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    let settings = settings(args);
    // The worker reads the same words again; the executable by the kernel's name for it, so that it
    // is the same one even if the file was replaced meanwhile.
    let mut arguments = vec!["integrity".into(), "worker".into()];
    arguments.extend(std::env::args_os().skip_while(|word| word != "enforce").skip(1));
    arguments.push(format!("--supervisor-pid={}", std::process::id()).into());
    arguments.push(format!("--began-unix-ns={began_unix_ns}").into());
    let start = Start { program: "/proc/self/exe".into(), arguments };
    supervisor::run(&settings, &start, terminal::say, terminal::note).map_err(Failure::failed)?;
    Ok(Exit::Done)
}

pub(crate) fn worker(args: WorkerArgs) -> Result<Exit, Failure> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(Failure::failed)?;
    let inherited = Inherited {
        group: args.group_fd,
        supervisor: UnixStream::from(socket),
        supervisor_pid: args.supervisor_pid,
        restarts: args.restarts,
        began_unix_ns: args.began_unix_ns,
    };
    worker::run(settings(args.enforce), inherited).map_err(Failure::failed)?;
    Ok(Exit::Done)
}

pub(crate) fn thaw(args: &ThawArgs) -> Result<Exit, Failure> {
    let thawed = bakeoff_layers_integrity::thaw(&args.dir).map_err(Failure::failed)?;
    terminal::say(&format!("{thawed} files and directories were immutable, and can be changed again"));
    Ok(Exit::Done)
}

fn settings(args: EnforceArgs) -> Settings {
    Settings {
        root: args.dir,
        manifest: args.manifest,
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
        freeze: !args.no_freeze,
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
