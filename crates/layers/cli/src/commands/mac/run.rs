//! `mac run`: this process becomes the program, in its domain.

use super::PolicyArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::plain::PathError;
use bakeoff_layers_mac::confine::{ConfineError, Confined, Degree, Least, Prepared, close_inherited};
use bakeoff_layers_mac::grant::DomainGrant;
use bakeoff_layers_mac::log::{self, DomainLog, LauncherEnd};
use bakeoff_layers_mac::proof::{ConfinementMode, OpenStatusFile, lines, permissive_lines};
use bakeoff_layers_mac::status::DomainState;
use bakeoff_layers_mac::watch::{Watch, refused_entry};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// The domain
    #[arg(long, value_name = "NAME")]
    domain: String,
    /// What is done with what the policy does not grant: enforce refuses it; permissive lets it happen, and tells it.
    /// Each call that could be refused then waits for another process, at some 40 us a call
    #[arg(long, value_enum, value_name = "enforce|permissive", default_value_t = Typed::Enforce)]
    mode: Typed,
    /// File for status and counters, as lines of text
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
    /// File to which lines of JSON are added, one for what was refused, or would be; of what was refused it needs the
    /// right to read the kernel's audit
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Descriptor that the program inherits besides 0, 1 and 2; may be given more than once
    #[arg(long = "keep-fd", value_name = "N", value_parser = clap::value_parser!(RawFd).range(3..))]
    keep: Vec<RawFd>,
    /// Start the program on a kernel without Landlock, or with an old one, too: the degree says so
    #[arg(long)]
    allow_none: bool,
    /// Do all but starting a program, and print the degree: exit code 0 when the domain holds, 1 when it does not
    #[arg(long, conflicts_with_all = ["program", "status", "log"])]
    proof: bool,
    /// Take the kernel for one with no newer Landlock than this ABI
    #[arg(long, value_name = "N", hide = true)]
    most_abi: Option<u32>,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "proof")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Typed {
    Enforce,
    Permissive,
}

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    // Before anything is opened.
    close_inherited(&args.keep).map_err(|error| nothing_ran(ConfineError::Descriptors(error)))?;
    let is_open = |fd: &&RawFd| Path::new("/proc/self/fd").join(fd.to_string()).symlink_metadata().is_ok();
    if let Some(fd) = args.keep.iter().find(|fd| !is_open(fd)) {
        return Err(Failure::usage(format!(
            "--keep-fd {fd}: no such descriptor is open; open it, as in {fd}<FILE"
        )));
    }
    let policy = args.policy.read()?;
    let grant = policy.grant(&args.domain).map_err(Failure::usage)?;
    if args.mode == Typed::Permissive {
        return permissive(args, grant);
    }
    let least = Least { allow_none: args.allow_none, most_abi: args.most_abi };
    let own = [Some(args.policy.policy.as_path()), args.status.as_deref(), args.log.as_deref()];
    let own: Vec<&Path> = own.into_iter().flatten().collect();
    let prepared = Prepared::of(grant, least, &own).map_err(nothing_ran)?;
    let degree = prepared.granted().degree();
    if args.proof {
        prepared.enter(false).map_err(nothing_ran)?;
        terminal::say(&degree.to_string());
        return Ok(if matches!(degree, Degree::None(_)) { Exit::Off } else { Exit::Done });
    }
    let mut command = command(&args.program)?;
    if degree != Degree::Full {
        terminal::note(&format!("degree {degree}"));
    }
    let mut witness = witness(args, grant, &prepared)?;
    let refused = refused_entry(grant, command.get_program());
    let error = match armed(prepared, &mut witness) {
        Ok(confined) => confined.execute(&mut command, refused),
        Err(error) => error,
    };
    match witness {
        Witness::Reader(reader, _) => reader.failed(),
        Witness::Kept(kept) => drop(kept.say(DomainState::Failed)),
        Witness::Nobody => {}
    }
    Err(nothing_ran(error))
}

pub(super) fn command(words: &[OsString]) -> Result<Command, Failure> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| Failure::usage("give a program behind --"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Runs the program in a permissive domain: accesses that a policy would refuse are logged.
fn permissive(args: &RunArgs, grant: &DomainGrant) -> Result<Exit, Failure> {
    let (status, out) = (args.status.clone(), args.log.clone());
    if args.proof || (status.is_none() && out.is_none()) {
        return Err(Failure::usage(
            "permissive only tells what would be refused: give --log FILE or --status FILE",
        ));
    }
    let mut command = command(&args.program)?;
    let reading = DomainLog { grant: grant.clone(), status, out };
    let entered =
        Watch::start(reading).and_then(|mut watch| watch.enter(grant.attributes, &permissive_lines(grant)));
    entered.map_err(|why| nothing_ran(ConfineError::Log(why)))?;
    let (program, why) = (command.get_program().to_string_lossy().into_owned(), command.exec());
    Err(Failure::failed(format!("cannot execute {program}: {why}. Nothing was run")))
}

/// Keeper of the status.
enum Witness {
    /// A process beside us, which also reads the kernel's refusals; with the lines to tell it about us.
    Reader(LauncherEnd, String),
    /// This process itself, until the program is executed: it may not read the kernel's refusals.
    Kept(OpenStatusFile),
    /// Nobody: there is to be no status.
    Nobody,
}

fn witness(args: &RunArgs, grant: &DomainGrant, prepared: &Prepared<'_>) -> Result<Witness, Failure> {
    let lines = lines(ConfinementMode::Enforce, prepared.granted());
    let (status, out) = (args.status.clone(), args.log.clone());
    if status.is_none() && out.is_none() {
        return Ok(Witness::Nobody);
    }
    let Err(why) = log::is_allowed() else {
        let reading = DomainLog { grant: grant.clone(), status, out };
        let log = |why| nothing_ran(ConfineError::Log(why));
        return LauncherEnd::start(reading).map(|reader| Witness::Reader(reader, lines)).map_err(log);
    };
    if out.is_some() {
        terminal::note(&format!("no log: this user may not read the kernel's audit ({why})"));
    }
    let Some(path) = status else { return Ok(Witness::Nobody) };
    let lines = format!("{lines}gap-no-log 1\nno-log {why}\n");
    let kept = OpenStatusFile::new(&path, lines).map_err(PathError::written(&*path));
    kept.map(Witness::Kept).map_err(|why| nothing_ran(why.into()))
}

/// Enters the domain, and says so in the status.
fn armed(prepared: Prepared<'_>, witness: &mut Witness) -> Result<Confined, ConfineError> {
    let confined = prepared.enter(matches!(witness, Witness::Reader(..)))?;
    match witness {
        Witness::Reader(reader, lines) => {
            reader.confined(lines, confined.refused()).map_err(ConfineError::Log)?;
        }
        Witness::Kept(kept) => {
            kept.say(DomainState::Armed).map_err(PathError::written(Path::new("the status")))?;
        }
        Witness::Nobody => {}
    }
    Ok(confined)
}

fn nothing_ran(error: ConfineError) -> Failure {
    Failure::failed(format!("{error}. Nothing was run"))
}
