//! The status of a confined program, as lines of a name and a value, and what they prove.
//!
//! Measured side, cold. Owns the names and who writes when: the launcher, from before the program is confined until it
//! is executed. From within the domain the file cannot be opened again, so it stays open until then.

use crate::confine::{Degree, Granted};
use bakeoff_layers_base::daemon::status::read_back;
use bakeoff_layers_base::plain::{For, Place};
use bakeoff_sys::process;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What is done with what the policy does not grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is refused.
    Enforce,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enforce => "enforce",
        })
    }
}

/// How far the launcher has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is in force.
    Starting,
    /// In force, and tried; the program is executed now.
    Confined,
    /// The program was not executed.
    Failed,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Confined => "confined",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Degree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Partial(why) => write!(f, "partial: {why}"),
            Self::None(why) => write!(f, "none: {why}"),
        }
    }
}

/// What does not change while the program runs: everything but its counters. `pid` with the ticks of its start names
/// the process for ever.
pub fn text(state: State, mode: Mode, granted: &Granted) -> String {
    let pid = std::process::id();
    let began = process::stat(pid).map_or(0, |stat| stat.start_ticks);
    let mut text = format!("state {}\ndegree {}\n", state.word(), granted.degree());
    for gap in &granted.gaps {
        let _ = writeln!(text, "gap-{} 1", gap.name());
    }
    for left_out in &granted.not_granted {
        let _ = writeln!(text, "not-granted {}: {}", left_out.what, left_out.why);
    }
    let _ = write!(
        text,
        "abi {}\nmode {mode}\ndomain {}\npolicy {}\nrules {}\nhot-directories {}\nlayers {}\npid {pid}\nbegan {began}\n",
        granted.abi.unwrap_or(0),
        granted.domain,
        granted.digest,
        granted.rules,
        granted.directories,
        u8::from(granted.abi.is_some()),
    );
    text
}

/// A status file that is there and stays open.
#[derive(Debug)]
pub struct Kept(File);

impl Kept {
    /// Puts it there, in place of whatever has its name.
    ///
    /// # Errors
    /// What the system reports.
    pub fn new(path: &Path, text: &str) -> io::Result<Self> {
        Place::of(path)?.replace_by(text.as_bytes(), For::Readers).map(Self)
    }

    /// Says something else, in one write: a reader sees the one or the other.
    ///
    /// # Errors
    /// What the system reports.
    pub fn write(&self, text: &str) -> io::Result<()> {
        self.0.write_all_at(text.as_bytes(), 0)?;
        self.0.set_len(text.len() as u64)
    }
}

/// What is left of a protection, for whoever was not there when it began.
///
/// # Errors
/// Why it is not on: no status of it, another process's, one that is not confined.
pub fn proof(pid: u32, status: &Path) -> Result<String, String> {
    let text = read_back(status);
    let value = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.ok_or_else(|| format!("{} has no line `{name}`", status.display()))
    };
    let number = |name| value(name)?.parse::<u64>().map_err(|_| format!("`{name}` is no number"));
    match value("state")? {
        "confined" => {}
        other => return Err(format!("the launcher is at `{other}`")),
    }
    let confined = u32::try_from(number("pid")?).map_err(|_| "`pid` is no process".to_owned())?;
    let below = || process::descendants(pid).is_ok_and(|all| all.iter().any(|stat| stat.pid == confined));
    if confined != pid && !below() {
        return Err(format!("the status is of process {confined}, which is neither {pid} nor below it"));
    }
    match process::stat(confined) {
        Ok(stat) if stat.start_ticks == number("began")? => {}
        _ => return Err(format!("the status is of an earlier process {confined}")),
    }
    let about = std::fs::read_to_string(format!("/proc/{confined}/status")).map_err(|error| error.to_string())?;
    for (name, wanted) in [("NoNewPrivs:", "1"), ("Seccomp:", "2")] {
        let line = about.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if line != Some(wanted) {
            return Err(format!("process {confined} has {name} {}", line.unwrap_or("nothing")));
        }
    }
    match value("degree")? {
        none if none.starts_with("none") => Err(none.trim_start_matches("none: ").to_owned()),
        degree => Ok(degree.to_owned()),
    }
}
