//! Checks of cores: their number, and their division between generator and subjects.

use super::super::cores::core_list;
use super::super::placement::Placement;
use super::{CheckInput, Judged, Level, counted};

pub(super) fn one_core(asked: &CheckInput<'_>) -> Option<Judged> {
    let allowed = &asked.seen.cores_allowed;
    let [core] = allowed[..] else {
        let cores = counted(allowed.len() as u64, "core");
        return (!allowed.is_empty()).then(|| Judged::ok(format!("{cores} may be used")));
    };
    (!asked.placement.disjoint).then(|| {
        Judged::but(
            format!("only core {core} may be used, so the load generator and the subjects share it"),
            Level::Spoils,
            "two cores or more",
            "CPU per request still compares, but with noise from the generator's use of the caches, and throughput \
             and response time are those of both together",
            "A second core helps, or a wider `taskset` or cpuset.",
        )
    })
}

pub(super) fn shared(asked: &CheckInput<'_>) -> Option<Judged> {
    if asked.seen.cores_allowed.len() <= 1 {
        return None;
    }
    let Placement { generator, subject, disjoint, .. } = asked.placement;
    if *disjoint {
        return Some(Judged::ok(format!(
            "the subjects run on {}, the generator on {}",
            cores_in_words(subject),
            cores_in_words(generator)
        )));
    }
    let both: Vec<usize> = generator.iter().copied().filter(|core| subject.contains(core)).collect();
    Some(Judged::but(
        format!("the plan puts the load generator and the subjects together on {}", cores_in_words(&both)),
        Level::Spoils,
        "cores of their own",
        "they take time and cache from each other, and throughput and response time are those of both together",
        "Let generator_cores and subject_cores name different cores, or leave them out.",
    ))
}

pub(super) fn siblings(asked: &CheckInput<'_>) -> Option<Judged> {
    if !asked.placement.siblings_split {
        return asked.placement.disjoint.then(|| Judged::ok("the two sides share no physical core"));
    }
    Some(Judged::but(
        "the load generator and the subjects run on hardware threads of the same physical core",
        Level::Spoils,
        "a physical core for each side",
        "each slows the other, so CPU per request is higher than on a core of its own and moves with the load",
        "A machine with two physical cores helps.",
    ))
}

pub(super) fn hardware_threads(asked: &CheckInput<'_>) -> Option<Judged> {
    let threads = asked.seen.tuning.threads_per_core?;
    if threads <= 1 {
        return Some(Judged::ok("one hardware thread a core is in use"));
    }
    Some(Judged::but(
        format!("{threads} hardware threads a core are in use"),
        Level::Note,
        "1",
        "a thread is slower while its sibling works, so CPU per request depends on how busy a subject is",
        "`echo off > /sys/devices/system/cpu/smt/control` as root, until the next boot.",
    ))
}

pub(super) fn quota(asked: &CheckInput<'_>) -> Option<Judged> {
    let cores = asked.seen.cores_allowed.len();
    let Some(quota) = asked.seen.cpu_quota.filter(|&quota| quota < cores as f64) else {
        return (cores > 0).then(|| Judged::ok("no quota of CPU time"));
    };
    let cores = counted(cores as u64, "core");
    Some(Judged::but(
        format!(
            "the control group of bakeoff may use the CPU time of {quota:.2} cores, fewer than the {cores} it sees"
        ),
        Level::Spoils,
        "no quota",
        "when that is used up, everything in it stands still until the next period, and response times jump",
        "Lift the quota (`cpu.max`, `docker run --cpus`) and limit the cores instead (`--cpuset-cpus`).",
    ))
}

fn cores_in_words(cores: &[usize]) -> String {
    format!("core{} {}", if cores.len() == 1 { "" } else { "s" }, core_list(cores))
}
