//! Launcher's part of the status file: evidence of the confinement for processes that did not see it begin.
//!
//! Measured side, cold. Owns the status lines that do not change while the program runs, and the file as the launcher
//! keeps it: from before it confines itself until it executes. The file cannot be opened again from within the
//! domain, so it stays open until then.

use crate::confine::Granted;
use crate::grant::DomainGrant;
use crate::status::DomainState;
use bakeoff_layers_base::daemon::status::{read_back, value};
use bakeoff_layers_base::named;
use bakeoff_layers_base::plain::{self, FileAudience, FileLocation};
use bakeoff_sys::process;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

named! {
    /// What is done with what the policy does not grant.
    pub enum ConfinementMode {
        /// It is refused.
        Enforce "enforce",
        /// It happens, and is told.
        Permissive "permissive",
    }
}

/// Lines of a domain that refuses nothing. Calls that are not watched are a gap: `ioctl`, and those to other processes.
pub fn permissive_lines(grant: &DomainGrant) -> String {
    let mode = ConfinementMode::Permissive;
    let degree = format!("degree none: {} refuses nothing\ngap-ioctl 1\ngap-processes 1\n", mode.name());
    degree + &identity(mode, &grant.domain, &grant.digest)
}

/// Lines that do not change while the program runs.
pub fn lines(mode: ConfinementMode, granted: &Granted) -> String {
    let mut text = format!("degree {}\n", granted.degree());
    for gap in &granted.gaps {
        let _ = writeln!(text, "gap-{} 1", gap.name());
    }
    for left_out in &granted.not_granted {
        let _ = writeln!(text, "not-granted {}: {}", left_out.what, left_out.why);
    }
    let Granted { rules, directories, abi, .. } = granted;
    let layers = u8::from(abi.is_some());
    let _ = writeln!(
        text,
        "abi {}\nrules {rules}\nhot-directories {directories}\nlayers {layers}",
        abi.unwrap_or(0)
    );
    text + &identity(mode, &granted.domain, &granted.digest)
}

/// `pid` with its start time in ticks identifies the process for ever.
fn identity(mode: ConfinementMode, domain: &str, digest: &str) -> String {
    let (mode, pid) = (mode.name(), std::process::id());
    let began = process::stat(pid).map_or(0, |stat| stat.start_ticks);
    format!("mode {mode}\ndomain {domain}\npolicy {digest}\npid {pid}\nbegan {began}\n")
}

/// The launcher's status file: it is there, and stays open.
#[derive(Debug)]
pub struct OpenStatusFile {
    file: File,
    lines: String,
}

impl OpenStatusFile {
    /// Creates the file, replacing whatever has its name.
    ///
    /// # Errors
    /// The I/O error.
    pub fn new(path: &Path, lines: String) -> io::Result<Self> {
        let file = FileLocation::guarded(path)?
            .replace_by(text(DomainState::Starting, &lines).as_bytes(), FileAudience::Readers)?;
        Ok(Self { file, lines })
    }

    /// Writes the progress, in a single write: a reader sees either the old or the new.
    ///
    /// # Errors
    /// The I/O error.
    pub fn say(&self, state: DomainState) -> io::Result<()> {
        self.file.write_all_at(text(state, &self.lines).as_bytes(), 0)
    }
}

/// Pads every state to the longest, so that one write replaces one by another.
fn text(state: DomainState, lines: &str) -> String {
    let word = state.name();
    format!("state {word}\n{lines}{:width$}", "", width = "starting".len() - word.len())
}

/// Evidence of a running confinement, for a process that did not see it begin.
///
/// # Errors
/// The reason why it is not on: no status of it, another process's, one that is not confined.
pub fn proof(pid: u32, status: &Path) -> Result<String, String> {
    let text = read_back(status);
    if text.is_empty() {
        return Err(format!("{} is no status: give the file of `mac run --status`", status.display()));
    }
    let told =
        |name: &str| value(&text, name).ok_or_else(|| format!("{} has no line `{name}`", status.display()));
    let number = |name| told(name)?.parse::<u64>().map_err(|_| format!("`{name}` is no number"));
    match told("state")? {
        "armed" => {}
        other => return Err(format!("the status says `{other}`")),
    }
    let confined = u32::try_from(number("pid")?).map_err(|_| "`pid` is no process".to_owned())?;
    if !process::is_or_below(confined, pid) {
        return Err(format!("the status is of process {confined}, which is neither {pid} nor below it"));
    }
    match process::stat(confined) {
        Ok(stat) if stat.start_ticks == number("began")? => {}
        _ => return Err(format!("the status is of an earlier process {confined}")),
    }
    let about =
        plain::read_kernels(&format!("/proc/{confined}/status")).map_err(|error| error.to_string())?;
    for (name, wanted) in [("NoNewPrivs:", "1"), ("Seccomp:", "2")] {
        let line = about.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if line != Some(wanted) {
            return Err(format!("process {confined} has {name} {}", line.unwrap_or("nothing")));
        }
    }
    match told("degree")? {
        none if none.starts_with("none") => Err(none.trim_start_matches("none: ").to_owned()),
        degree => Ok(degree.to_owned()),
    }
}
