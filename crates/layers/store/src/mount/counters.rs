//! Counters of the daemon: requests of the kernel, blocks, bytes, refusals by name.
//!
//! Measured side, hot path of cold reads. Warm reads never come here, which the counters prove. They only rise, and
//! are no meters of a comparison.

use crate::refusal::ReadRefusal;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Index of a counter; the table below has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Names the kernel asked for.
    Lookups,
    /// Attributes it asked for.
    Attributes,
    /// Opens it asked for.
    Opens,
    /// Directory reads.
    Directories,
    /// Links it asked for.
    Links,
    /// Reads of files.
    Reads,
    /// Bytes given out by them.
    Bytes,
    /// Blocks opened for them.
    Blocks,
    /// Refused: [`ReadRefusal::BlockNotGenuine`].
    NotGenuine,
    /// Refused: [`ReadRefusal::Truncated`].
    Truncated,
    /// Refused: [`ReadRefusal::Disk`].
    Disk,
    /// Refused: [`ReadRefusal::Locked`].
    Locked,
}

/// Names in the status file, in the order of [`Count`].
const NAMES: [&str; 12] = [
    "lookups",
    "attributes",
    "opens",
    "directories",
    "links",
    "reads",
    "bytes",
    "blocks",
    "refused.block-not-genuine",
    "refused.truncated",
    "refused.disk",
    "refused.locked",
];

/// All counters of a mount.
#[derive(Debug, Default)]
pub struct Counters([AtomicU64; NAMES.len()]);

impl Counters {
    /// Adds to one.
    pub fn add(&self, count: Count, by: u64) {
        if let Some(counter) = self.0.get(count as usize) {
            counter.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// Counts a refusal under its name.
    pub fn refuse(&self, refusal: ReadRefusal) {
        let count = match refusal {
            ReadRefusal::BlockNotGenuine(_) => Count::NotGenuine,
            ReadRefusal::Truncated(_) => Count::Truncated,
            ReadRefusal::Disk(_) => Count::Disk,
            ReadRefusal::Locked => Count::Locked,
        };
        self.add(count, 1);
    }

    /// A line `name value` for each.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, counter) in NAMES.iter().zip(&self.0) {
            let _ = writeln!(text, "{name} {}", counter.load(Ordering::Relaxed));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_counted_under_its_label() {
        let counters = Counters::default();
        let refusals = [
            ReadRefusal::BlockNotGenuine(1),
            ReadRefusal::Truncated(1),
            ReadRefusal::Disk(1),
            ReadRefusal::Locked,
        ];
        for refusal in refusals {
            counters.refuse(refusal);
            assert!(counters.text().contains(&format!("refused.{} 1\n", refusal.label())), "{refusal:?}");
        }
        counters.add(Count::Bytes, 7);
        assert!(counters.text().contains("\nbytes 7\nblocks 0\n"));
    }
}
