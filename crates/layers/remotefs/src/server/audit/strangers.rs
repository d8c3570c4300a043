//! How many refusals of strangers are written: without a bound whoever reaches the port could fill the disk.
//!
//! Measured side, hot. What is not written is counted, and the next record says how many.

/// So many a second.
const MOST_A_SECOND: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct Strangers {
    second: u64,
    written: u32,
    /// How many were not, since the last record.
    pub(super) unwritten: u64,
}

impl Strangers {
    /// Whether one more may be written; if not, it is counted.
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
