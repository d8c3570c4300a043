//! Check of `kind = "peak"` and `[peak]`: a search for the highest rate, and keys without a meaning in one.

use super::super::expand::Cell;
use super::super::file::{BaselineEntry, ExperimentSection, PeakSection, PlanFile, SearchedSection};
use super::super::{ExperimentGoal, LoadClock, PeakPlan, Work};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_units::{PerSecond, Ratio};
use std::ops::Range;

/// Share of the budget that the confirmations of all arms may take.
const CONFIRMING: f64 = 0.6;

/// A key and its place.
type Key = (&'static str, Range<usize>);

impl Context<'_> {
    pub(super) fn kind(&self, file: &PlanFile, work: &Work, cells: &[Cell]) -> Checked<ExperimentGoal> {
        let e = &file.experiment;
        let word =
            self.choice(&e.kind, "kind of experiment", &["compare", "peak"], "compare", |word| word)?;
        if word == "compare" {
            let idle = file.peak.as_ref().map(|_| &e.baseline);
            self.refuse(idle, "`[peak]` has no meaning here", "add kind = \"peak\"")?;
            return Ok(ExperimentGoal::Compare);
        }
        let levels = e.baseline.when(matches!(e.baseline.as_ref(), BaselineEntry::Levels(_)));
        self.refuse(levels, "peaks are compared with that of one arm", "give the name of an arm")?;
        let stranger = e.kind.as_ref().filter(|_| !matches!(work, Work::Requests(_)));
        self.refuse(stranger, "only servers have a peak", "choose a workload of requests")?;
        let strangers = not_for_peaks(file).into_iter().chain(cells.iter().flat_map(not_for_arms_of_peaks));
        if let Some((key, span)) = strangers.flatten().next() {
            return self.wrong(span, format!("`{key}` has no meaning for a peak"), "take the line out");
        }
        let peak = self.peak(file.peak.as_ref().unwrap_or(&PeakSection::default()))?;
        self.time_to_search(e, &peak, cells.len())?;
        Ok(ExperimentGoal::Peak(peak))
    }

    fn peak(&self, peak: &PeakSection) -> Checked<PeakPlan> {
        let quantile = self.quantity(&peak.quantile, "99%").map(Ratio::get)?;
        let outside = peak.quantile.as_ref().filter(|_| !(quantile > 0.0 && quantile < 1.0));
        self.refuse(outside, "a quantile lies between 0 and 100 %", "the default is \"99%\"")?;
        Ok(PeakPlan {
            slo: self.optional(&peak.slo)?,
            quantile,
            precision: self.positive(&peak.precision, "3%")?,
            confirm: self.positive(&peak.confirm, "60s")?,
            max_rate: peak.max_rate.as_ref().map(|rate| self.rate_with_unit(rate)).transpose()?,
        })
    }

    /// Whether the budget has room for a search; if the bound comes from the unloaded arm, that is checked at that
    /// time.
    fn time_to_search(&self, e: &ExperimentSection, peak: &PeakPlan, arms: usize) -> Checked<()> {
        let budget = self.budget(e)?;
        let span = e.budget.as_ref().map_or_else(|| e.baseline.span(), Spanned::span);
        let confirming = peak.confirm.times(arms as f64);
        if confirming > budget.times(CONFIRMING) {
            let what =
                format!("the last trials of all arms alone take {confirming} of the budget of {budget}");
            return self.wrong(span, what, "give a larger budget, or a shorter `confirm`");
        }
        let Some(slo) = peak.slo else { return Ok(()) };
        let least = peak.least_time(slo).times(arms as f64);
        if least > budget {
            let what = format!(
                "under a bound of {slo} the search takes at least {least}, and the budget is {budget}"
            );
            let help = "give a larger budget, or a shorter `slo` in [peak]: trials are at least five times as long, the \
                        last one twenty times";
            return self.wrong(span, what, help);
        }
        Ok(())
    }

    /// The kind of gaps; the rates are the search's own.
    pub(super) fn peak_clock(&self, c: &SearchedSection) -> Checked<LoadClock> {
        let word =
            self.choice(&c.clock, "clock for a peak", &["poisson", "constant"], "poisson", |word| word)?;
        let any: PerSecond = self.quantity(&None, "1/s")?;
        Ok(if word == "constant" { LoadClock::Constant(any) } else { LoadClock::Poisson(any) })
    }
}

/// Keys that steer verdicts between arms, or need rounds.
fn not_for_peaks(file: &PlanFile) -> Vec<Option<Key>> {
    let e = &file.experiment;
    vec![
        e.design.as_ref().map(|key| ("design", key.span())),
        e.restart_every.as_ref().map(|key| ("restart_every", key.span())),
        e.primary.as_ref().map(|key| ("primary", key.span())),
        e.max_rounds.as_ref().map(|key| ("max_rounds", key.span())),
        e.precision.as_ref().map(|key| ("precision", key.span())),
        e.slice_requests.as_ref().map(|key| ("slice_requests", key.span())),
        e.margin.as_ref().map(|key| ("margin", key.span())),
        e.study.as_ref().map(|key| ("study", key.span())),
        file.violations.as_ref().map(|section| ("violations", section.span())),
    ]
}

/// The same for arms: a trial is no first use.
fn not_for_arms_of_peaks(cell: &Cell) -> Vec<Option<Key>> {
    let arm = &cell.section.has.asked;
    let fresh = arm.fresh.as_ref().filter(|fresh| fresh.as_ref() != "connection");
    vec![
        arm.first_use_of.as_ref().map(|key| ("first_use_of", key.span())),
        arm.slice_requests.as_ref().map(|key| ("slice_requests", key.span())),
        fresh.map(|key| ("fresh", key.span())),
    ]
}
