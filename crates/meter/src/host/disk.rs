//! Busy time of block devices, from `/proc/diskstats`.

use bakeoff_units::Nanos;
use std::fs;

/// Whole block devices, without their partitions, which would count the same work again.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    names: Vec<String>,
}

/// The device that was busiest over a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusiestDisk {
    /// As in `/proc/diskstats`.
    pub name: String,
    /// Time in which it had at least one request to serve. The kernel counts in clock ticks.
    pub busy: Nanos,
}

impl Disks {
    /// Those the machine has now, by the entries of `/sys/block`.
    pub fn find() -> Self {
        let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
        // A slash in a device's name is an exclamation mark there.
        Self { names: entries.map(|entry| entry.file_name().to_string_lossy().replace('!', "/")).collect() }
    }

    /// The busy time of each since boot.
    pub fn read(&self) -> Vec<(String, Nanos)> {
        let stats = fs::read_to_string("/proc/diskstats").unwrap_or_default();
        let whole = |(name, _): &(&str, Nanos)| self.names.iter().any(|known| known == name);
        let found = stats.lines().filter_map(busy).filter(whole);
        found.map(|(name, busy)| (name.to_owned(), busy)).collect()
    }
}

/// Of a line: the name, and the 13th word, milliseconds spent doing I/O (`io_ticks`; the kernel's
/// Documentation/admin-guide/iostats.rst, field 10 after the name).
fn busy(line: &str) -> Option<(&str, Nanos)> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?;
    Some((name, Nanos::from_millis(words.nth(9)?.parse().ok()?)))
}

/// The busiest between two readings; none where there is no device.
pub(super) fn busiest(now: &[(String, Nanos)], then: &[(String, Nanos)]) -> Option<BusiestDisk> {
    let changes = now.iter().filter_map(|(name, now)| {
        let (_, then) = then.iter().find(|(other, _)| other == name)?;
        Some(BusiestDisk { name: name.clone(), busy: now.since(*then) })
    });
    changes.max_by_key(|disk| disk.busy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_figure_counts() {
        let line = " 254       0 vda 84010 18019 6675594 30960 257388 1107560 116783168 995384 0 132852 1124485 940221 87 103739672 87320 39768 10820";
        assert_eq!(busy(line), Some(("vda", Nanos::from_millis(132_852))));
        assert_eq!(busy("8 0 sda 1 2 3"), None);
    }

    #[test]
    fn the_busiest_of_those_that_were_there_before_is_named() {
        let at = |each: &[(&str, u64)]| -> Vec<(String, Nanos)> {
            each.iter().map(|(name, ms)| ((*name).to_owned(), Nanos::from_millis(*ms))).collect()
        };
        let then = at(&[("sda", 100), ("sdb", 500)]);
        let now = at(&[("sda", 130), ("sdb", 510), ("sdc", 900)]);
        let expected = BusiestDisk { name: "sda".into(), busy: Nanos::from_millis(30) };
        assert_eq!(busiest(&now, &then), Some(expected));
        assert_eq!(busiest(&[], &then), None);
    }

    #[test]
    fn all_disks_of_this_machine_are_whole() {
        let stats = fs::read_to_string("/proc/diskstats").unwrap_or_default();
        let found = Disks::find().read();
        for (name, _) in stats.lines().filter_map(busy) {
            let is_part =
                fs::exists(format!("/sys/class/block/{}/partition", name.replace('/', "!"))).unwrap();
            assert_eq!(found.iter().any(|(whole, _)| whole == name), !is_part, "{name}");
        }
    }
}
