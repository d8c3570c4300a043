//! What layers tell of themselves: counters in a file, a line `NAME NUMBER` each.

use super::Standing;
use bakeoff_sys::process;
use std::collections::BTreeMap;
use std::fs;

/// The counters of an arm's layers at one moment, by `LAYER.NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerStatus {
    /// All counters that are whole numbers.
    pub counters: BTreeMap<String, u64>,
    /// The sum of those that count violations noticed; `None` when no layer has one.
    pub violations: Option<u64>,
}

pub(crate) fn read(layers: &[Standing]) -> LayerStatus {
    let mut status = LayerStatus::default();
    for layer in layers {
        let Some(path) = layer.spec.status.as_ref() else { continue };
        let Ok(path) = layer.substitutions.word(path) else { continue };
        let text = fs::read_to_string(path).unwrap_or_default();
        let own = counters(&text);
        if let Some(name) = &layer.spec.violations {
            let seen = own.get(name.as_str()).copied().unwrap_or(0);
            status.violations = Some(status.violations.unwrap_or(0) + seen);
        }
        let named = own.into_iter().map(|(name, count)| (format!("{}.{name}", layer.spec.name), count));
        status.counters.extend(named);
    }
    status
}

/// Lines of two words of which the second is a whole number; whatever else is in the file is for
/// other readers.
fn counters(text: &str) -> BTreeMap<&str, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, number) = line.split_once(char::is_whitespace)?;
            Some((name.trim_end_matches(':'), number.trim().parse().ok()?))
        })
        .collect()
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
        let found = counters("violations 3\nmode deny\nopens: 17\ndegree partial: 2 files\nrate 0.5\n\n-x\n");
        assert_eq!(found, BTreeMap::from([("opens", 17), ("violations", 3)]));
    }
}
