//! Tests of checks on synthetic machines whose findings follow by arithmetic.

use super::super::cgroup::CpuGroup;
use super::super::neighbours::Neighbours;
use super::super::seen::{AuditState, HostRights, NetworkState, Security, Tuning};
use super::*;
use bakeoff_sys::rlimit::OpenFiles;
use bakeoff_units::{Bytes, Ratio};
use std::collections::BTreeSet;

/// A machine without a fault.
fn quiet() -> MachineState {
    MachineState {
        cores_online: 4,
        cores_allowed: vec![0, 1, 2, 3],
        load: Some(0.3),
        steal_since_boot: Ratio::new(0.0002),
        steal_now: Ratio::new(0.0),
        used_now: Ratio::new(0.3),
        memory: Some(Bytes::new(8_000_000_000)),
        swap_used: Some(Bytes::new(0)),
        governors: vec!["performance".to_owned()],
        open_files: Some(OpenFiles { soft: 1024, hard: 4096 }),
        port_range: Some((32768, 60999)),
        tw_reuse: Some(2),
        neighbours: Neighbours::Seen { running: 99, busy: 0 },
        clocksource: Some("tsc".to_owned()),
        cpu_quota: None,
        network: NetworkState {
            file_table: Some((1_000, 1_000_000)),
            time_wait: Some(10),
            time_wait_most: Some(65_536),
            somaxconn: Some(4_096),
            syn_backlog: Some(512),
            syn_cookies: Some(true),
            conntrack: Some((100, 262_144)),
        },
        tuning: Tuning {
            turbo: Some(false),
            threads_per_core: Some(1),
            numa_nodes: Some(1),
            huge_pages: Some("madvise".to_owned()),
            cpu_pressure: Ratio::new(0.01),
            io_pressure: Ratio::new(0.0),
            memory_pressure: Ratio::new(0.0),
            ..Tuning::default()
        },
        rights: HostRights {
            root: true,
            net_admin: true,
            sys_admin: true,
            cpu_group: Some(CpuGroup { version: 2, writable: true }),
            missing: Vec::new(),
        },
        security: Security {
            landlock: Some(Ok(7)),
            modules: Some(Ok("lockdown,landlock,selinux".to_owned())),
            audit: Some(Ok(AuditState { enabled: 1, daemon: 9 })),
        },
    }
}

/// A machine of which nothing can be read.
fn silent() -> MachineState {
    MachineState {
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
        network: NetworkState::default(),
        tuning: Tuning::default(),
        ..quiet()
    }
}

fn apart() -> Placement {
    Placement { generator: vec![2, 3], subject: vec![0, 1], disjoint: true, siblings_split: false }
}

const SMALL: Need = Need { connections: 15, connection_rate: None, loopback: true };

/// Names and severities of the findings that are not ok.
fn wrong(seen: &MachineState, placement: &Placement, need: &Need) -> Vec<(&'static str, Level)> {
    let bad = |finding: Finding| (finding.level > Level::Ok).then_some((finding.name, finding.level));
    findings(seen, placement, need).into_iter().filter_map(bad).collect()
}

fn warned(seen: &MachineState, placement: &Placement, need: &Need) -> Vec<String> {
    warnings(seen, placement, need).into_iter().map(|warning| warning.label).collect()
}

#[test]
fn a_quiet_machine_and_one_that_says_nothing_give_none() {
    assert_eq!(wrong(&quiet(), &apart(), &SMALL), []);
    let fast = Need { connection_rate: PerSecond::new(1e6), ..SMALL };
    assert_eq!(wrong(&silent(), &apart(), &fast), []);
}

#[test]
fn names_differ_and_every_finding_reads_as_a_sentence() {
    let mut names = BTreeSet::new();
    let spoilt = spoilt();
    let shared = Placement { disjoint: false, siblings_split: true, ..apart() };
    let need = Need { connections: 20_000, connection_rate: PerSecond::new(1e6), loopback: false };
    for (seen, placement, need) in [(&quiet(), &apart(), &SMALL), (&spoilt, &shared, &need)] {
        for finding in findings(seen, placement, need) {
            names.insert(finding.name);
            let sentence = finding.sentence();
            assert!(
                sentence.ends_with('.') && !sentence.contains("  ") && !sentence.contains('\n'),
                "{sentence}"
            );
            let told = [&finding.wanted, &finding.why, &finding.how];
            assert!(told.iter().all(|text| text.is_empty() == (finding.level == Level::Ok)), "{finding:?}");
            println!("{:?} {}: {sentence}", finding.level, finding.name);
        }
    }
    let table: BTreeSet<&str> = TABLE.iter().map(|check| check.name).collect();
    assert_eq!((names, TABLE.len()), (table.clone(), table.len()));
}

/// A machine with every possible fault.
fn spoilt() -> MachineState {
    MachineState {
        load: Some(9.0),
        steal_now: Ratio::new(0.1),
        swap_used: Some(Bytes::new(1_000_000_000)),
        governors: vec!["powersave".to_owned()],
        clocksource: Some("hpet".to_owned()),
        cpu_quota: Some(1.5),
        neighbours: Neighbours::Contained { running: 9, busy: 2 },
        network: NetworkState {
            file_table: Some((900, 1_000)),
            time_wait: Some(60_000),
            conntrack: Some((250_000, 262_144)),
            syn_cookies: Some(false),
            ..quiet().network
        },
        tuning: Tuning {
            turbo: Some(true),
            threads_per_core: Some(2),
            mitigated: 7,
            vulnerable: 1,
            numa_nodes: Some(2),
            numa_balancing: Some(true),
            huge_pages: Some("always".to_owned()),
            irqbalance: true,
            cpu_pressure: Ratio::new(0.9),
            io_pressure: Ratio::new(0.9),
            memory_pressure: Ratio::new(0.9),
        },
        rights: HostRights { missing: vec!["nginx", "tc"], ..HostRights::default() },
        ..quiet()
    }
}

#[test]
fn each_has_its_boundary() {
    let ratio = |share| Ratio::new(share);
    let bytes = |n| Some(Bytes::new(n));
    let governors = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let clock = |name: &str| Some(name.to_owned());
    for (name, seen, expected) in [
        ("load-average", MachineState { load: Some(2.0), ..quiet() }, false),
        ("load-average", MachineState { load: Some(2.01), ..quiet() }, true),
        ("load-average", MachineState { load: Some(9.0), used_now: ratio(0.1), ..quiet() }, false),
        ("load-average", MachineState { load: Some(9.0), used_now: ratio(0.11), ..quiet() }, true),
        ("load-average", MachineState { load: Some(9.0), used_now: None, ..quiet() }, true),
        ("steal", MachineState { steal_since_boot: ratio(0.3), ..quiet() }, false),
        ("steal", MachineState { steal_now: ratio(0.01), ..quiet() }, false),
        ("steal", MachineState { steal_now: ratio(0.011), ..quiet() }, true),
        ("swap", MachineState { swap_used: bytes(80_000_000), ..quiet() }, false),
        ("swap", MachineState { swap_used: bytes(80_000_001), ..quiet() }, true),
        ("governor", MachineState { governors: vec![], ..quiet() }, false),
        ("governor", MachineState { governors: governors(&["performance", "powersave"]), ..quiet() }, true),
        ("clocksource", MachineState { clocksource: clock("kvm-clock"), ..quiet() }, false),
        ("clocksource", MachineState { clocksource: clock("hpet"), ..quiet() }, true),
        ("cpu-quota", MachineState { cpu_quota: Some(4.0), ..quiet() }, false),
        ("cpu-quota", MachineState { cpu_quota: Some(3.5), ..quiet() }, true),
        (
            "proc-hidden",
            MachineState { neighbours: Neighbours::Contained { running: 3, busy: 0 }, ..quiet() },
            false,
        ),
        ("proc-hidden", MachineState { neighbours: Neighbours::Hidden, ..quiet() }, true),
    ] {
        let expected: &[&str] = if expected { &[name] } else { &[] };
        assert_eq!(warned(&seen, &apart(), &SMALL), expected, "{seen:?}");
    }
}

#[test]
fn limits_are_reached_before_they_are_full() {
    let network = quiet().network;
    for (name, network, expected) in [
        // 2 x (15 + 128) more; a tenth stays free.
        ("file-table", NetworkState { file_table: Some((8_714, 10_000)), ..network.clone() }, false),
        ("file-table", NetworkState { file_table: Some((8_715, 10_000)), ..network.clone() }, true),
        ("time-wait", NetworkState { time_wait: Some(14_116), ..network.clone() }, false),
        ("time-wait", NetworkState { time_wait: Some(14_117), ..network.clone() }, true),
        ("conntrack", NetworkState { conntrack: Some((8_985, 10_000)), ..network.clone() }, false),
        ("conntrack", NetworkState { conntrack: Some((8_986, 10_000)), ..network.clone() }, true),
        ("somaxconn", NetworkState { somaxconn: Some(15), ..network.clone() }, false),
        ("somaxconn", NetworkState { somaxconn: Some(14), ..network.clone() }, true),
        ("syn-backlog", NetworkState { syn_backlog: Some(14), ..network.clone() }, false),
        (
            "syn-backlog",
            NetworkState { syn_backlog: Some(14), syn_cookies: Some(false), ..network.clone() },
            true,
        ),
    ] {
        let found = wrong(&MachineState { network, ..quiet() }, &apart(), &SMALL);
        let found: Vec<&str> = found.into_iter().map(|(name, _)| name).collect();
        let expected: &[&str] = if expected { &[name] } else { &[] };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn what_is_only_worth_knowing_is_no_warning_of_a_run() {
    let tuning = Tuning { turbo: Some(true), irqbalance: true, mitigated: 3, ..quiet().tuning };
    let seen = MachineState { tuning, rights: HostRights::default(), ..quiet() };
    let found = wrong(&seen, &apart(), &SMALL);
    let notes = ["cpu-group", "links", "turbo", "mitigations", "irqbalance"].map(|name| (name, Level::Note));
    assert_eq!(found, notes);
    assert_eq!(warned(&seen, &apart(), &SMALL), Vec::<String>::new());
}

#[test]
fn sharing_is_one_core_or_the_plan_s_wish() {
    let shared =
        Placement { generator: vec![1, 2], subject: vec![0, 1], disjoint: false, siblings_split: false };
    assert_eq!(warned(&quiet(), &shared, &SMALL), ["cores-shared"]);
    let one = Placement { generator: vec![3], subject: vec![3], disjoint: false, siblings_split: false };
    let seen = MachineState { cores_allowed: vec![3], ..quiet() };
    assert_eq!(warned(&seen, &one, &SMALL), ["one-core"]);
    let split = Placement { siblings_split: true, ..apart() };
    assert_eq!(warned(&quiet(), &split, &SMALL), ["siblings-split"]);
}

#[test]
fn descriptors_are_raised_or_missing() {
    let need = |connections| Need { connections, ..SMALL };
    // 128 are bakeoff's own.
    for (connections, expected) in [(896, &[][..]), (897, &[("descriptors", Level::Note)])] {
        assert_eq!(wrong(&quiet(), &apart(), &need(connections)), expected, "{connections}");
    }
    for (connections, level) in [(3_968, Level::Note), (3_969, Level::Spoils)] {
        assert_eq!(wrong(&quiet(), &apart(), &need(connections)), [("descriptors", level)], "{connections}");
    }
    let said = warnings(&quiet(), &apart(), &need(3_969)).remove(0).sentence;
    assert!(said.contains("3969 connections need 4097") && said.contains("ulimit -Hn 4097"), "{said}");
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
        let seen = MachineState { tw_reuse, ..quiet() };
        assert_eq!(warned(&seen, &apart(), &need) == ["ports"], expected, "{tw_reuse:?} {loopback} {rate}");
    }
}

#[test]
fn what_the_layer_mac_needs_of_the_kernel_is_told() {
    let of = |security: Security| -> Vec<(&'static str, Level, String)> {
        let seen = MachineState { security, ..quiet() };
        let names = ["security-modules", "landlock", "audit"];
        let found = findings(&seen, &apart(), &SMALL);
        let own = found.into_iter().filter(|finding| names.contains(&finding.name));
        own.map(|finding| (finding.name, finding.level, finding.found)).collect()
    };
    assert!(of(Security::default()).is_empty(), "a machine that tells nothing");
    let good = of(quiet().security);
    assert!(good.iter().all(|(_, level, _)| *level == Level::Ok) && good.len() == 3, "{good:?}");
    assert!(good[0].2.contains("lockdown, landlock") && good[2].2.contains("process 9"), "{good:?}");
    fn refused<T>() -> Result<T, String> {
        Err("Operation not permitted".to_owned())
    }
    let bad = Security { landlock: Some(Ok(4)), modules: Some(refused()), audit: Some(refused()) };
    assert!(of(bad).iter().all(|(_, level, _)| *level == Level::Note));
    let off = Some(Ok(AuditState { enabled: 0, daemon: 0 }));
    let without = Security { landlock: Some(refused()), audit: off, ..Security::default() };
    assert_eq!(of(without).iter().map(|(_, level, _)| *level).collect::<Vec<_>>(), [Level::Note, Level::Ok]);
}
