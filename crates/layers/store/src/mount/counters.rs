//! Counters of the daemon: requests of the kernel, blocks, bytes, refusals by name.
//!
//! Measured side, hot path of cold reads. Warm reads never come here, which the counters prove. They only rise, and
//! are no meters of a comparison.

use crate::refusal::ReadRefusal;
use bakeoff_layers_base::{counters as base, named};

named! {
    /// What is counted.
    pub enum Count {
        /// Names the kernel asked for.
        Lookups "lookups",
        /// Attributes it asked for.
        Attributes "attributes",
        /// Opens it asked for.
        Opens "opens",
        /// Directory reads.
        Directories "directories",
        /// Links it asked for.
        Links "links",
        /// Reads of files.
        Reads "reads",
        /// Bytes given out by them.
        Bytes "bytes",
        /// Blocks opened for them.
        Blocks "blocks",
        /// Refused: [`ReadRefusal::BlockNotGenuine`].
        NotGenuine "refused.block-not-genuine",
        /// Refused: [`ReadRefusal::Truncated`].
        Truncated "refused.truncated",
        /// Refused: [`ReadRefusal::Disk`].
        Disk "refused.disk",
        /// Refused: [`ReadRefusal::Locked`].
        Locked "refused.locked",
    }
}

/// All counters of a mount.
#[derive(Debug, Default)]
pub struct MountCounters(base::Counters<Count>);

impl MountCounters {
    /// Adds to one.
    pub fn add(&self, count: Count, by: u64) {
        self.0.add(count, by);
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
        self.0.text("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_counted_under_its_label() {
        let counters = MountCounters::default();
        let refusals = [
            ReadRefusal::BlockNotGenuine(1),
            ReadRefusal::Truncated(1),
            ReadRefusal::Disk(1),
            ReadRefusal::Locked,
        ];
        for refusal in refusals {
            counters.refuse(refusal);
            assert!(counters.text().contains(&format!("refused.{} 1\n", refusal.name())), "{refusal:?}");
        }
        counters.add(Count::Bytes, 7);
        assert!(counters.text().contains("\nbytes 7\nblocks 0\n"));
    }
}
