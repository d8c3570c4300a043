//! How much was written under transfers that limit it, over all sessions and starts of the server.
//!
//! Measured side, server process. Counting is hot where there is a limit, and takes one lock. The file is written by the thread that
//! looks after principals, once a second at most, and at the end: a server that is killed gives again what was written within the last second. A line a
//! transfer, as long as that lasts: its serial, the bytes, and when it ends in seconds since 1970.

use crate::refusal::Refusal;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::hex::from_hex;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_base::plain::{self, For, Place};
use bakeoff_layers_credentials::grant::Limit;
use bakeoff_layers_credentials::key::Serial;
use std::collections::HashMap;
use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// How often the file is written, where something changes.
const PACE: Duration = Duration::from_secs(1);
/// How long the end of the process waits for it.
const ENDING: Duration = Duration::from_secs(2);
/// Longest file.
const MOST_BYTES: u64 = 16 << 20;

/// All that is counted.
#[derive(Debug)]
pub(super) struct Written {
    counts: Mutex<Counts>,
    /// The file is as the counts are.
    saved: Condvar,
    file: Option<PathBuf>,
}

#[derive(Debug)]
struct Counts {
    each: HashMap<Serial, Count>,
    /// How often something was counted, and how often of that is in the file.
    changes: u64,
    saved: u64,
    /// When the file was last written, or could not be.
    at: Instant,
    ends: bool,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    bytes: u64,
    until_unix_s: u64,
}

impl Written {
    /// As the last server left it; where there is no file, all begins with nothing.
    pub(super) fn open(file: Option<PathBuf>) -> io::Result<Self> {
        let bytes = match file.as_ref().map(|file| plain::read(file, MOST_BYTES)) {
            Some(Err(error)) if error.kind() != ErrorKind::NotFound => return Err(error),
            Some(Ok(bytes)) => bytes,
            Some(Err(_)) | None => Vec::new(),
        };
        let text = str::from_utf8(&bytes).map_err(|_| ErrorKind::InvalidData)?;
        let each = text.lines().map(Count::of_line).collect::<Option<_>>().ok_or(ErrorKind::InvalidData)?;
        let counts = Counts { each, changes: 0, saved: 0, at: Instant::now(), ends: false };
        Ok(Self { counts: Mutex::new(counts), saved: Condvar::new(), file })
    }

    /// Counts bytes that are to be written under each of these transfers, unless one would be above its limit.
    pub(super) fn count(&self, limits: &[Limit], bytes: u64) -> Result<(), Refusal> {
        let mut counts = lock(&self.counts);
        let above = |limit: &Limit| {
            let before = counts.each.get(&limit.serial).map_or(0, |count| count.bytes);
            before.saturating_add(bytes) > limit.most_bytes
        };
        if limits.iter().any(above) {
            return Err(Refusal::OverLimit);
        }
        for (index, Limit { serial, until_unix_s, .. }) in limits.iter().enumerate() {
            // Of a file with several names a link is asked about each.
            if limits.iter().take(index).all(|before| before.serial != *serial) {
                let new = Count { bytes: 0, until_unix_s: *until_unix_s };
                counts.each.entry(*serial).or_insert(new).bytes += bytes;
            }
        }
        counts.changes += 1;
        Ok(())
    }

    /// Writes the file, where it is time; on the thread that is not held to the export.
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
        if Place::of(file).and_then(|place| place.replace(text.as_bytes(), For::Owner)).is_ok() {
            lock(&self.counts).saved = changes;
            self.saved.notify_all();
        }
    }

    /// The end of the process: waits until all is in the file, but not for ever.
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
        for (serial, Count { bytes, until_unix_s }) in &self.each {
            // A string takes all that is written to it.
            let _ = writeln!(text, "{serial} {bytes} {until_unix_s}");
        }
        text
    }
}

impl Count {
    fn of_line(line: &str) -> Option<(Serial, Self)> {
        let [serial, bytes, until] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let count = Self { bytes: bytes.parse().ok()?, until_unix_s: until.parse().ok()? };
        Some((Serial(from_hex(serial)?), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread;

    fn limit(number: u8, most_bytes: u64) -> Limit {
        Limit { serial: Serial([number; 16]), most_bytes, until_unix_s: now_unix_s() + 900 }
    }

    #[test]
    fn what_was_written_before_a_start_counts_until_the_transfer_ends() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("files.written");
        let open = || Written::open(Some(file.clone())).unwrap();
        let written = open();
        let over = Limit { until_unix_s: now_unix_s(), ..limit(3, 10) };
        written.count(&[limit(1, 10), limit(1, 20), over], 6).unwrap();
        assert_eq!(written.count(&[limit(2, 10), limit(1, 10)], 5), Err(Refusal::OverLimit));
        // At the end it is not waited for its time.
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
            assert_eq!(Written::open(Some(file.clone())).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }
}
