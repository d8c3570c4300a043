//! Checks of a machine for everything that spoils measurements or limits load: one table.
//!
//! Pure: judges an observation of the machine ([`MachineState`]). `doctor` shows all findings; a run warns of those that matter
//! to it ([`warnings`]). Neither this code nor its callers change anything.

mod cores;
mod limits;
mod memory;
mod rights;
mod security;
mod speed;

#[cfg(test)]
mod tests;

use super::placement::Placement;
use super::seen::{MachineState, PROGRAMS};
use bakeoff_results::Warning;
use bakeoff_units::PerSecond;
use serde::Serialize;

/// Demands on the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Connections open at once, all arms that are loaded together.
    pub connections: u64,
    /// New connections to one address and port, from one local address, if connections do not stay; `None` with
    /// keep-alive. In a closed loop: the fastest that can be expected.
    pub connection_rate: Option<PerSecond>,
    /// Whether all subjects are on a loopback address.
    pub loopback: bool,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing is wrong by it.
    Note,
    /// Makes figures worse or worth less, or the load impossible.
    Spoils,
}

/// Finding of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable label.
    pub name: &'static str,
    /// Its severity.
    pub level: Level,
    /// The observation: a clause.
    pub found: String,
    /// The value it should have; empty when it is so.
    pub wanted: String,
    /// Its effect on a measurement: a clause; empty when there is none.
    pub why: String,
    /// The remedy: sentences; empty when none is needed.
    pub how: String,
}

/// Input of a check.
struct CheckInput<'a> {
    seen: &'a MachineState,
    placement: &'a Placement,
    need: &'a Need,
}

/// Outcome of a check, before it has its name.
struct Judged {
    level: Level,
    found: String,
    wanted: String,
    why: String,
    how: String,
}

/// One check. It gives nothing if the machine does not tell, or if the question has no meaning.
struct Check {
    name: &'static str,
    /// Severity from which on a run warns of it; `None`: it is for `doctor` only.
    warns: Option<Level>,
    judge: fn(&CheckInput<'_>) -> Option<Judged>,
}

const fn check(
    name: &'static str,
    warns: Option<Level>,
    judge: fn(&CheckInput<'_>) -> Option<Judged>,
) -> Check {
    Check { name, warns, judge }
}

/// All checks, worst kind first.
const TABLE: [Check; 33] = [
    check("one-core", Some(Level::Spoils), cores::one_core),
    check("cores-shared", Some(Level::Spoils), cores::shared),
    check("siblings-split", Some(Level::Spoils), cores::siblings),
    check("cpu-quota", Some(Level::Spoils), cores::quota),
    check("load-average", Some(Level::Spoils), speed::load),
    check("pressure", None, speed::pressure),
    check("neighbours", None, speed::neighbours),
    check("steal", Some(Level::Spoils), speed::steal),
    check("swap", Some(Level::Spoils), memory::swap),
    check("governor", Some(Level::Spoils), speed::governor),
    check("clocksource", Some(Level::Spoils), speed::clocksource),
    check("descriptors", Some(Level::Note), limits::descriptors),
    check("file-table", Some(Level::Spoils), limits::file_table),
    check("ports", Some(Level::Spoils), limits::ports),
    check("time-wait", Some(Level::Spoils), limits::time_wait),
    check("conntrack", Some(Level::Spoils), limits::conntrack),
    check("somaxconn", None, limits::somaxconn),
    check("syn-backlog", None, limits::syn_backlog),
    check("proc-hidden", Some(Level::Note), rights::proc_hidden),
    check("cpu-group", None, rights::cpu_group),
    check("links", None, rights::links),
    check("turbo", None, speed::turbo),
    check("hardware-threads", None, cores::hardware_threads),
    check("mitigations", None, speed::mitigations),
    check("numa-balancing", None, memory::numa),
    check("huge-pages", None, memory::huge_pages),
    check("irqbalance", None, speed::irqbalance),
    check("memory-pressure", None, memory::pressure),
    check("io-pressure", None, memory::io_pressure),
    check("programs", None, rights::programs),
    check("security-modules", None, security::modules),
    check("landlock", None, security::landlock),
    check("audit", None, security::audit),
];

/// Whether it is the label of a check of the machine.
pub fn is_check(label: &str) -> bool {
    TABLE.iter().any(|check| check.name == label)
}

/// The findings of all checks.
pub fn findings(seen: &MachineState, placement: &Placement, need: &Need) -> Vec<Finding> {
    judged(seen, placement, need).map(|(_, finding)| finding).collect()
}

/// The warnings of a run, as they are stored.
pub fn warnings(seen: &MachineState, placement: &Placement, need: &Need) -> Vec<Warning> {
    judged(seen, placement, need)
        .filter(|(check, finding)| {
            finding.level > Level::Ok && check.warns.is_some_and(|from| finding.level >= from)
        })
        .map(|(_, finding)| Warning { label: finding.name.to_owned(), sentence: finding.sentence() })
        .collect()
}

fn judged<'a>(
    seen: &'a MachineState,
    placement: &'a Placement,
    need: &'a Need,
) -> impl Iterator<Item = (&'static Check, Finding)> {
    let asked = CheckInput { seen, placement, need };
    TABLE.iter().filter_map(move |check| {
        let Judged { level, found, wanted, why, how } = (check.judge)(&asked)?;
        Some((check, Finding { name: check.name, level, found, wanted, why, how }))
    })
}

impl Finding {
    /// Observation, meaning and remedy in one text.
    pub fn sentence(&self) -> String {
        let mut letters = self.found.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        let found = format!("{first}{}", letters.as_str());
        match self.level {
            Level::Ok => format!("{found}."),
            _ => format!("{found}: {}. {}", self.why, self.how),
        }
    }
}

impl Judged {
    fn ok(found: impl Into<String>) -> Self {
        let nothing = String::new;
        Self { level: Level::Ok, found: found.into(), wanted: nothing(), why: nothing(), how: nothing() }
    }

    /// The same finding, but bad: the wanted value, the effect, the remedy.
    fn but(
        found: impl Into<String>,
        level: Level,
        wanted: impl Into<String>,
        why: impl Into<String>,
        how: impl Into<String>,
    ) -> Self {
        Self { level, found: found.into(), wanted: wanted.into(), why: why.into(), how: how.into() }
    }
}

/// `1 core`, `2 cores`.
fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
