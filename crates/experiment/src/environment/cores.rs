//! Core lists as the kernel writes them, and the hardware threads of each physical core.

use super::host::Host;

/// Cores as `0-3,6`: how the kernel and our messages write them.
pub fn core_list(cores: &[usize]) -> String {
    let mut sorted = cores.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for core in sorted {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == core => *end = core,
            _ => runs.push((core, core)),
        }
    }
    let written =
        |&(from, to): &(usize, usize)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    runs.iter().map(written).collect::<Vec<_>>().join(",")
}

/// The hardware threads of each physical core; empty if the topology cannot be read.
pub fn siblings() -> Vec<Vec<usize>> {
    siblings_of(&Host::here())
}

pub(super) fn siblings_of(host: &Host) -> Vec<Vec<usize>> {
    let mut families: Vec<Vec<usize>> = Vec::new();
    for cpu in host.cpus() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let family = host.text(&path).ok().and_then(|text| parse_core_list(&text));
        if let Some(family) = family.filter(|family| !families.contains(family)) {
            families.push(family);
        }
    }
    families
}

/// No machine has more; a longer range is not a list of cores.
const MOST_CORES: usize = 65_536;

/// Parses the kernel's `0-3,6`; `None` if the text is not such a list.
pub(super) fn parse_core_list(text: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
        if to >= MOST_CORES {
            return None;
        }
        cores.extend(from..=to);
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::super::host::tests::machine;
    use super::*;

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        for text in ["0", "0-3", "0-1,4,6-7", ""] {
            assert_eq!(core_list(&parse_core_list(text).unwrap()), text);
        }
        assert_eq!(core_list(&[3, 1, 2, 2]), "1-3");
        for wrong in ["a", "1-", "0-99999999999", "0-99999999"] {
            assert_eq!(parse_core_list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn siblings_are_named_once() {
        let list = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let (a, b, c, d) = (list(0), list(1), list(2), list(3));
        let (_directory, host) = machine(&[
            (a.as_str(), "0,2\n"),
            (b.as_str(), "1,3\n"),
            (c.as_str(), "0,2\n"),
            (d.as_str(), "1,3\n"),
            ("/sys/devices/system/cpu/cpufreq/boost", "1"),
        ]);
        assert_eq!(siblings_of(&host), [[0, 2], [1, 3]]);
        assert_eq!(siblings_of(&machine(&[]).1), Vec::<Vec<usize>>::new());
    }
}
