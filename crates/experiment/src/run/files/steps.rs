//! Steps of a first contact with a directory, as the layer's status file reports them.
//!
//! Measuring side, cold: read after an operation, outside its time. Nothing is concluded from the steps; they stand
//! beside the time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The status lines in use, in nanoseconds since the layer's process began.
const NAMES: [&str; 3] = ["connect-ns", "handshake-ns", "verify-ns"];
/// Time that a layer may take: it writes its counters a few times a second.
const PATIENCE: Duration = Duration::from_millis(500);
/// Interval between two looks.
const GLANCE: Duration = Duration::from_millis(10);

/// Nanoseconds by the name of the step.
pub(super) type Steps = BTreeMap<String, u64>;

/// Waits a little until the file reports a contact; empty if it does not.
pub(super) fn told(status: &Path) -> Steps {
    let began = Instant::now();
    loop {
        let steps = parse(&std::fs::read_to_string(status).unwrap_or_default());
        if steps.values().any(|ns| *ns > 0) {
            return steps;
        }
        if began.elapsed() >= PATIENCE {
            return Steps::new();
        }
        std::thread::sleep(GLANCE);
    }
}

fn parse(text: &str) -> Steps {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let steps = lines.filter(|(name, _)| NAMES.contains(name));
    steps
        .filter_map(|(name, ns)| Some((name.trim_end_matches("-ns").to_owned(), ns.trim().parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_are_read_and_only_numbers_count() {
        let text = "state mounted\nconnect-ns 51000\nhandshake-ns 520000\nverify-ns many\nlookups 7\n";
        let expected = [("connect", 51_000), ("handshake", 520_000)];
        assert_eq!(parse(text), expected.map(|(name, ns)| (name.to_owned(), ns)).into());
        assert!(parse("").is_empty());
    }

    #[test]
    fn a_file_that_tells_nothing_is_not_waited_for_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        assert!(told(&dir.path().join("status")).is_empty());
        std::fs::write(dir.path().join("status"), "connect-ns 5\n").unwrap();
        assert_eq!(told(&dir.path().join("status"))["connect"], 5);
    }
}
