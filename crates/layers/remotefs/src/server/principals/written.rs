//! Bytes written under transfers with a limit, over all sessions and starts of the server.
//!
//! Measured side, server process. Counting is hot where there is a limit, and takes one lock. The thread that
//! maintains principals writes the file, at most once a second, and at the end: a killed server loses the count of
//! its last second. A line for each transfer, as long as that lasts: its SHA-256, the bytes, and its end in seconds
//! since 1970.

use crate::refusal::Refusal;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::hex::{from_hex, to_hex};
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_base::plain::{self, FileAudience, FileLocation, FileOwner};
use bakeoff_layers_credentials::grant::ByteLimit;
use bakeoff_layers_credentials::key::Hash;
use std::collections::HashMap;
use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Interval of writing the file, after changes.
const PACE: Duration = Duration::from_secs(1);
/// Longest wait for it at the end of the process.
const ENDING: Duration = Duration::from_secs(2);
/// Longest file.
const MOST_BYTES: u64 = 16 << 20;

/// All counts.
#[derive(Debug)]
pub(super) struct Written {
    counts: Mutex<Counts>,
    /// Signals that the file has all counts.
    saved: Condvar,
    file: Option<FileLocation>,
}

#[derive(Debug)]
struct Counts {
    each: HashMap<Hash, Count>,
    /// Number of changes, and how many of them are in the file.
    changes: u64,
    saved: u64,
    /// Time of the last attempt to write the file.
    at: Instant,
    ends: bool,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    bytes: u64,
    until_unix_s: u64,
}

impl Written {
    /// Reads the file of the last server; without one all counts begin at zero.
    pub(super) fn open(file: Option<&Path>) -> io::Result<Self> {
        let text = match file.map(|file| plain::read_text(file, FileOwner::Trusted, MOST_BYTES)) {
            Some(Err(error)) if error.kind() != ErrorKind::NotFound => return Err(error),
            text => text.and_then(Result::ok).unwrap_or_default(),
        };
        let file = file.map(FileLocation::guarded).transpose()?;
        let each = text.lines().map(Count::of_line).collect::<Option<_>>().ok_or(ErrorKind::InvalidData)?;
        let counts = Counts { each, changes: 0, saved: 0, at: Instant::now(), ends: false };
        Ok(Self { counts: Mutex::new(counts), saved: Condvar::new(), file })
    }

    /// Counts bytes to be written under each of these transfers, unless that exceeds a limit.
    pub(super) fn count(&self, limits: &[ByteLimit], bytes: u64) -> Result<(), Refusal> {
        let mut counts = lock(&self.counts);
        let above = |limit: &ByteLimit| {
            let before = counts.each.get(&limit.transfer).map_or(0, |count| count.bytes);
            before.saturating_add(bytes) > limit.most_bytes
        };
        if limits.iter().any(above) {
            return Err(Refusal::OverLimit);
        }
        for (index, ByteLimit { transfer, until_unix_s, .. }) in limits.iter().enumerate() {
            // A file with several names lists a link's limit once a name; it counts once.
            if limits.iter().take(index).all(|before| before.transfer != *transfer) {
                let new = Count { bytes: 0, until_unix_s: *until_unix_s };
                counts.each.entry(*transfer).or_insert(new).bytes += bytes;
            }
        }
        counts.changes += 1;
        Ok(())
    }

    /// Writes the file, if it is time; on the thread that is not confined to the export.
    pub(super) fn save(&self) {
        let Some(file) = &self.file else { return };
        let (text, changes) = {
            let mut counts = lock(&self.counts);
            let is_time = counts.ends || counts.at.elapsed() >= PACE;
            if counts.saved == counts.changes || !is_time {
                return;
            }
            counts.at = Instant::now();
            let now_unix_s = now_unix_s();
            counts.each.retain(|_, count| count.until_unix_s > now_unix_s);
            (counts.text(), counts.changes)
        };
        // With a full disk the old one stays, and the next turn tries again.
        if file.replace(text.as_bytes(), FileAudience::Owner).is_ok() {
            lock(&self.counts).saved = changes;
            self.saved.notify_all();
        }
    }

    /// Waits at the end of the process until all is in the file, for a limited time.
    pub(super) fn close(&self) {
        if self.file.is_none() {
            return;
        }
        let mut counts = lock(&self.counts);
        counts.ends = true;
        let unsaved = |counts: &mut Counts| counts.saved < counts.changes;
        drop(self.saved.wait_timeout_while(counts, ENDING, unsaved));
    }
}

impl Counts {
    fn text(&self) -> String {
        let mut text = String::new();
        for (transfer, Count { bytes, until_unix_s }) in &self.each {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} {bytes} {until_unix_s}", to_hex(transfer));
        }
        text
    }
}

impl Count {
    fn of_line(line: &str) -> Option<(Hash, Self)> {
        let [transfer, bytes, until] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let count = Self { bytes: bytes.parse().ok()?, until_unix_s: until.parse().ok()? };
        Some((from_hex(transfer)?, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread;

    fn limit(number: u8, most_bytes: u64) -> ByteLimit {
        ByteLimit { transfer: [number; 32], most_bytes, until_unix_s: now_unix_s() + 900 }
    }

    #[test]
    fn what_was_written_before_a_start_counts_until_the_transfer_ends() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("files.written");
        let open = || Written::open(Some(&file)).unwrap();
        let written = open();
        let over = ByteLimit { until_unix_s: now_unix_s(), ..limit(3, 10) };
        written.count(&[limit(1, 10), limit(1, 20), over], 6).unwrap();
        assert_eq!(written.count(&[limit(2, 10), limit(1, 10)], 5), Err(Refusal::OverLimit));
        // The end does not wait for the interval.
        thread::scope(|scope| {
            scope.spawn(|| written.close());
            while !lock(&written.counts).ends {
                thread::yield_now();
            }
            written.save();
        });
        let left = fs::read_to_string(&file).unwrap();
        assert_eq!(left.lines().count(), 1, "what has ended is forgotten: {left}");
        let again = open();
        assert_eq!(again.count(&[limit(1, 10)], 5), Err(Refusal::OverLimit));
        again.count(&[limit(1, 10), limit(2, 10), over], 4).unwrap();
        for strange in ["x", "01 2 3", &left.replace(' ', "  "), &left.replace('6', "-6")] {
            fs::write(&file, strange).unwrap();
            assert_eq!(Written::open(Some(&file)).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }
}
