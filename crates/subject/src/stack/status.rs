//! What layers tell of themselves: counters in a file, a line `NAME NUMBER` each.

use super::Standing;
use bakeoff_sys::process;
use std::fs;

/// Violations that the layers have noted, all together; `None` when no layer counts them.
pub(crate) fn violations_noted(layers: &[Standing]) -> Option<u64> {
    layers.iter().filter_map(noted_by).reduce(|sum, noted| sum + noted)
}

/// None yet, as long as the file is not there.
fn noted_by(layer: &Standing) -> Option<u64> {
    let (path, name) = (layer.spec.status.as_ref()?, layer.spec.violations.as_ref()?);
    let text = fs::read_to_string(layer.substitutions.word(path).ok()?).unwrap_or_default();
    Some(counter(&text, name).unwrap_or(0))
}

/// The number behind a name; whatever else is in the file is for other readers.
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
}
