//! Text of the status file: the launcher's lines, gaps, and counters that only rise.
//!
//! Measured side, pure. Lines of a name and a value; the caller writes them.

use crate::access::Access;
use bakeoff_layers_base::named;
use std::collections::BTreeMap;
use std::fmt::Write;

named! {
    /// Where the domain is in its life.
    pub enum DomainState {
        /// The launcher has not confined itself yet.
        Starting "starting",
        /// The domain is in force, or its log is read.
        Armed "armed",
        /// The launcher gave up: nothing was run.
        Failed "failed",
        /// No process of the domain is left, or the reader was asked to end.
        Ended "ended",
    }
}

/// Content of the file.
#[derive(Clone, Debug)]
pub struct DomainStatus {
    /// State of the domain.
    pub state: DomainState,
    /// Lines of the launcher, unchanged.
    pub fixed: Vec<String>,
    /// Reason why refusals are not logged, or were not for a time.
    pub no_log: Option<String>,
    counters: BTreeMap<String, u64>,
}

impl Default for DomainStatus {
    fn default() -> Self {
        let files = Access::ALL.into_iter().map(|access| format!("denied.fs.{}", access.name()));
        let others =
            ["denied", "denied.call", "unclaimed", "lost", "would-deny", "unseen", "restarts", "unwritten"]
                .map(str::to_owned);
        let beyond = ["net.bind", "net.connect", "scope.signal", "scope.abstract_unix_socket"];
        let beyond = beyond.map(|what| format!("denied.{what}"));
        let counters = files.chain(others).chain(beyond).map(|name| (name, 0)).collect();
        Self { state: DomainState::Starting, fixed: Vec::new(), no_log: None, counters }
    }
}

impl DomainStatus {
    /// Raises a counter.
    pub fn add(&mut self, counter: &str, more: u64) {
        *self.counters.entry(counter.to_owned()).or_default() += more;
    }

    /// Sets a counter that is kept elsewhere.
    pub fn set(&mut self, counter: &str, value: u64) {
        self.counters.insert(counter.to_owned(), value);
    }

    /// Continues from the counters that an earlier process wrote.
    pub fn resume(&mut self, text: &str) {
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            if let (Some(counter), Ok(value)) = (self.counters.get_mut(name), value.parse()) {
                *counter = value;
            }
        }
    }

    /// The whole file.
    pub fn text(&self) -> String {
        let mut text = format!("state {}\n", self.state.name());
        for line in &self.fixed {
            let _ = writeln!(text, "{line}");
        }
        if let Some(why) = &self.no_log {
            let _ = writeln!(text, "gap-no-log 1\nno-log {}", why.replace('\n', " "));
        }
        for (name, value) in &self.counters {
            let _ = writeln!(text, "{name} {value}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_there_from_the_start() {
        let mut status = DomainStatus::default();
        status.resume("state armed\nlost 7\nunknown 9\nrules 3\nlost\n");
        assert!(status.text().contains("\nlost 7\n") && !status.text().contains("unknown"));
        assert!(status.text().contains("\ndenied 0\n") && status.text().contains("\ndenied.fs.read 0\n"));
        status.add("denied", 2);
        status.add("denied", 1);
        status.add("denied.scope.of-a-later-kernel", 1);
        status.state = DomainState::Armed;
        status.fixed = vec!["domain web".to_owned()];
        status.no_log = Some("two\nlines".to_owned());
        let text = status.text();
        for line in [
            "state armed",
            "domain web",
            "gap-no-log 1",
            "no-log two lines",
            "denied 3",
            "denied.scope.of-a-later-kernel 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
    }
}
