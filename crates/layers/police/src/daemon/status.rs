//! Status file of the daemon: its own state and the programs' counters, as lines of a name and a value.
//!
//! Measured side, pure, except for the status of a daemon that did not begin.

use super::{DaemonError, DaemonSettings};
use crate::kernel::{KernelCounters, PoliceMode, Runs};
use crate::listeners::Deferrals;
use crate::reference::Reason;
use crate::reference::head::Unread;
use crate::rules::table::RuleTable;
use bakeoff_layers_base::daemon::degree::Degree;
use bakeoff_layers_base::daemon::status::{StatusFile, read_back};
use bakeoff_sys::process;
use bakeoff_units::Nanos;
use std::fmt::Write as _;

/// Gaps in enforcement, by name; each is a line `gap-NAME VALUE`.
#[derive(Clone, Default)]
pub(super) struct Gaps<'r> {
    /// Ports of classes without a listener of the server: connections go where they would without classes.
    pub(super) listeners: &'r [u16],
    /// Interfaces without our programs.
    pub(super) interfaces: Vec<&'r str>,
}

/// Content of the status.
pub(super) struct Report<'r> {
    pub(super) state: &'static str,
    pub(super) mode: PoliceMode,
    pub(super) table: &'r RuleTable,
    pub(super) server_pid: u32,
    pub(super) interfaces: Vec<&'r str>,
    pub(super) gaps: Gaps<'r>,
    pub(super) counters: &'r KernelCounters,
    /// Run counters, with the time of reading them by the monotonic clock: written again even if nothing ran.
    pub(super) runs: Option<(Runs, Nanos)>,
    /// A number for each class.
    pub(super) queues: &'r [u32],
    pub(super) bounds: &'r [u32],
    pub(super) restarts: u64,
    pub(super) reloads: u64,
    pub(super) reloads_refused: u64,
    /// Lines on sockets with our TCP_DEFER_ACCEPT.
    pub(super) deferrals: String,
}

impl Report<'_> {
    pub(super) fn degree(&self) -> Degree {
        match self.mode {
            PoliceMode::Off => return Degree::None("mode off looks at nothing".to_owned()),
            PoliceMode::Log => return Degree::None("mode log refuses nothing".to_owned()),
            PoliceMode::Enforce => {}
        }
        if !self.gaps.listeners.is_empty() {
            Degree::Partial("listeners".to_owned())
        } else if !self.gaps.interfaces.is_empty() {
            Degree::Partial("interfaces".to_owned())
        } else if self.is_unread() {
            Degree::Partial("unread".to_owned())
        } else if !self.table.classes.is_empty() && self.table.overload.is_none() {
            Degree::Partial("fair-share".to_owned())
        } else {
            Degree::Full
        }
    }

    /// Whether there are rules for requests, and connections that they did not reach.
    fn is_unread(&self) -> bool {
        self.table.has_requests() && self.counters.unread.iter().any(|count| *count > 0)
    }

    /// Text of the file.
    pub(super) fn text(&self) -> String {
        let pid = std::process::id();
        let began = process::stat(pid).map_or(0, |stat| stat.start_ticks);
        let mode = self.mode.name();
        let mut text = format!("state {}\ndegree {}\n", self.state, self.degree());
        self.gap_lines(&mut text);
        let (rules, count) = (&self.table.digest, self.table.rules.len());
        let _ = writeln!(text, "mode {mode}\nrules {rules}\nrules-count {count}\npid {pid}\nbegan {began}");
        let _ = writeln!(text, "server-pid {}", self.server_pid);
        let _ = writeln!(text, "interfaces {}", self.interfaces.join(" "));
        text.push_str(&self.deferrals);
        self.counter_lines(&mut text);
        text
    }

    fn gap_lines(&self, text: &mut String) {
        for port in self.gaps.listeners {
            let _ = writeln!(text, "gap-listeners {port}");
        }
        for name in &self.gaps.interfaces {
            let _ = writeln!(text, "gap-interfaces {name}");
        }
        let kinds = Unread::ALL.iter().zip(self.counters.unread).filter(|(_, count)| *count > 0);
        for (kind, count) in kinds.filter(|_| self.is_unread()) {
            let _ = writeln!(text, "gap-unread {} {count}", kind.name());
        }
    }

    fn counter_lines(&self, text: &mut String) {
        let KernelCounters {
            packets, heads, odd, bodies, would_refuse, urgent, unread, refused, rules, ..
        } = self.counters;
        let plain = [
            ("packets", packets),
            ("heads", heads),
            ("odd", odd),
            ("bodies", bodies),
            ("would-refuse", would_refuse),
            ("urgent", urgent),
            ("restarts", &self.restarts),
            ("reloads", &self.reloads),
            ("reloads-refused", &self.reloads_refused),
        ];
        for (name, value) in plain {
            let _ = writeln!(text, "{name} {value}");
        }
        for (kind, value) in Unread::ALL.iter().zip(unread) {
            let _ = writeln!(text, "unread.{} {value}", kind.name());
        }
        for (reason, value) in Reason::ALL.iter().zip(refused) {
            let _ = writeln!(text, "refused.{} {value}", reason.name());
        }
        for rule in rules {
            let (name, passed, refused) = (&rule.name, rule.passed, rule.refused);
            let _ = writeln!(text, "rule.{name}.passed {passed}\nrule.{name}.refused {refused}");
        }
        let classes = self.table.classes.iter();
        for ((class, queue), bound) in classes.zip(self.queues).zip(self.bounds) {
            let _ = writeln!(text, "queue-{name} {queue}\nbound-{name} {bound}", name = class.name);
        }
        if let Some((runs, at)) = self.runs {
            let _ = writeln!(text, "runs {}\nrun-ns {}\nruns-at {}", runs.runs, runs.run_ns, at.get());
        }
    }
}

/// A daemon that did not begin says why, where it can.
pub(super) fn failed(settings: &DaemonSettings, error: &DaemonError) {
    if matches!(error, DaemonError::Twice(_)) {
        return;
    }
    let why = error.to_string().replace('\n', " ");
    // Settings left by a killed daemon still have to be undone.
    let left =
        settings.status.as_deref().map(|path| Deferrals::lines_of(&read_back(path))).unwrap_or_default();
    let text = format!("state failed\ndegree none: {why}\nmode {}\n{left}", settings.mode.name());
    // Whoever started it is told the same on standard error.
    let _ = StatusFile::open(settings.status.as_deref()).and_then(|mut file| file.write(text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    const RULES: &str = "[server]\nlisten = 80\nclasses = { high = 8200, low = 8201 }\n\
        [[from]]\nsource = \"10.0.0.0/8\"\nclass = \"high\"\n[[request]]\npath = \"/x\"\nrate = \"1/s\"\n";

    fn report<'r>(table: &'r RuleTable, counters: &'r KernelCounters, gaps: &Gaps<'r>) -> Report<'r> {
        Report {
            state: "armed",
            mode: PoliceMode::Enforce,
            table,
            server_pid: 7,
            interfaces: vec!["eth0", "lo"],
            gaps: gaps.clone(),
            counters,
            runs: None,
            queues: &[3, 4],
            bounds: &[20, 10],
            restarts: 1,
            reloads: 2,
            reloads_refused: 3,
            deferrals: "deferral 4711 0\n".to_owned(),
        }
    }

    #[test]
    fn the_degree_is_the_worst_of_what_is_open() {
        let fair = Rules::of_text(RULES, "r").unwrap().table;
        let bounded = Rules::of_text(&format!("{RULES}[overload]\ntarget = \"20ms\"\n"), "r").unwrap().table;
        let (none, some) = (Gaps::default(), Gaps { listeners: &[8200], interfaces: vec!["tun0"] });
        let still = KernelCounters::default();
        let unread = KernelCounters { unread: [0, 0, 0, 1], ..KernelCounters::default() };
        let degree = |table, counters, gaps| report(table, counters, gaps).degree().to_string();
        assert_eq!(degree(&bounded, &still, &none), "full");
        assert_eq!(degree(&fair, &still, &none), "partial: fair-share");
        assert_eq!(degree(&bounded, &unread, &none), "partial: unread");
        assert_eq!(degree(&bounded, &unread, &some), "partial: listeners");
        for (mode, word) in [(PoliceMode::Log, "none: mode log"), (PoliceMode::Off, "none: mode off")] {
            let report = Report { mode, ..report(&bounded, &still, &none) };
            assert!(report.degree().to_string().starts_with(word));
        }
    }

    #[test]
    fn everything_is_a_line_with_a_name() {
        let table = Rules::of_text(RULES, "r").unwrap().table;
        let gaps = Gaps { listeners: &[8200], interfaces: vec!["tun0"] };
        let rules = table.rules.iter().map(|rule| crate::kernel::RuleCount {
            name: rule.name.clone(),
            passed: 5,
            refused: 3,
        });
        let counters =
            KernelCounters { unread: [9, 0, 0, 0], rules: rules.collect(), ..KernelCounters::default() };
        let runs = Some((Runs { runs: 11, run_ns: 1200 }, Nanos::new(77)));
        let text = Report { runs, ..report(&table, &counters, &gaps) }.text();
        for line in [
            "state armed",
            "degree partial: listeners",
            "gap-listeners 8200",
            "gap-interfaces tun0",
            "gap-unread tls 9",
            "mode enforce",
            "rules-count 2",
            "server-pid 7",
            "interfaces eth0 lo",
            "deferral 4711 0",
            "unread.tls 9",
            "restarts 1",
            "reloads 2",
            "reloads-refused 3",
            "refused.lost-race 0",
            "rule.from-10.0.0.0/8.passed 5",
            "rule.request-/x.refused 3",
            "queue-high 3",
            "bound-low 10",
            "runs 11",
            "run-ns 1200",
            "runs-at 77",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
        assert!(text.lines().all(|line| {
            line.split_once(' ').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
        }));
    }
}
