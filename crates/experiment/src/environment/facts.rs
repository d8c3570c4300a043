//! Machine facts that figures depend on, in words, under stable keys.
//!
//! Thin: reads, condenses, judges nothing. A fact that cannot be read is `unknown` with the reason, so that it is seen
//! to be missing.

use super::cgroup;
use super::cores::{core_list, siblings_of};
use super::host::{Found, Host, KernelConfiguration, one_line};
use super::neighbours::Neighbours;
use super::seen::{
    CLOCKSOURCE, MachineState, Memory, apparmor, cores_online, governors, modules, pressure, selinux, turbo,
};
use super::vulnerabilities::{DIRECTORY, Standing, vulnerabilities};
use bakeoff_results::Fact;
use bakeoff_units::Bytes;
use std::collections::BTreeMap;

/// All facts, in the order in which people read them.
pub(super) fn facts(host: &Host, seen: &MachineState) -> Vec<Fact> {
    let configuration = host.kernel_configuration();
    let configuration = configuration.as_ref();
    let found = [
        ("kernel", host.line("/proc/sys/kernel/osrelease")),
        ("kernel_version", host.line("/proc/sys/kernel/version")),
        ("distribution", distribution(host)),
        ("architecture", Ok(architecture(host))),
        ("cpu_model", cpu_model(host)),
        ("microcode", cpuinfo(host, "microcode")),
        ("cores_online", cores_online(host).map(|cores| counted_cores(&cores))),
        ("cores_allowed", Ok(counted_cores(&seen.cores_allowed))),
        ("smt", smt(host)),
        ("caches", caches(host)),
        ("numa_nodes", host.line("/sys/devices/system/node/online")),
        (
            "memory",
            Memory::read(host).map(|memory| format!("{}, {} available", memory.total, memory.available)),
        ),
        ("swap", Memory::read(host).map(swap)),
        ("hypervisor", hypervisor(host)),
        ("clocksource", host.line(CLOCKSOURCE)),
        ("irq_time_accounting", option(configuration, "CONFIG_IRQ_TIME_ACCOUNTING")),
        ("steal_time_accounting", option(configuration, "CONFIG_PARAVIRT_TIME_ACCOUNTING")),
        ("virt_cpu_accounting_gen", option(configuration, "CONFIG_VIRT_CPU_ACCOUNTING_GEN")),
        ("tick", tick(configuration)),
        ("preemption", preemption(host, configuration)),
        ("mitigations", mitigations(host)),
        ("security_modules", modules(host)),
        ("selinux", Ok(selinux(host))),
        ("apparmor", Ok(apparmor(host))),
        ("governor", governor(host)),
        ("turbo", turbo(host).map(|on| if on { "on".to_owned() } else { "off".to_owned() })),
        ("limit_open_files", limit(host, "Max open files")),
        ("limit_processes", limit(host, "Max processes")),
        ("ip_local_port_range", host.line("/proc/sys/net/ipv4/ip_local_port_range")),
        ("somaxconn", host.line("/proc/sys/net/core/somaxconn")),
        ("tcp_congestion_control", host.line("/proc/sys/net/ipv4/tcp_congestion_control")),
        ("tcp_tw_reuse", host.line("/proc/sys/net/ipv4/tcp_tw_reuse")),
        ("load_average", load_average(host)),
        ("cpu_pressure", pressure(host, "cpu").map(|share| format!("some {share} of the last 10 s"))),
        ("cpu_used", cpu_used(seen)),
        ("steal", steal(seen)),
        ("other_processes", Ok(other_processes(seen.neighbours))),
        ("cgroup_cpu_quota", cgroup::cpu_quota(host).map(quota)),
        ("cgroup_memory_limit", cgroup::memory_limit(host).map(memory_limit)),
    ];
    found.into_iter().map(|(name, value)| fact(name, value)).collect()
}

fn fact(name: &str, value: Found<String>) -> Fact {
    let value = value.unwrap_or_else(|reason| format!("unknown ({})", one_line(&reason)));
    Fact { name: name.to_owned(), value }
}

fn distribution(host: &Host) -> Found<String> {
    let text = host.text("/etc/os-release").or_else(|_| host.text("/usr/lib/os-release"))?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let name = value("PRETTY_NAME").or_else(|| value("NAME")).ok_or("os-release has no name")?;
    Ok(one_line(name.trim_matches(['"', '\''])))
}

fn architecture(host: &Host) -> String {
    host.line("/proc/sys/kernel/arch").unwrap_or_else(|_| std::env::consts::ARCH.to_owned())
}

/// First value of a key of `/proc/cpuinfo`.
fn cpuinfo(host: &Host, key: &str) -> Found<String> {
    let text = host.text("/proc/cpuinfo")?;
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| one_line(value))
    };
    text.lines().find_map(value).ok_or_else(|| format!("/proc/cpuinfo has no `{key}`"))
}

fn cpu_model(host: &Host) -> Found<String> {
    let arm = || {
        let part = |key| cpuinfo(host, key);
        Ok(format!("implementer {}, part {}", part("CPU implementer")?, part("CPU part")?))
    };
    // x86; POWER; RISC-V; Arm, which has numbers only.
    let named = ["model name", "cpu", "uarch"].iter().find_map(|key| cpuinfo(host, key).ok());
    named.map_or_else(|| arm().map_err(|_: String| "/proc/cpuinfo names no model".to_owned()), Ok)
}

fn counted_cores(cores: &[usize]) -> String {
    match cores {
        [] => "unknown (the system does not say)".to_owned(),
        cores => format!("{} ({})", cores.len(), core_list(cores)),
    }
}

fn smt(host: &Host) -> Found<String> {
    let widest = siblings_of(host).iter().map(Vec::len).max();
    let threads = widest.map_or(String::new(), |n| format!(", {n} a core in use"));
    Ok(format!("{}{threads}", host.line("/sys/devices/system/cpu/smt/control")?))
}

/// Caches of the first core: `L1d 48K, L1i 32K, L2 2048K, L3 107520K shared by 0-1`.
fn caches(host: &Host) -> Found<String> {
    let directory = "/sys/devices/system/cpu/cpu0/cache";
    let cache = |name: String| {
        let value = |file: &str| host.line(&format!("{directory}/{name}/{file}")).ok();
        let kind = match value("type")?.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let shared = value("shared_cpu_list").filter(|cores| cores.contains(['-', ',']));
        let shared = shared.map_or(String::new(), |cores| format!(" shared by {cores}"));
        Some(format!("L{}{kind} {}{shared}", value("level")?, value("size")?))
    };
    let names = host.names(directory).into_iter().filter(|name| name.starts_with("index"));
    listed(names.filter_map(cache)).ok_or_else(|| format!("nothing in {directory}"))
}

fn swap(memory: Memory) -> String {
    match memory.swap_total.get() {
        0 => "none".to_owned(),
        _ => format!("{}, {} used", memory.swap_total, memory.swap_used()),
    }
}

/// The CPU's hypervisor flag, and the name that the firmware or Xen gives.
fn hypervisor(host: &Host) -> Found<String> {
    let flag = cpuinfo(host, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let dmi = ["sys_vendor", "product_name"].map(|name| host.line(&format!("/sys/class/dmi/id/{name}")));
    let names = listed(host.line("/sys/hypervisor/type").into_iter().chain(dmi.into_iter().flatten()));
    match (flag, names) {
        (Ok(true), Some(names)) => Ok(format!("yes, {names}")),
        (Ok(true), None) => Ok("yes, not named".to_owned()),
        (Ok(false), Some(names)) => Ok(format!("none seen, {names}")),
        (Ok(false), None) => Ok("none seen".to_owned()),
        (Err(_), Some(names)) => Ok(format!("not told by the CPU, {names}")),
        (Err(reason), None) => Err(reason),
    }
}

type Configuration<'a> = Result<&'a KernelConfiguration, &'a String>;

fn option(configuration: Configuration<'_>, name: &str) -> Found<String> {
    let configuration = configuration.map_err(String::clone)?;
    Ok(format!("{} ({name})", if configuration.is_on(name) { "built in" } else { "not built in" }))
}

fn tick(configuration: Configuration<'_>) -> Found<String> {
    let configuration = configuration.map_err(String::clone)?;
    let hz = configuration.value("CONFIG_HZ").ok_or("the kernel's configuration has no CONFIG_HZ")?;
    let idle =
        [("CONFIG_NO_HZ_FULL", "full"), ("CONFIG_NO_HZ_IDLE", "idle"), ("CONFIG_HZ_PERIODIC", "periodic")];
    let idle = idle.iter().find(|(name, _)| configuration.is_on(name)).map_or("unknown", |(_, word)| word);
    Ok(format!("{hz} Hz, {idle}"))
}

/// The preemption model in force if debugfs tells it; else what the kernel was built and booted with.
fn preemption(host: &Host, configuration: Configuration<'_>) -> Found<String> {
    if let Some(model) = host.line("/sys/kernel/debug/sched/preempt").ok().and_then(|line| bracketed(&line)) {
        return Ok(model);
    }
    let version = host.line("/proc/sys/kernel/version")?;
    let built = version.split(' ').find(|word| word.starts_with("PREEMPT")).unwrap_or("none in the version");
    let models = [
        ("CONFIG_PREEMPT_RT", "rt"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT", "full"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_NONE", "none"),
    ];
    let on = |configuration: &KernelConfiguration| {
        models.iter().find(|(name, _)| configuration.is_on(name)).map(|(_, word)| *word)
    };
    let default =
        configuration.ok().and_then(on).map_or(String::new(), |word| format!(", {word} by default"));
    let booted = host.line("/proc/cmdline").ok().and_then(|line| {
        line.split(' ')
            .rev()
            .find_map(|word| word.strip_prefix("preempt="))
            .map(|word| format!(", booted with {word}"))
    });
    Ok(format!("{built}{default}{}", booted.unwrap_or_default()))
}

/// The word in brackets of `none voluntary (full) lazy`.
fn bracketed(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('(')?;
    Some(rest.split_once(')')?.0.to_owned())
}

/// `vulnerable: a; mitigated: b (how), c (how); not affected: 14`.
fn mitigations(host: &Host) -> Found<String> {
    let mut groups: BTreeMap<Standing, Vec<String>> = BTreeMap::new();
    for (standing, words) in vulnerabilities(host) {
        groups.entry(standing).or_default().push(words);
    }
    let group = |(standing, words): (&Standing, &Vec<String>)| match standing {
        Standing::Vulnerable => format!("vulnerable: {}", words.join(", ")),
        Standing::Other => format!("other: {}", words.join(", ")),
        Standing::Mitigated => format!("mitigated: {}", words.join(", ")),
        Standing::NotAffected => format!("not affected: {}", words.len()),
    };
    let groups: Vec<String> = groups.iter().map(group).collect();
    if groups.is_empty() { Err(format!("nothing in {DIRECTORY}")) } else { Ok(groups.join("; ")) }
}

fn governor(host: &Host) -> Found<String> {
    let governors = governors(host);
    let driver = host.line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver");
    let driver = driver.map_or(String::new(), |driver| format!(" ({driver})"));
    if governors.is_empty() {
        Err("the kernel does not set the frequency here, as in most virtual machines".to_owned())
    } else {
        Ok(format!("{}{driver}", governors.join(", ")))
    }
}

/// A line of `/proc/self/limits`, whose columns are aligned, not separated: `Max open files  1024  4096  files`.
fn limit(host: &Host, name: &str) -> Found<String> {
    let text = host.text("/proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let mut values = line.unwrap_or_default().split_whitespace();
    match (values.next(), values.next()) {
        (Some(soft), Some(hard)) => Ok(format!("{soft} soft, {hard} hard")),
        _ => Err(format!("/proc/self/limits has no `{name}`")),
    }
}

/// The three means, without the last process number behind them.
fn load_average(host: &Host) -> Found<String> {
    let line = host.line("/proc/loadavg")?;
    Ok(line.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

fn cpu_used(seen: &MachineState) -> Found<String> {
    let used = seen.used_now.ok_or("/proc/stat does not say")?;
    Ok(format!("{used} of CPU time by others in the moment before the start"))
}

fn steal(seen: &MachineState) -> Found<String> {
    let since_boot = seen.steal_since_boot.ok_or("/proc/stat does not say")?;
    let now = seen.steal_now.map_or(String::new(), |now| format!(", {now} in the moment before the start"));
    Ok(format!("{since_boot} of CPU time since boot{now}"))
}

fn other_processes(neighbours: Neighbours) -> String {
    let counted = |running, busy| format!("{running}, {busy} of them used more than a tenth of a core");
    match neighbours {
        Neighbours::Seen { running, busy } => counted(running, busy),
        Neighbours::Contained { running, busy } => {
            format!("{} (of this container; the machine's are out of sight)", counted(running, busy))
        }
        Neighbours::Hidden => "hidden".to_owned(),
    }
}

fn quota(cores: Option<f64>) -> String {
    cores.map_or("none".to_owned(), |cores| format!("{cores:.2} cores"))
}

fn memory_limit(bytes: Option<u64>) -> String {
    bytes.map_or("none".to_owned(), |bytes| Bytes::new(bytes).to_string())
}

fn listed(parts: impl Iterator<Item = String>) -> Option<String> {
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::examine_host;
    use super::super::host::tests::machine;
    use super::*;

    fn found(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        let (_directory, host) = machine(files);
        let (facts, _) = examine_host(&host);
        facts.into_iter().map(|fact| (fact.name, fact.value)).collect()
    }

    const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

    #[test]
    fn a_machine_is_told_in_words() {
        let it = found(&[
            ("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
            ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1\n"),
            (
                "/boot/config-6.1.0-18-amd64",
                "CONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=250\nCONFIG_NO_HZ_IDLE=y\n",
            ),
            ("/proc/cmdline", "root=/dev/sda password=hush preempt=full quiet\n"),
            ("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            (
                "/proc/cpuinfo",
                "processor\t: 0\nmodel name\t: A  CPU\nmicrocode\t: 0x1\nflags\t\t: fpu hypervisor\n\nprocessor : 1\nmodel name : B\n",
            ),
            ("/sys/class/dmi/id/sys_vendor", "Maker\n"),
            ("/sys/class/dmi/id/product_name", "Box\n"),
            ("/sys/devices/system/cpu/online", "0-1\n"),
            ("/sys/devices/system/cpu/smt/control", "on\n"),
            ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n"),
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n"),
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index3/level", "3\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index3/type", "Unified\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index3/size", "8192K\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "0-1\n"),
            (&format!("{VULNERABILITIES}/mds"), "Vulnerable: no microcode\n"),
            (&format!("{VULNERABILITIES}/meltdown"), "Mitigation: PTI\n"),
            (&format!("{VULNERABILITIES}/srbds"), "Unknown: Dependent on hypervisor status\n"),
            (&format!("{VULNERABILITIES}/l1tf"), "Not affected\n"),
            (&format!("{VULNERABILITIES}/tsa"), "Not affected\n"),
            (
                "/proc/meminfo",
                "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
            ),
            (
                "/proc/self/limits",
                "Limit   Soft Limit   Hard Limit   Units\nMax processes   unlimited   unlimited   processes\nMax open files   1024   4096   files\n",
            ),
            ("/proc/loadavg", "0.10 0.20 0.30 1/99 12345\n"),
            ("/proc/pressure/cpu", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=9.00\n"),
            ("/proc/stat", "cpu 99 0 0 0 0 0 0 1 0 0\n"),
        ]);
        for (name, expected) in [
            ("kernel", "6.1.0-18-amd64"),
            ("distribution", "Debian GNU/Linux 12"),
            ("cpu_model", "A CPU"),
            ("cores_online", "2 (0-1)"),
            ("smt", "on, 2 a core in use"),
            ("caches", "L1d 48K, L3 8192K shared by 0-1"),
            ("memory", "8.19 GB, 4.1 GB available"),
            ("swap", "none"),
            ("hypervisor", "yes, Maker, Box"),
            ("irq_time_accounting", "built in (CONFIG_IRQ_TIME_ACCOUNTING)"),
            ("steal_time_accounting", "not built in (CONFIG_PARAVIRT_TIME_ACCOUNTING)"),
            ("tick", "250 Hz, idle"),
            ("preemption", "PREEMPT_DYNAMIC, voluntary by default, booted with full"),
            (
                "mitigations",
                "vulnerable: mds (no microcode); other: srbds (Unknown: Dependent on hypervisor status); \
                 mitigated: meltdown (PTI); not affected: 2",
            ),
            ("governor", "powersave (intel_pstate)"),
            ("turbo", "off"),
            ("limit_open_files", "1024 soft, 4096 hard"),
            ("limit_processes", "unlimited soft, unlimited hard"),
            ("load_average", "0.10 0.20 0.30"),
            ("cpu_pressure", "some 1.5 % of the last 10 s"),
            ("steal", "1 % of CPU time since boot"),
            ("other_processes", "hidden"),
            ("somaxconn", "unknown (no /proc/sys/net/core/somaxconn)"),
        ] {
            assert_eq!(it[name], expected, "{name}");
        }
        assert!(!it.values().any(|value| value.contains("hush")));
    }

    #[test]
    fn debugfs_knows_the_model_in_force() {
        let it = found(&[("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n")]);
        assert_eq!(it["preemption"], "full");
    }

    #[test]
    fn the_keys_are_the_same_on_every_machine() {
        let silent = found(&[]);
        let (here, seen) = super::super::examine();
        let names: Vec<&str> = here.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names.len(), silent.len());
        assert!(names.iter().all(|&name| silent.contains_key(name)));
        assert!(silent["kernel"].starts_with("unknown (no /proc/"));
        assert!(!seen.cores_allowed.is_empty());
        for fact in &here {
            assert!(!fact.value.is_empty() && !fact.value.contains('\n'), "{fact:?}");
            println!("{}: {}", fact.name, fact.value);
        }
    }
}
