//! Bottleneck of each arm: the resource that was full while the arm was measured and so bounds its figures.
//!
//! Pure: from the counters of its slices. A cost is a cost at a load. If another resource was full than in the
//! baseline, the two say nothing of each other's bound. Every limit below has its reason beside it; medians over slices
//! are compared with them, so that one odd slice decides nothing.

use super::median::median;
use bakeoff_loadgen::GENERATOR_LIMIT;
use bakeoff_meter::SliceCounters;
use bakeoff_results::{ArmResult, FullResource, Resource, Setup, Warning};
use std::collections::{BTreeMap, BTreeSet};

/// Share of its time from which a resource counts as full: the last tenth is lost to gaps between requests, and queues
/// are long well before.
const FULL: f64 = 0.9;
/// Time without CPU quota, as a share of the slice: its requests came in bursts, and a tenth of the
/// time they waited for the next period, though the quota was not used up over the slice.
const THROTTLED: f64 = 0.1;
/// Share of time in which some task waited for storage (pressure stall information): for more than
/// half of it storage is what the work waits for.
const IO_PRESSURE: f64 = 0.5;
/// If the kernel keeps no pressure: share of all CPU time that was idle because of storage (`wa` of vmstat). It is of
/// all cores, one waiting thread leaves the others alone: hence less.
const IO_WAIT: f64 = 0.25;
/// Share of time in which some task waited for memory. A machine with enough has none.
const MEMORY_PRESSURE: f64 = 0.1;

/// The full resources; empty: none that can be seen from here.
pub(super) fn of(slices: &[SliceCounters]) -> Vec<FullResource> {
    [cpu, generator, disk, network, memory].into_iter().filter_map(|look| look(slices)).collect()
}

fn cpu(slices: &[SliceCounters]) -> Option<FullResource> {
    let has_quota = slices.iter().any(|c| c.throttled_ns.is_some());
    if let Some(busy) = typical(slices, |c| c.subject_busy).filter(|busy| *busy >= FULL) {
        let words = match has_quota {
            true => format!("CPU quota {} used", percent(busy)),
            false => format!("CPU of its cores {} busy", percent(busy)),
        };
        return Some(FullResource { resource: Resource::Cpu, share: Some(busy), words });
    }
    let share = |c: &SliceCounters| Some(c.throttled_ns? as f64 / c.wall_ns.max(1) as f64);
    let stopped = typical(slices, share).filter(|share| *share >= THROTTLED)?;
    let words = format!("stopped by its CPU quota for {} of the time", percent(stopped));
    Some(FullResource { resource: Resource::Cpu, share: Some(stopped), words })
}

fn generator(slices: &[SliceCounters]) -> Option<FullResource> {
    let busy = typical(slices, |c| Some(c.generator_busy)).filter(|busy| *busy >= GENERATOR_LIMIT)?;
    let words = format!("core of the load generator {} busy", percent(busy));
    Some(FullResource { resource: Resource::Generator, share: Some(busy), words })
}

fn disk(slices: &[SliceCounters]) -> Option<FullResource> {
    let found = |share, words| Some(FullResource { resource: Resource::Disk, share: Some(share), words });
    if let Some(used) = typical(slices, |c| c.storage_limit_used).filter(|used| *used >= FULL) {
        return found(used, format!("limit on reading or writing {} used", percent(used)));
    }
    if !uses_storage(slices) {
        return None;
    }
    if let Some(busy) = typical(slices, |c| c.disk_busy).filter(|busy| *busy >= FULL) {
        return found(busy, format!("disk {} {} busy", busiest(slices), percent(busy)));
    }
    match typical(slices, |c| c.host.pressure_io) {
        Some(waited) if waited >= IO_PRESSURE => found(
            waited,
            format!("some task of the machine waited for storage in {} of the time", percent(waited)),
        ),
        Some(_) => None,
        None => {
            let waited = typical(slices, |c| Some(c.host.iowait)).filter(|share| *share >= IO_WAIT)?;
            found(waited, format!("cores idle because of storage in {} of their time", percent(waited)))
        }
    }
}

/// A busy disk of the machine bounds only arms that use it. An arm whose use is unknown counts as using it.
fn uses_storage(slices: &[SliceCounters]) -> bool {
    let moved = |c: &SliceCounters| Some(c.usage.disk_read_bytes? as f64 + c.usage.disk_write_bytes? as f64);
    typical(slices, moved).is_none_or(|bytes| bytes > 0.0)
}

/// The device that was busiest in most slices.
fn busiest(slices: &[SliceCounters]) -> &str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in slices.iter().filter_map(|c| c.busiest_disk.as_deref()) {
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map_or("", |(name, _)| name)
}

fn network(slices: &[SliceCounters]) -> Option<FullResource> {
    let busy = typical(slices, SliceCounters::link_busy).filter(|busy| *busy >= FULL)?;
    let words = format!("link {} full", percent(busy));
    Some(FullResource { resource: Resource::Network, share: Some(busy), words })
}

fn memory(slices: &[SliceCounters]) -> Option<FullResource> {
    if let Some(hits) = typical(slices, |c| Some(c.memory_limit_hits? as f64)).filter(|hits| *hits > 0.0) {
        let words = format!("memory limit met {hits:.0} times a slice");
        return Some(FullResource { resource: Resource::Memory, share: None, words });
    }
    let waited = typical(slices, |c| c.host.pressure_memory).filter(|share| *share >= MEMORY_PRESSURE)?;
    let words = format!("some task of the machine waited for memory in {} of the time", percent(waited));
    Some(FullResource { resource: Resource::Memory, share: Some(waited), words })
}

/// The median over the slices that have the figure.
fn typical(slices: &[SliceCounters], figure: impl Fn(&SliceCounters) -> Option<f64>) -> Option<f64> {
    median(slices.iter().filter_map(figure).collect())
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A warning for every arm with another bound than its baseline's.
pub(super) fn differ(setup: &Setup, arms: &BTreeMap<String, ArmResult>) -> Vec<Warning> {
    let of = |name| {
        let reference = setup.baseline_of(name);
        let (arm, baseline) = (arms.get(name)?, arms.get(reference)?);
        is_other(&arm.full, &baseline.full).then(|| Warning {
            label: "other-bound".to_owned(),
            sentence: format!(
                "{name} was bound by {}, {} by {}: a cost seen under one bound says nothing of a cost under another",
                in_words(&arm.full),
                reference,
                in_words(&baseline.full)
            ),
        })
    };
    setup.judged().filter_map(of).collect()
}

/// The generator has a message of its own. CPU against nothing is no other bound: equal arms just
/// above and just below the limit look like that, and CPU per request holds on either side.
fn is_other(arm: &[FullResource], baseline: &[FullResource]) -> bool {
    let set = |full: &[FullResource]| -> BTreeSet<Resource> {
        full.iter().map(|bound| bound.resource).filter(|resource| *resource != Resource::Generator).collect()
    };
    let (arm, baseline) = (set(arm), set(baseline));
    let apart: BTreeSet<Resource> = arm.symmetric_difference(&baseline).copied().collect();
    let just_cpu = apart == BTreeSet::from([Resource::Cpu]) && (arm.is_empty() || baseline.is_empty());
    !apart.is_empty() && !just_cpu
}

fn in_words(full: &[FullResource]) -> String {
    let all: Vec<&str> = full.iter().map(|bound| bound.resource.as_str()).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_meter::{HostShare, LinkCounts, SubjectUsage};

    /// Three slices, the middle one of which counts.
    fn slices(each: impl Fn(f64) -> SliceCounters) -> Vec<SliceCounters> {
        [0.5, 1.0, 1.02].map(each).to_vec()
    }

    fn words(slices: &[SliceCounters]) -> Vec<String> {
        of(slices).into_iter().map(|bound| bound.words).collect()
    }

    #[test]
    fn at_rest_nothing_is_full() {
        assert!(of(&[SliceCounters::default()]).is_empty());
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn cpu_is_full_by_its_cores_or_by_its_quota() {
        let cores = slices(|x| SliceCounters { subject_busy: Some(0.97 * x), ..SliceCounters::default() });
        assert_eq!(words(&cores), ["CPU of its cores 97 % busy"]);
        assert_eq!(of(&cores)[0].resource, Resource::Cpu);
        let below = slices(|x| SliceCounters { subject_busy: Some(0.89 * x), ..SliceCounters::default() });
        assert!(of(&below).is_empty());
        let quota = |busy: f64, throttled_ns| {
            slices(|x| SliceCounters {
                subject_busy: Some(busy * x),
                throttled_ns: Some(throttled_ns),
                wall_ns: 1000,
                ..SliceCounters::default()
            })
        };
        assert_eq!(words(&quota(0.95, 10)), ["CPU quota 95 % used"]);
        assert_eq!(words(&quota(0.6, 120)), ["stopped by its CPU quota for 12 % of the time"]);
        assert!(of(&quota(0.6, 90)).is_empty());
    }

    #[test]
    fn a_disk_is_full_for_those_who_use_it() {
        let usage = |bytes| SubjectUsage {
            disk_read_bytes: Some(bytes),
            disk_write_bytes: Some(0),
            ..SubjectUsage::default()
        };
        let busy = |bytes| {
            slices(|x| SliceCounters {
                disk_busy: Some(0.95 * x),
                busiest_disk: Some("vda".into()),
                usage: usage(bytes),
                ..SliceCounters::default()
            })
        };
        assert_eq!(words(&busy(4096)), ["disk vda 95 % busy"]);
        assert!(of(&busy(0)).is_empty(), "somebody else's work");
        let host = |pressure_io, iowait| {
            let host = HostShare { pressure_io, iowait, ..HostShare::default() };
            [SliceCounters { host, usage: usage(1), ..SliceCounters::default() }]
        };
        assert_eq!(
            words(&host(Some(0.6), 0.9)),
            ["some task of the machine waited for storage in 60 % of the time"]
        );
        assert!(of(&host(Some(0.4), 0.9)).is_empty(), "pressure is the better figure");
        assert_eq!(words(&host(None, 0.3)), ["cores idle because of storage in 30 % of their time"]);
        let limit =
            [SliceCounters { storage_limit_used: Some(0.99), usage: usage(0), ..SliceCounters::default() }];
        assert_eq!(words(&limit), ["limit on reading or writing 99 % used"]);
    }

    #[test]
    fn memory_and_generator_are_seen() {
        let hits = slices(|x| SliceCounters {
            memory_limit_hits: Some((40.0 * x) as u64),
            ..SliceCounters::default()
        });
        assert_eq!(words(&hits), ["memory limit met 40 times a slice"]);
        let host = HostShare { pressure_memory: Some(0.2), ..HostShare::default() };
        let waited = [SliceCounters { host, ..SliceCounters::default() }];
        assert_eq!(words(&waited), ["some task of the machine waited for memory in 20 % of the time"]);
        let link = LinkCounts { busy: Some(0.96), ..LinkCounts::default() };
        let wire = [SliceCounters { link: Some(link), ..SliceCounters::default() }];
        assert_eq!(words(&wire), ["link 96 % full"]);
        let busy = [SliceCounters { generator_busy: 1.0, ..SliceCounters::default() }];
        assert_eq!(words(&busy), ["core of the load generator 100 % busy"]);
    }

    #[test]
    fn another_bound_is_one_that_the_baseline_does_not_have() {
        let by = |all: &[Resource]| -> Vec<FullResource> {
            all.iter().map(|&resource| FullResource { resource, share: None, words: String::new() }).collect()
        };
        let (cpu, disk, generator) = (Resource::Cpu, Resource::Disk, Resource::Generator);
        assert!(is_other(&by(&[disk]), &by(&[cpu])));
        assert!(is_other(&by(&[disk]), &by(&[])));
        assert!(is_other(&by(&[cpu, disk]), &by(&[cpu])));
        assert!(is_other(&by(&[cpu, disk]), &by(&[disk])));
        assert!(!is_other(&by(&[cpu]), &by(&[])));
        assert!(!is_other(&by(&[generator]), &by(&[])));
        assert!(!is_other(&by(&[cpu, disk]), &by(&[disk, cpu])));
        assert_eq!(in_words(&by(&[cpu, disk])), "cpu and disk");
    }
}
