//! What the reader should know before believing a figure: a closed set, decided from data.

use super::cores::core_list;
use super::descriptors::descriptors_for;
use super::neighbours::Neighbours;
use super::placement::Placement;
use super::seen::Seen;
use crate::results::Warning;
use bakeoff_units::{Bytes, PerSecond, Ratio};

/// What the plan asks of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Connections open at once, all arms that are loaded together.
    pub connections: u64,
    /// New connections to one address and port, where there is one for each request; `None` with
    /// keep-alive. In a closed loop: the fastest that can be expected.
    pub connection_rate: Option<PerSecond>,
    /// Whether all subjects are on a loopback address.
    pub loopback: bool,
}

/// Something about the machine that makes figures worse or worth less.
#[derive(Clone, Debug, PartialEq)]
pub enum Caution {
    /// One core for everything.
    OneCore {
        /// That one.
        core: usize,
    },
    /// The plan puts generator and subjects on the same cores.
    CoresShared {
        /// The cores in both.
        cores: Vec<usize>,
    },
    /// The two sides are hardware threads of the same physical core.
    SiblingsSplit,
    /// The machine was busy before the start.
    LoadAverage {
        /// Runnable processes, mean of the last minute.
        load: f64,
        /// Cores that are on.
        cores: usize,
    },
    /// The hypervisor gives our CPU time to others.
    Steal {
        /// Since boot.
        since_boot: Option<Ratio>,
        /// In the moment before the start.
        now: Option<Ratio>,
    },
    /// Memory has been swapped out.
    Swap {
        /// How much.
        used: Bytes,
    },
    /// The frequency follows the load.
    Governor {
        /// Those in use.
        governors: Vec<String>,
    },
    /// The soft limit on descriptors is too low for the plan.
    Descriptors {
        /// Connections planned.
        connections: u64,
        /// Descriptors for them.
        needed: u64,
        /// Soft limit.
        soft: u64,
        /// Hard limit.
        hard: u64,
    },
    /// A new connection for each request uses ports up faster than they come back.
    Ports {
        /// New connections.
        rate: PerSecond,
        /// Ports of the range.
        ports: u64,
        /// How long a closed connection holds its port, seconds.
        hold_s: u64,
    },
    /// Other people's processes cannot be seen.
    ProcHidden,
    /// Reading the clock is a system call, or worse.
    Clocksource {
        /// Its name.
        name: String,
    },
    /// Our control group has a quota of CPU time.
    CpuQuota {
        /// In cores.
        quota: f64,
        /// Cores that may be used.
        cores: usize,
    },
}

/// The cautions that hold, worst kind first.
pub fn cautions(seen: &Seen, placement: &Placement, need: &Need) -> Vec<Caution> {
    let found = [
        cores(seen, placement),
        siblings(placement),
        quota(seen),
        load(seen),
        steal(seen),
        swap(seen),
        governor(seen),
        clocksource(seen),
        descriptors(seen, need),
        ports(seen, need),
        (seen.neighbours == Neighbours::Hidden).then_some(Caution::ProcHidden),
    ];
    found.into_iter().flatten().collect()
}

/// The same, as they are stored.
pub fn warnings(seen: &Seen, placement: &Placement, need: &Need) -> Vec<Warning> {
    let stored =
        |caution: &Caution| Warning { label: caution.label().to_owned(), sentence: caution.sentence() };
    cautions(seen, placement, need).iter().map(stored).collect()
}

/// More runnable processes than this share of the cores leaves no quiet core for one of the sides.
const MOST_LOAD: f64 = 0.5;
/// A tenth of the default margin.
const MOST_STEAL: f64 = 0.001;
/// Of memory. Less is pages that nothing has touched for long, which every old machine has.
const MOST_SWAP: f64 = 0.01;
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
/// `TCP_TIMEWAIT_LEN` of the kernel, seconds.
const TIME_WAIT_S: u64 = 60;
/// With `tcp_tw_reuse` a port may be used again after this, seconds.
const REUSE_S: u64 = 1;

fn cores(seen: &Seen, placement: &Placement) -> Option<Caution> {
    match placement {
        Placement { disjoint: true, .. } => None,
        Placement { generator, .. } if seen.cores_allowed.len() <= 1 => {
            generator.first().map(|&core| Caution::OneCore { core })
        }
        Placement { generator, subject, .. } => Some(Caution::CoresShared {
            cores: generator.iter().copied().filter(|core| subject.contains(core)).collect(),
        }),
    }
}

fn siblings(placement: &Placement) -> Option<Caution> {
    placement.siblings_split.then_some(Caution::SiblingsSplit)
}

fn quota(seen: &Seen) -> Option<Caution> {
    let cores = seen.cores_allowed.len();
    seen.cpu_quota.filter(|&quota| quota < cores as f64).map(|quota| Caution::CpuQuota { quota, cores })
}

fn load(seen: &Seen) -> Option<Caution> {
    let cores = seen.cores_online;
    seen.load.filter(|&load| load > MOST_LOAD * cores as f64).map(|load| Caution::LoadAverage { load, cores })
}

fn steal(seen: &Seen) -> Option<Caution> {
    let (since_boot, now) = (seen.steal_since_boot, seen.steal_now);
    let over = |share: Option<Ratio>, most| share.is_some_and(|share| share.get() > most);
    // A single tick in the moment of watching is some 5 %: any at all is much.
    (over(since_boot, MOST_STEAL) || over(now, 0.0)).then_some(Caution::Steal { since_boot, now })
}

fn swap(seen: &Seen) -> Option<Caution> {
    let memory = seen.memory.map_or(0, Bytes::get);
    seen.swap_used
        .filter(|used| used.get() as f64 > MOST_SWAP * memory as f64)
        .map(|used| Caution::Swap { used })
}

fn governor(seen: &Seen) -> Option<Caution> {
    let fixed = seen.governors.iter().all(|governor| governor == "performance");
    (!fixed).then(|| Caution::Governor { governors: seen.governors.clone() })
}

fn clocksource(seen: &Seen) -> Option<Caution> {
    let slow = seen.clocksource.as_ref().filter(|name| !FAST_CLOCKS.contains(&name.as_str()));
    slow.map(|name| Caution::Clocksource { name: name.clone() })
}

fn descriptors(seen: &Seen, need: &Need) -> Option<Caution> {
    let needed = descriptors_for(need.connections);
    let limit = seen.open_files.filter(|limit| limit.soft < needed)?;
    let connections = need.connections;
    Some(Caution::Descriptors { connections, needed, soft: limit.soft, hard: limit.hard })
}

fn ports(seen: &Seen, need: &Need) -> Option<Caution> {
    let (rate, (first, last)) = need.connection_rate.zip(seen.port_range)?;
    let reused = match seen.tw_reuse {
        Some(1) => true,
        Some(2) => need.loopback,
        _ => false,
    };
    let hold_s = if reused { REUSE_S } else { TIME_WAIT_S };
    let ports = u64::from(last.saturating_sub(first)) + 1;
    (rate.get() * hold_s as f64 > ports as f64).then_some(Caution::Ports { rate, ports, hold_s })
}

impl Caution {
    /// Stable label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::OneCore { .. } => "one-core",
            Self::CoresShared { .. } => "cores-shared",
            Self::SiblingsSplit => "siblings-split",
            Self::LoadAverage { .. } => "load-average",
            Self::Steal { .. } => "steal",
            Self::Swap { .. } => "swap",
            Self::Governor { .. } => "governor",
            Self::Descriptors { .. } => "descriptors",
            Self::Ports { .. } => "ports",
            Self::ProcHidden => "proc-hidden",
            Self::Clocksource { .. } => "clocksource",
            Self::CpuQuota { .. } => "cpu-quota",
        }
    }

    /// What was seen, what it means, what helps.
    pub fn sentence(&self) -> String {
        match self {
            Self::OneCore { core } => format!(
                "Only core {core} may be used, so the load generator and the subjects share it: CPU per request \
                 still compares, but with noise from the generator's use of the caches, and throughput and \
                 response time are those of both together. A second core helps, or a wider `taskset` or cpuset."
            ),
            Self::CoresShared { cores } => format!(
                "The plan puts the load generator and the subjects together on {}: they take time and cache from \
                 each other, and throughput and response time are those of both together. Let \
                 generator_cores and subject_cores name different cores, or leave them out.",
                cores_in_words(cores)
            ),
            Self::SiblingsSplit => "The load generator and the subjects run on hardware threads of the same physical \
                 core: each slows the other, so CPU per request is higher than on a core of its own and moves with \
                 the load. A machine with two physical cores helps."
                .to_owned(),
            Self::LoadAverage { load, cores } => format!(
                "The load average was {load:.2} on {} before the start: other work takes time and cache, which makes \
                 intervals wide. Stop it, or wait until `uptime` says less than {:.1} (a build that has just ended \
                 counts for a minute or two).",
                counted(*cores, "core"),
                MOST_LOAD * *cores as f64
            ),
            Self::Steal { since_boot, now } => format!(
                "The hypervisor gave {} of this machine's CPU time to others since boot and {} in the moment before \
                 the start: what is stolen shows as slowness, and as CPU time where the kernel does not take it out. \
                 A host of its own or a quieter hour helps.",
                share(*since_boot),
                share(*now)
            ),
            Self::Swap { used } => format!(
                "{used} of memory are swapped out: a page that comes back in the middle of a slice is time that no \
                 server spent. Free memory, then `swapoff -a && swapon -a`."
            ),
            Self::Governor { governors } => format!(
                "The frequency governor is {}: the clock rate follows the load, and a slower arm may get a faster \
                 core. `cpupower frequency-set -g performance` fixes it until the next boot.",
                governors.join(" and ")
            ),
            Self::Descriptors { connections, needed, soft, hard } => format!(
                "The plan's connections ({connections}) need {needed} file descriptors and the limit is {soft}: {}",
                if needed <= hard {
                    format!(
                        "bakeoff raises its own to {needed}, and what it starts inherits that. A server that is \
                         already running keeps its limit; `ulimit -n {needed}` before it is started raises that one."
                    )
                } else {
                    format!(
                        "connections beyond it fail. The hard limit is {hard}; `ulimit -Hn {needed}` as root or \
                         `LimitNOFILE={needed}` in a systemd unit raises it."
                    )
                }
            ),
            Self::Ports { rate, ports, hold_s } => format!(
                "At {rate} new connections and {hold_s} s until a port can be used again, the {ports} ports of this \
                 machine are used up, and connections fail with `connect-failed`. `sysctl \
                 net.ipv4.ip_local_port_range=\"1024 65535\"` and `net.ipv4.tcp_tw_reuse=1` help, or a lower rate, or \
                 keep-alive."
            ),
            Self::ProcHidden => "/proc hides the processes of other users, so what else runs here is not known, and the \
                 CPU time of a server under another user cannot be read. Run as root, or mount /proc without \
                 `hidepid`."
                .to_owned(),
            Self::Clocksource { name } => format!(
                "The kernel takes the time from `{name}`, which costs a system call and perhaps a slow device for \
                 each reading: the generator and every server that logs pay it. `dmesg | grep -i clocksource` says \
                 why the TSC is not used."
            ),
            Self::CpuQuota { quota, cores } => format!(
                "The control group of bakeoff may use the CPU time of {quota:.2} cores, fewer than the {} it sees: \
                 when that is used up, everything in it stands still until the next period, and response times jump. \
                 Lift the quota (`cpu.max`, `docker run --cpus`) and limit the cores instead (`--cpuset-cpus`).",
                counted(*cores, "core")
            ),
        }
    }
}

fn cores_in_words(cores: &[usize]) -> String {
    format!("core{} {}", if cores.len() == 1 { "" } else { "s" }, core_list(cores))
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn share(share: Option<Ratio>) -> String {
    share.map_or("an unknown share".to_owned(), |share| share.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_sys::rlimit::OpenFiles;

    fn quiet() -> Seen {
        Seen {
            cores_online: 4,
            cores_allowed: vec![0, 1, 2, 3],
            load: Some(0.3),
            steal_since_boot: Ratio::new(0.0002),
            steal_now: Ratio::new(0.0),
            memory: Some(Bytes::new(8_000_000_000)),
            swap_used: Some(Bytes::new(0)),
            governors: vec!["performance".to_owned()],
            open_files: Some(OpenFiles { soft: 1024, hard: 4096 }),
            port_range: Some((32768, 60999)),
            tw_reuse: Some(2),
            neighbours: Neighbours::Seen { running: 99, busy: 0 },
            clocksource: Some("tsc".to_owned()),
            cpu_quota: None,
        }
    }

    fn apart() -> Placement {
        Placement { generator: vec![2, 3], subject: vec![0, 1], disjoint: true, siblings_split: false }
    }

    const SMALL: Need = Need { connections: 15, connection_rate: None, loopback: true };

    fn labels(seen: &Seen, placement: &Placement, need: &Need) -> Vec<&'static str> {
        cautions(seen, placement, need).iter().map(Caution::label).collect()
    }

    #[test]
    fn a_quiet_machine_and_one_that_says_nothing_give_none() {
        assert!(labels(&quiet(), &apart(), &SMALL).is_empty());
        let silent = Seen {
            load: None,
            steal_since_boot: None,
            steal_now: None,
            memory: None,
            swap_used: None,
            governors: vec![],
            open_files: None,
            port_range: None,
            tw_reuse: None,
            clocksource: None,
            ..quiet()
        };
        assert!(
            labels(&silent, &apart(), &Need { connection_rate: PerSecond::new(1e6), ..SMALL }).is_empty()
        );
    }

    #[test]
    fn each_has_its_boundary() {
        let ratio = |share| Ratio::new(share);
        let bytes = |n| Some(Bytes::new(n));
        let governors = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let clock = |name: &str| Some(name.to_owned());
        for (label, seen, expected) in [
            ("load-average", Seen { load: Some(2.0), ..quiet() }, false),
            ("load-average", Seen { load: Some(2.01), ..quiet() }, true),
            ("steal", Seen { steal_since_boot: ratio(0.001), ..quiet() }, false),
            ("steal", Seen { steal_since_boot: ratio(0.0011), ..quiet() }, true),
            ("steal", Seen { steal_now: ratio(0.05), ..quiet() }, true),
            ("swap", Seen { swap_used: bytes(80_000_000), ..quiet() }, false),
            ("swap", Seen { swap_used: bytes(80_000_001), ..quiet() }, true),
            ("governor", Seen { governors: vec![], ..quiet() }, false),
            ("governor", Seen { governors: governors(&["performance", "powersave"]), ..quiet() }, true),
            ("clocksource", Seen { clocksource: clock("kvm-clock"), ..quiet() }, false),
            ("clocksource", Seen { clocksource: clock("hpet"), ..quiet() }, true),
            ("cpu-quota", Seen { cpu_quota: Some(4.0), ..quiet() }, false),
            ("cpu-quota", Seen { cpu_quota: Some(3.5), ..quiet() }, true),
            (
                "proc-hidden",
                Seen { neighbours: Neighbours::Contained { running: 3, busy: 0 }, ..quiet() },
                false,
            ),
            ("proc-hidden", Seen { neighbours: Neighbours::Hidden, ..quiet() }, true),
        ] {
            let expected: &[&str] = if expected { &[label] } else { &[] };
            assert_eq!(labels(&seen, &apart(), &SMALL), expected, "{seen:?}");
        }
    }

    #[test]
    fn sharing_is_one_core_or_the_plan_s_wish() {
        let shared =
            Placement { generator: vec![1, 2], subject: vec![0, 1], disjoint: false, siblings_split: false };
        assert_eq!(cautions(&quiet(), &shared, &SMALL), [Caution::CoresShared { cores: vec![1] }]);
        let one = Placement { generator: vec![3], subject: vec![3], disjoint: false, siblings_split: false };
        let seen = Seen { cores_allowed: vec![3], ..quiet() };
        assert_eq!(cautions(&seen, &one, &SMALL), [Caution::OneCore { core: 3 }]);
        let split = Placement { siblings_split: true, ..apart() };
        assert_eq!(cautions(&quiet(), &split, &SMALL), [Caution::SiblingsSplit]);
    }

    #[test]
    fn descriptors_are_counted_with_our_own() {
        let need = |connections| Need { connections, ..SMALL };
        assert!(cautions(&quiet(), &apart(), &need(896)).is_empty());
        let raised = cautions(&quiet(), &apart(), &need(897));
        assert_eq!(raised, [Caution::Descriptors { connections: 897, needed: 1025, soft: 1024, hard: 4096 }]);
        assert!(raised[0].sentence().contains("raises its own to 1025"));
        let impossible = cautions(&quiet(), &apart(), &need(4000));
        assert!(impossible[0].sentence().contains("`ulimit -Hn 4128`"));
    }

    #[test]
    fn ports_come_back_after_a_second_or_a_minute() {
        // 28,232 ports: that many a second where a port comes back after one, 470.5 a second else.
        for (tw_reuse, loopback, rate, expected) in [
            (Some(2), true, 28_232.0, false),
            (Some(2), true, 28_233.0, true),
            (Some(2), false, 470.0, false),
            (Some(2), false, 471.0, true),
            (Some(1), false, 28_232.0, false),
            (Some(0), true, 471.0, true),
            (None, true, 471.0, true),
        ] {
            let need = Need { connection_rate: PerSecond::new(rate), loopback, ..SMALL };
            let seen = Seen { tw_reuse, ..quiet() };
            assert_eq!(
                labels(&seen, &apart(), &need) == ["ports"],
                expected,
                "{tw_reuse:?} {loopback} {rate}"
            );
        }
    }

    #[test]
    fn labels_differ_and_sentences_are_sentences() {
        let all = [
            Caution::OneCore { core: 0 },
            Caution::CoresShared { cores: vec![0, 1] },
            Caution::SiblingsSplit,
            Caution::LoadAverage { load: 3.0, cores: 2 },
            Caution::Steal { since_boot: Ratio::new(0.02), now: None },
            Caution::Swap { used: Bytes::new(1_000_000_000) },
            Caution::Governor { governors: vec!["powersave".to_owned()] },
            Caution::Descriptors { connections: 1, needed: 129, soft: 100, hard: 100 },
            Caution::Ports { rate: PerSecond::new(1e5).unwrap(), ports: 28232, hold_s: 60 },
            Caution::ProcHidden,
            Caution::Clocksource { name: "hpet".to_owned() },
            Caution::CpuQuota { quota: 1.5, cores: 2 },
        ];
        let labels: std::collections::BTreeSet<_> = all.iter().map(Caution::label).collect();
        assert_eq!(labels.len(), all.len());
        for caution in &all {
            let sentence = caution.sentence();
            assert!(
                sentence.ends_with('.') && !sentence.contains("  ") && !sentence.contains('\n'),
                "{sentence}"
            );
            println!("{}: {sentence}", caution.label());
        }
    }
}
