//! Rate limit on logged refusals of strangers: otherwise anybody who reaches the port could fill the disk.
//!
//! Measured side, hot. Dropped ones are counted, and the next record has their number.

/// Limit a second.
const MOST_A_SECOND: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct Strangers {
    second: u64,
    written: u32,
    /// Number dropped since the last record.
    pub(super) unwritten: u64,
}

impl Strangers {
    /// Whether another may be written; if not, it is counted.
    pub(super) fn may_be_written(&mut self, now_unix_s: u64) -> bool {
        if self.second != now_unix_s {
            (self.second, self.written) = (now_unix_s, 0);
        }
        let may = self.written < MOST_A_SECOND;
        if may {
            self.written += 1;
        } else {
            self.unwritten += 1;
        }
        may
    }
}
