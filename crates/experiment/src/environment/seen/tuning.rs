//! Observed kernel settings that can make equal work take unequal time.

use super::super::cores::{parse_core_list, siblings_of};
use super::super::host::{Found, Host};
use super::super::vulnerabilities::{Standing, vulnerabilities};
use bakeoff_units::Ratio;

/// Settings of the kernel; `None` for those it does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// Whether cores may run above their nominal frequency.
    pub turbo: Option<bool>,
    /// Most hardware threads that a physical core has in use.
    pub threads_per_core: Option<usize>,
    /// Vulnerabilities of the processor that the kernel works around.
    pub mitigated: usize,
    /// Vulnerabilities that it leaves open.
    pub vulnerable: usize,
    /// Memory nodes.
    pub numa_nodes: Option<usize>,
    /// Whether the kernel moves pages between them by itself.
    pub numa_balancing: Option<bool>,
    /// `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Whether a daemon moves interrupts between cores.
    pub irqbalance: bool,
    /// Share of the last 10 s in which some task waited for a core.
    pub cpu_pressure: Option<Ratio>,
    /// The same for storage.
    pub io_pressure: Option<Ratio>,
    /// The same for memory.
    pub memory_pressure: Option<Ratio>,
}

pub(super) fn read(host: &Host) -> Tuning {
    let vulnerabilities = vulnerabilities(host);
    let standing = |wanted| vulnerabilities.iter().filter(|(standing, _)| *standing == wanted).count();
    let nodes = host.text("/sys/devices/system/node/online").ok();
    let balancing = host.text("/proc/sys/kernel/numa_balancing").ok();
    let huge_pages = host.text("/sys/kernel/mm/transparent_hugepage/enabled").ok();
    Tuning {
        turbo: turbo(host).ok(),
        threads_per_core: siblings_of(host).iter().map(Vec::len).max(),
        mitigated: standing(Standing::Mitigated),
        vulnerable: standing(Standing::Vulnerable),
        numa_nodes: nodes.and_then(|text| parse_core_list(&text)).map(|nodes| nodes.len()),
        numa_balancing: balancing.map(|mode| mode != "0"),
        huge_pages: huge_pages.and_then(|text| chosen(&text)),
        irqbalance: runs(host, "irqbalance"),
        cpu_pressure: pressure(host, "cpu").ok(),
        io_pressure: pressure(host, "io").ok(),
        memory_pressure: pressure(host, "memory").ok(),
    }
}

/// Whether cores may run above their nominal frequency.
pub(in crate::environment) fn turbo(host: &Host) -> Found<bool> {
    let boost = host.line("/sys/devices/system/cpu/cpufreq/boost").map(|boost| boost == "1");
    // Intel's driver has the opposite flag.
    boost.or_else(|reason| {
        let off = host.line("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off != "1");
        off.map_err(|other| format!("{reason}; {other}"))
    })
}

/// Share of the last 10 s in which some task waited.
pub(in crate::environment) fn pressure(host: &Host, of: &str) -> Found<Ratio> {
    let path = format!("/proc/pressure/{of}");
    let text = host.text(&path)?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "));
    let mean = some.and_then(|line| line.split(' ').find_map(|word| word.strip_prefix("avg10=")));
    let percent: Option<f64> = mean.and_then(|mean| mean.parse().ok());
    percent.and_then(|percent| Ratio::new(percent / 100.0)).ok_or_else(|| format!("{path} has no mean"))
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// Whether a process of this name runs.
fn runs(host: &Host, name: &str) -> bool {
    let is_pid = |entry: &String| entry.bytes().all(|byte| byte.is_ascii_digit());
    let called = |pid: String| host.text(&format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == name);
    host.names("/proc").into_iter().filter(is_pid).any(called)
}

#[cfg(test)]
mod tests {
    use super::super::super::host::tests::machine;
    use super::*;

    #[test]
    fn settings_are_read_as_the_kernel_writes_them() {
        let list = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let bug = |name| format!("/sys/devices/system/cpu/vulnerabilities/{name}");
        let (first, second, mds, gds, l1tf) = (list(0), list(1), bug("mds"), bug("gds"), bug("l1tf"));
        let (_directory, host) = machine(&[
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            (first.as_str(), "0-1\n"),
            (second.as_str(), "0-1\n"),
            (mds.as_str(), "Mitigation: Clear CPU buffers\n"),
            (gds.as_str(), "Vulnerable: No microcode\n"),
            (l1tf.as_str(), "Not affected\n"),
            ("/sys/devices/system/node/online", "0-1\n"),
            ("/proc/sys/kernel/numa_balancing", "1\n"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("/proc/71/comm", "irqbalance\n"),
            ("/proc/pressure/cpu", "some avg10=12.50 avg60=1.00 avg300=0.00 total=9\n"),
        ]);
        let expected = Tuning {
            turbo: Some(true),
            threads_per_core: Some(2),
            mitigated: 1,
            vulnerable: 1,
            numa_nodes: Some(2),
            numa_balancing: Some(true),
            huge_pages: Some("madvise".to_owned()),
            irqbalance: true,
            cpu_pressure: Ratio::new(0.125),
            io_pressure: None,
            memory_pressure: None,
        };
        assert_eq!(read(&host), expected);
        assert_eq!(read(&machine(&[]).1), Tuning::default());
    }
}
