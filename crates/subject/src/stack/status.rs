//! Status files of layers: counters in a file, a line `NAME NUMBER` each.

use super::Standing;
use bakeoff_sys::process;
use bakeoff_units::Nanos;
use std::fs;
use std::ops::Add;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

/// A layer writes its counters a few times a second, and only when they have changed: a file unchanged for this long is
/// current.
const STILL: Duration = Duration::from_millis(300);
/// A layer that also writes the time of its count (`runs-at`) writes unchanged counters, too. A fresh write is waited
/// for this long, which is enough on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval between two looks at the file.
const GLANCE: Duration = Duration::from_millis(20);

/// Runs and run time of a layer's programs in the kernel so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramTime {
    /// Number of runs.
    pub runs: u64,
    /// CPU of all of them.
    pub time: Nanos,
}

impl Add for ProgramTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { runs: self.runs + other.runs, time: self.time + other.time }
    }
}

/// Sum of the violations that the layers have noted; `None` when no layer counts them.
pub(crate) fn violations_noted(layers: &[Standing]) -> Option<u64> {
    layers.iter().filter_map(noted_by).reduce(|sum, noted| sum + noted)
}

/// 0 as long as the file is not there.
fn noted_by(layer: &Standing) -> Option<u64> {
    let (path, name) = (layer.spec.status.as_ref()?, layer.spec.violations.as_ref()?);
    let text = fs::read_to_string(layer.substitutions.word(path).ok()?).unwrap_or_default();
    Some(counter(&text, name).unwrap_or(0))
}

/// Runs and CPU of the layers' programs in the kernel so far, summed; `None` when no layer reports it. Waits until it
/// is written down: a third of a second at most for each layer that reports it, more for one that writes the time; an
/// older count from that one is left out.
pub(crate) fn program_time(layers: &[Standing]) -> Option<ProgramTime> {
    let path = |layer: &Standing| layer.substitutions.word(layer.spec.status.as_ref()?).ok();
    let told =
        layers.iter().filter_map(path).filter_map(|path| written_since(SystemTime::now(), Path::new(&path)));
    told.reduce(Add::add)
}

fn written_since(asked: SystemTime, path: &Path) -> Option<ProgramTime> {
    let is_new = || fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|written| written >= asked);
    let mut waited = Duration::ZERO;
    loop {
        let new = is_new();
        let text = fs::read_to_string(path).ok()?;
        // A layer without these counters is not waited for.
        let told = programs(&text)?;
        let says_when = counter(&text, "runs-at").is_some();
        if new || (waited >= STILL && !says_when) {
            return Some(told);
        }
        if waited >= PATIENCE {
            return None;
        }
        thread::sleep(GLANCE);
        waited += GLANCE;
    }
}

fn programs(text: &str) -> Option<ProgramTime> {
    Some(ProgramTime { runs: counter(text, "runs")?, time: Nanos::new(counter(text, "run-ns")?) })
}

/// The number behind a name; other lines of the file are for other readers.
fn counter(text: &str, name: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    lines
        .filter(|(of, _)| of.trim_end_matches(':') == name)
        .find_map(|(_, number)| number.trim().parse().ok())
}

/// The first layer whose daemon is gone.
pub(crate) fn fallen(layers: &[Standing]) -> Option<&Standing> {
    let is_gone = |layer: &&Standing| layer.daemon.is_some_and(|pid| process::stat(pid).is_err());
    layers.iter().find(is_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_number_are_counters_and_others_are_not() {
        let text = "violations 3\nmode deny\nopens: 17\ndegree partial: 2 files\nrate 0.5\n\n-x\n";
        let found = ["violations", "opens"].map(|name| counter(text, name));
        assert_eq!(found, [Some(3), Some(17)]);
        assert_eq!(["mode", "degree", "rate", "-x", ""].map(|name| counter(text, name)), [None; 5]);
    }

    #[test]
    fn programs_are_told_where_both_lines_are_there() {
        assert_eq!(programs("runs 12\nmode log\nrun-ns 660\n").unwrap(), told(12));
        for text in ["", "runs 12\n", "run-ns 660\n", "runs many\nrun-ns 660\n"] {
            assert_eq!(programs(text), None, "{text}");
        }
    }

    #[test]
    fn what_was_written_since_is_the_answer_and_what_stays_is_so_after_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status");
        let (long_ago, later) = (SystemTime::UNIX_EPOCH, SystemTime::now() + Duration::from_secs(3600));
        assert_eq!(written_since(later, &path), None, "there is no such file, and nobody waits for one");
        fs::write(&path, "mode log\n").unwrap();
        assert_eq!(written_since(later, &path), None);
        fs::write(&path, "runs 7\nrun-ns 385\n").unwrap();
        assert_eq!(written_since(long_ago, &path), Some(told(7)));
        let began = SystemTime::now();
        assert_eq!(written_since(later, &path), Some(told(7)));
        assert!(began.elapsed().unwrap() >= STILL);
        fs::write(&path, "runs 7\nrun-ns 385\nruns-at 99\n").unwrap();
        assert_eq!(written_since(long_ago, &path), Some(told(7)));
        assert_eq!(written_since(later, &path), None, "what is older than that is not what holds now");
    }

    fn told(runs: u64) -> ProgramTime {
        ProgramTime { runs, time: Nanos::new(55 * runs) }
    }
}
