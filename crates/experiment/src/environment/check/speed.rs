//! Checks of causes that make equal work take unequal time: other work, the hypervisor, the clock rate.

use super::super::neighbours::Neighbours;
use super::{CheckInput, Judged, Level, counted};
use bakeoff_units::Ratio;

/// More runnable processes than this share of the cores leaves no quiet core for one of the sides.
const MOST_LOAD: f64 = 0.5;
/// The load average remembers a minute. Of a load that goes on, others use more than this share of the cores now.
const MOST_USED: f64 = 0.1;
/// The default margin. In the tenth of a second before a run a single tick is more than this on up to ten cores: any
/// steal at all is much there.
const MOST_STEAL: f64 = 0.01;
/// Two processes that share a core now and then wait a tenth of the time.
const MOST_PRESSURE: f64 = 0.1;
/// Clocks that a program reads without a system call, on the architectures that have them.
const FAST_CLOCKS: [&str; 7] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "riscv_clocksource",
    "timebase",
    "tod",
];

pub(super) fn load(asked: &CheckInput<'_>) -> Option<Judged> {
    let (load, cores) = (asked.seen.load?, asked.seen.cores_online);
    let found = format!("the load average is {load:.2} on {}", counted(cores as u64, "core"));
    let most = MOST_LOAD * cores as f64;
    if load <= most {
        return Some(Judged::ok(found));
    }
    if let Some(used) = asked.seen.used_now.filter(|used| used.get() <= MOST_USED) {
        return Some(Judged::ok(format!(
            "{found}, of work that is over: {used} of the cores is used just now"
        )));
    }
    Some(Judged::but(
        found,
        Level::Spoils,
        format!("at most {most:.1}"),
        "other work takes time and cache, which makes intervals wide",
        format!("Stop it, or wait until `uptime` says less than {most:.1}."),
    ))
}

pub(super) fn pressure(asked: &CheckInput<'_>) -> Option<Judged> {
    let share = asked.seen.tuning.cpu_pressure?;
    let found = format!("some task waited for a core {share} of the last 10 s");
    if share.get() <= MOST_PRESSURE {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Note,
        format!("at most {}", percent(MOST_PRESSURE)),
        "there is more work than cores just now",
        "Stop what else runs, or wait.",
    ))
}

pub(super) fn neighbours(asked: &CheckInput<'_>) -> Option<Judged> {
    let (running, busy, here) = match asked.seen.neighbours {
        Neighbours::Seen { running, busy } => (running, busy, ""),
        Neighbours::Contained { running, busy } => (running, busy, " of this container"),
        Neighbours::Hidden => return None,
    };
    let found = format!("{busy} of {running} other processes{here} use more than a tenth of a core");
    if busy == 0 {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Note,
        "none",
        "what they do while one arm is measured is charged to it as slowness and cold caches",
        "`top` names them; stop what can be stopped.",
    ))
}

pub(super) fn steal(asked: &CheckInput<'_>) -> Option<Judged> {
    let now = asked.seen.steal_now?;
    // Steal of long ago spoils nothing now.
    let since_boot = share(asked.seen.steal_since_boot);
    let found = format!(
        "the hypervisor gives {now} of this machine's CPU time to others just now ({since_boot} since boot)"
    );
    if now.get() <= MOST_STEAL {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Spoils,
        format!("at most {}", percent(MOST_STEAL)),
        "what is stolen shows as slowness, and as CPU time where the kernel does not take it out",
        "A host of its own or a quieter hour helps.",
    ))
}

pub(super) fn governor(asked: &CheckInput<'_>) -> Option<Judged> {
    let governors = &asked.seen.governors;
    if governors.is_empty() {
        return Some(Judged::ok("the kernel does not set the frequency here"));
    }
    let found = format!("the frequency governor is {}", governors.join(" and "));
    if governors.iter().all(|governor| governor == "performance") {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Spoils,
        "performance",
        "the clock rate follows the load, and a slower arm may get a faster core",
        "`cpupower frequency-set -g performance` fixes it until the next boot.",
    ))
}

pub(super) fn turbo(asked: &CheckInput<'_>) -> Option<Judged> {
    if !asked.seen.tuning.turbo? {
        return Some(Judged::ok("turbo is off"));
    }
    Some(Judged::but(
        "turbo is on",
        Level::Note,
        "off",
        "the clock rate depends on heat and on how many cores work",
        "`echo 0 > /sys/devices/system/cpu/cpufreq/boost` (Intel: `echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo`) \
         as root, until the next boot.",
    ))
}

pub(super) fn clocksource(asked: &CheckInput<'_>) -> Option<Judged> {
    let name = asked.seen.clocksource.as_deref()?;
    let found = format!("the kernel takes the time from `{name}`");
    if FAST_CLOCKS.contains(&name) {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Spoils,
        "a clock that is read without a system call",
        "every look at the clock costs a system call and perhaps a slow device, which lowers what the generator can do \
         and adds to small response times",
        "`dmesg | grep -i clocksource` says why the TSC is not used.",
    ))
}

pub(super) fn mitigations(asked: &CheckInput<'_>) -> Option<Judged> {
    let (mitigated, vulnerable) = (asked.seen.tuning.mitigated, asked.seen.tuning.vulnerable);
    match (mitigated, vulnerable) {
        (0, 0) => None,
        (0, left) => Some(Judged::ok(format!("no mitigation is on, {left} vulnerabilities are left open"))),
        (on, left) => Some(Judged::but(
            format!("{on} mitigations of processor vulnerabilities are on, {left} are left open"),
            Level::Note,
            "the same wherever figures are compared",
            "they make system calls and interrupts dearer, so costs hold for machines with the same ones",
            "`mitigations=off` on the kernel's command line switches them off: for a machine that runs nothing else, if at \
             all.",
        )),
    }
}

pub(super) fn irqbalance(asked: &CheckInput<'_>) -> Option<Judged> {
    if !asked.seen.tuning.irqbalance {
        return Some(Judged::ok("no daemon moves interrupts between cores"));
    }
    Some(Judged::but(
        "irqbalance moves interrupts between cores",
        Level::Note,
        "interrupts of the network on cores of neither side",
        "soft interrupts of a network card land now on the subjects' cores and now elsewhere; on loopback there are none",
        "`systemctl stop irqbalance`, and name cores in /proc/irq/N/smp_affinity_list.",
    ))
}

fn share(share: Option<Ratio>) -> String {
    share.map_or("an unknown share".to_owned(), |share| share.to_string())
}

fn percent(share: f64) -> String {
    Ratio::new(share).unwrap_or_default().to_string()
}
