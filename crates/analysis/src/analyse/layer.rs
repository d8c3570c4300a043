//! State of the layer, on or off, and the fate of the violations planted for it.

use super::series::{Series, Table};
use bakeoff_meter::ViolationCounts;
use bakeoff_results::{ProofRecord, Setup, SliceRecord, ViolationResult};
use std::collections::BTreeMap;

/// The proof that stands for an arm: the first start at which the layer was off, else the latest.
pub(super) fn proof(setup: &Setup, slices: &[SliceRecord], arm: &str) -> Option<ProofRecord> {
    let at_start = setup.subjects.get(arm)?.proof.as_ref();
    let later = slices.iter().filter(|slice| slice.arm == arm).filter_map(|slice| slice.proof.as_ref());
    let all: Vec<&ProofRecord> = at_start.into_iter().chain(later).collect();
    let off = all.iter().find(|proof| !proof.active);
    off.or(all.last()).map(|proof| (*proof).clone())
}

/// Arms whose layer was off at some start, with their proof's output.
pub(super) fn off(setup: &Setup, slices: &[SliceRecord]) -> BTreeMap<String, String> {
    let said =
        |arm: &String| proof(setup, slices, arm).filter(|proof| !proof.active).map(|proof| proof.words);
    setup.arms.iter().filter_map(|arm| Some((arm.clone(), said(arm)?))).collect()
}

/// Sums over all slices of the arm, of any design.
pub(super) fn violations(setup: &Setup, table: &Table, arm: &str) -> Option<ViolationResult> {
    let plan = setup.violations.as_ref()?;
    let mut sum = ViolationCounts::default();
    let of =
        |series: &Series| series.column(arm).counters.iter().filter_map(|c| c.violations).collect::<Vec<_>>();
    table.all().flat_map(of).for_each(|counts| sum.add(&counts));
    let enforced = plan.enforced_by.iter().any(|name| name == arm);
    let ViolationCounts { planted, detected, missed, false_alarms } = sum;
    let done = if plan.noted { "noted" } else { "refused" };
    let sentence = match (enforced, missed) {
        (true, 0) => format!("all {planted} violations were {done}"),
        (true, _) => format!("{missed} of {planted} violations were let through"),
        (false, _) => format!("no layer here has to notice: {detected} of {planted} violations were {done}"),
    };
    let alarms = match false_alarms {
        0 => format!("no right request was {done}"),
        1 => format!("1 right request was {done}"),
        n => format!("{n} right requests were {done}"),
    };
    Some(ViolationResult {
        planted,
        detected,
        missed,
        false_alarms,
        enforced,
        sentence: format!("{sentence}; {alarms}"),
    })
}
