//! Verification of what each generator counted: every part once, every lane once, and sums that are those of the slice.
//!
//! Cold. A run that went on with some of its generators would have another sum, or a part too few.

use super::Verified;
use bakeoff_meter::{Histogram, SliceCounters};
use bakeoff_plan::RoundDesign;
use bakeoff_results::directory::{EXPERIMENT, SLICES, StoredExperiment};
use bakeoff_results::{DesignSetup, PartRecord, PlaceSetup, SliceRecord};

/// Checks the parts of all slices.
pub(super) fn check(stored: &StoredExperiment, verified: &mut Verified) {
    let places = &stored.setup.places;
    let mut next = 1;
    for (number, place) in (1..).zip(places) {
        if place.first_lane != next || place.lanes == 0 {
            let what =
                format!("the lanes of {} do not begin at {next}", PlaceSetup::in_words(number, &place.host));
            verified.find(EXPERIMENT.setup, what);
        }
        next = place.first_lane.saturating_add(place.lanes);
    }
    for (index, slice) in stored.slices.iter().enumerate() {
        let line = format!("{SLICES} line {} (round {}, arm {})", index + 1, slice.round, slice.arm);
        let is_open = slice.load.is_some() || stored.setup.workload.robots.is_none();
        let lanes = is_open.then(|| (next - 1, stretches(&stored.setup.design, slice)));
        for what in faults(places, slice, lanes) {
            verified.find(line.clone(), what);
        }
    }
}

/// Number of stretches in which a slice was taken, the arms in turn.
fn stretches(design: &DesignSetup, slice: &SliceRecord) -> u32 {
    let load = slice.load.and_then(|load| design.loads.get(load as usize));
    match slice.design {
        RoundDesign::Duet => 1,
        RoundDesign::Pairs => load.map_or(design.parts, |load| load.parts).max(1),
    }
}

/// Faults of the parts of a slice. `lanes`: their number in an open loop, where each lane has every so-many-th
/// request of each stretch in which the slice was taken, and the number of stretches.
fn faults(places: &[PlaceSetup], slice: &SliceRecord, lanes: Option<(u32, u32)>) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, place) in (1..).zip(places) {
        let name = PlaceSetup::in_words(number, &place.host);
        let own: Vec<&PartRecord> =
            slice.parts.iter().filter(|part| part.generator as usize == number).collect();
        match own.as_slice() {
            [] => faults.push(format!("the part of {name} is missing")),
            [part] => faults.extend(
                fault_of(place, part, lanes, slice.counters.requests).map(|why| format!("{name} {why}")),
            ),
            several => faults.push(format!("the part of {name} is there {} times", several.len())),
        }
    }
    let strangers =
        slice.parts.iter().filter(|part| !(1..=places.len()).contains(&(part.generator as usize)));
    faults.extend(
        strangers.map(|part| format!("there is no generator {} in {}", part.generator, EXPERIMENT.setup)),
    );
    if faults.is_empty() && !places.is_empty() {
        faults.extend(sums(slice));
    }
    faults
}

fn fault_of(
    place: &PlaceSetup,
    part: &PartRecord,
    lanes: Option<(u32, u32)>,
    requests: u64,
) -> Option<String> {
    let PartRecord { host, first_lane, lanes: count, .. } = part;
    if (host, first_lane, count) != (&place.host, &place.first_lane, &place.lanes) {
        return Some(format!(
            "has {count} lanes from {first_lane} on, on {host}, and another share in {}",
            EXPERIMENT.setup
        ));
    }
    let (all, stretches) = lanes.map(|(all, stretches)| (u64::from(all), u64::from(stretches)))?;
    let own = u64::from(*first_lane) - 1..u64::from(*first_lane) - 1 + u64::from(*count);
    let of_stretch = |at: u64| {
        let long = requests * (at + 1) / stretches - requests * at / stretches;
        own.clone().map(|lane| long.saturating_sub(lane).div_ceil(all)).sum::<u64>()
    };
    let dealt: u64 = (0..stretches).map(of_stretch).sum();
    (part.requests != dealt)
        .then(|| format!("was dealt {dealt} of the {requests} requests, and sent {}", part.requests))
}

fn sums(slice: &SliceRecord) -> Vec<String> {
    let all = SliceCounters::sum(&slice.parts.iter().map(PartRecord::counters).collect::<Vec<_>>());
    let lateness = |text: &str| Histogram::decode(text).map_or(0, |histogram| histogram.count());
    let own = &slice.counters;
    let counted = [
        ("requests", own.requests, all.requests),
        ("replies", own.replies, all.replies),
        ("failures", own.error_count(), all.error_count()),
        ("ns of the generators' CPU", own.generator_cpu_ns, all.generator_cpu_ns),
        (
            "requests with a lateness",
            lateness(&slice.times.lateness),
            slice.parts.iter().map(|part| lateness(&part.lateness)).sum(),
        ),
    ];
    let differ = counted.into_iter().filter(|(_, slice, parts)| slice != parts);
    differ
        .map(|(what, slice, parts)| format!("the slice has {slice} {what}, its parts together {parts}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_results::LoadSetup;
    use bakeoff_units::Nanos;

    fn place(host: &str, first_lane: u32, lanes: u32) -> PlaceSetup {
        PlaceSetup { host: host.to_owned(), first_lane, lanes, ..PlaceSetup::default() }
    }

    /// 10 requests over 3 lanes: 7 of two, 3 of one.
    fn slice() -> SliceRecord {
        let mut late = Histogram::new();
        (0..10).for_each(|_| late.record(Nanos::new(5)));
        let part = |generator, host: &str, (first_lane, lanes), requests| {
            let mut own = Histogram::new();
            (0..requests).for_each(|_| own.record(Nanos::new(5)));
            let part =
                PartRecord { generator, host: host.to_owned(), first_lane, lanes, ..PartRecord::default() };
            part.of(SliceCounters { requests, replies: requests, ..SliceCounters::default() }, &own)
        };
        let times = bakeoff_meter::Times { lateness: late, ..bakeoff_meter::Times::default() };
        let counters = SliceCounters { requests: 10, replies: 10, ..SliceCounters::default() };
        let parts = vec![part(1, "x", (1, 2), 7), part(2, "y", (3, 1), 3)];
        SliceRecord {
            arm: "a".to_owned(),
            ended_ns: 1,
            counters,
            times: times.encode(),
            parts,
            ..SliceRecord::default()
        }
    }

    #[test]
    fn a_part_that_is_gone_twice_short_or_of_other_lanes_is_found() {
        let places = [place("x", 1, 2), place("y", 3, 1)];
        let found = |change: &dyn Fn(&mut SliceRecord)| {
            let mut slice = slice();
            change(&mut slice);
            faults(&places, &slice, Some((3, 1))).join("; ")
        };
        assert_eq!(found(&|_| ()), "");
        assert_eq!(found(&|slice| drop(slice.parts.pop())), "the part of generator 2 (y) is missing");
        assert_eq!(
            found(&|slice| slice.parts.push(slice.parts[1].clone())),
            "the part of generator 2 (y) is there 2 times"
        );
        let short = |slice: &mut SliceRecord| slice.parts[1].requests = 2;
        assert_eq!(found(&short), "generator 2 (y) was dealt 3 of the 10 requests, and sent 2");
        let both_short = |slice: &mut SliceRecord| {
            (slice.parts[1].requests, slice.counters.requests) = (2, 9);
        };
        assert!(
            found(&both_short).contains("was dealt 6 of the 9 requests, and sent 7"),
            "the sum hides nothing"
        );
        assert!(found(&|slice| slice.parts[0].lanes = 1).contains("another share"));
        assert!(found(&|slice| slice.parts[0].replies = 6).contains("10 replies, its parts together 9"));
        let lost = |slice: &mut SliceRecord| slice.parts[0].lateness = slice.parts[1].lateness.clone();
        assert!(found(&lost).contains("10 requests with a lateness, its parts together 6"));
        assert!(found(&|slice| slice.parts[0].generator = 3).contains("there is no generator 3"));
        let mut in_two = slice(); // 5 and 5 requests: 4 and 1 each
        (in_two.parts[0].requests, in_two.parts[1].requests) = (8, 2);
        let found = faults(&places, &in_two, Some((3, 2))).join("; ");
        assert!(!found.contains("dealt"), "{found}");
        let load = LoadSetup { parts: 8, ..LoadSetup::default() };
        let design = DesignSetup { parts: 3, loads: vec![load], ..DesignSetup::default() };
        let of = |design_of, load| SliceRecord { design: design_of, load, ..slice() };
        assert_eq!(stretches(&design, &of(RoundDesign::Duet, Some(0))), 1, "a duet's slice is whole");
        assert_eq!(stretches(&design, &of(RoundDesign::Pairs, Some(0))), 8);
        assert_eq!(stretches(&design, &of(RoundDesign::Pairs, None)), 3);
        assert_eq!(faults(&[], &SliceRecord { parts: Vec::new(), ..slice() }, None), [""; 0]);
    }
}
