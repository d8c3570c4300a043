//! Questions to one results directory, asked by every kind of report.

use crate::{ReportInput, figures, words};
use bakeoff_meter::catalogue::{self, SUBJECT_CPU};
use bakeoff_plan::RoundDesign;
use bakeoff_results::{ArmResult, Comparison, LoadSetup, RoundKind, SliceRecord};
use bakeoff_stats::{Verdict, per_second};
use std::collections::BTreeMap;

/// A bundle with questions to it.
pub(crate) struct Reading<'b> {
    pub(crate) bundle: &'b ReportInput,
}

/// Where the wall time of the run went, ns.
#[derive(Debug, Default)]
pub(crate) struct TimeSpent {
    /// The slots of a duet; then per arm, in plan order.
    pub(crate) measuring: Vec<(String, u64)>,
    /// Between slices: starts, warm-up, draining, waiting.
    pub(crate) between: u64,
}

impl<'b> Reading<'b> {
    pub(crate) const fn of(bundle: &'b ReportInput) -> Self {
        Self { bundle }
    }

    /// `What does tls cost?`
    pub(crate) fn title(&self) -> String {
        let arms: Vec<&str> = self.compared().collect();
        match arms.as_slice() {
            [] => format!("{} by itself", self.baselines()),
            [one] => format!("What does {one} cost?"),
            [a, b] => format!("What do {a} and {b} cost?"),
            [a, b, c] => format!("What do {a}, {b} and {c} cost?"),
            many => format!("What do these {} arms cost?", many.len()),
        }
    }

    /// All arms in plan order, the baseline's two processes included.
    pub(crate) fn arms(&self) -> impl Iterator<Item = &'b str> {
        self.bundle.results.order.iter().map(String::as_str)
    }

    /// The arms that are compared with a baseline, without its second process.
    pub(crate) fn compared(&self) -> impl Iterator<Item = &'b str> {
        self.bundle.setup.judged()
    }

    /// Compared arms, then the second processes of baselines: the order of verdicts.
    pub(crate) fn judged(&self) -> impl Iterator<Item = &'b str> {
        self.compared().chain(self.bundle.setup.seconds())
    }

    /// Whether it is the second process of a baseline.
    pub(crate) fn is_twin(&self, arm: &str) -> bool {
        self.bundle.setup.is_second(arm)
    }

    /// Whether others are compared with it.
    pub(crate) fn is_baseline(&self, arm: &str) -> bool {
        self.bundle.setup.is_baseline(arm)
    }

    /// What an arm is compared with.
    pub(crate) fn baseline_of(&self, arm: &str) -> &'b str {
        self.bundle.setup.baseline_of(arm)
    }

    /// Style class of an arm: its colour everywhere on the page.
    pub(crate) fn key(&self, arm: &str) -> String {
        match self.compared().position(|other| other == arm) {
            Some(place) => words::key(place),
            None if self.is_twin(arm) => "arm-twin".to_owned(),
            None => "arm-base".to_owned(),
        }
    }

    /// A row an arm of what is told by itself, a kind of operation or a population: its name stands in the first, and
    /// what must not be used is marked, as everywhere in the terminal. Arms without cells have no row.
    pub(crate) fn rows_of(
        &self,
        name: &str,
        cells: impl Fn(&str) -> Option<Vec<String>>,
    ) -> Vec<Vec<String>> {
        let row = |arm: &str| {
            let mut cells = cells(arm)?;
            if self.invalid(arm).is_some() {
                cells.iter_mut().filter(|cell| !cell.is_empty()).for_each(|cell| *cell = format!("({cell})"));
            }
            Some([String::new(), arm.to_owned()].into_iter().chain(cells).collect())
        };
        let mut rows: Vec<Vec<String>> = self.arms().filter_map(row).collect();
        rows.first_mut().into_iter().for_each(|row| name.clone_into(&mut row[0]));
        rows
    }

    /// The baseline, or all of them.
    pub(crate) fn baselines(&self) -> String {
        self.bundle.setup.baselines().collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn arm(&self, arm: &str) -> Option<&'b ArmResult> {
        self.bundle.results.arms.get(arm)
    }

    pub(crate) fn comparison(&self, arm: &str, meter: &str) -> Option<&'b Comparison> {
        self.bundle.results.comparisons.iter().find(|c| c.arm == arm && c.meter == meter)
    }

    /// The comparison that the arm's verdict stands on.
    pub(crate) fn primary(&self, arm: &str) -> Option<&'b Comparison> {
        self.bundle.results.comparisons.iter().find(|c| c.arm == arm && c.primary)
    }

    /// The primary figure once more: at the other loads of a curve, at the decision's in turn, at full speed.
    pub(crate) fn at_other_loads(&self, arm: &str) -> impl Iterator<Item = &'b Comparison> {
        let meter = self.primary_meter();
        let rows = self.bundle.results.comparisons.iter();
        rows.filter(move |c| c.arm == arm && c.meter == meter && !c.primary)
    }

    /// The primary figure at a load of a curve, by its place.
    pub(crate) fn at_load(&self, arm: &str, load: u32) -> Option<&'b Comparison> {
        let design = self.bundle.setup.design.design;
        let own = self.primary(arm).filter(|c| c.load == Some(load) && c.design == design);
        own.or_else(|| self.at_other_loads(arm).find(|c| c.load == Some(load) && c.design == design))
    }

    /// The primary figure at full speed, where the verdict stands on another load.
    pub(crate) fn at_full_speed(&self, arm: &str) -> Option<&'b Comparison> {
        let is_other = !self.bundle.setup.design.loads.is_empty();
        self.at_other_loads(arm).find(|c| is_other && c.load.is_none())
    }

    /// The slices that verdicts stand on.
    pub(crate) fn decisive(&self) -> impl Iterator<Item = &'b SliceRecord> {
        let design = &self.bundle.setup.design;
        let at = design.decision().map(|_| design.decide_at);
        let is_of = move |slice: &&SliceRecord| slice.load == at && design.kind_of(slice) == RoundKind::Main;
        self.bundle.slices.iter().filter(is_of)
    }

    /// The slices whose times hold: of a duet those of the rounds in turn, at its load where there are any.
    pub(crate) fn timed(&self) -> impl Iterator<Item = &'b SliceRecord> {
        let design = &self.bundle.setup.design;
        let has = |kind| self.bundle.slices.iter().any(|slice| design.kind_of(slice) == kind);
        let kind = match design.is_duet() {
            false => RoundKind::Main,
            true if has(RoundKind::InTurn) || !has(RoundKind::FullSpeed) => RoundKind::InTurn,
            true => RoundKind::FullSpeed,
        };
        let at = design.decision().map(|_| design.decide_at);
        let is_of = move |slice: &&SliceRecord| {
            design.kind_of(slice) == kind && (kind != RoundKind::Main || slice.load == at)
        };
        self.bundle.slices.iter().filter(is_of)
    }

    /// The smallest cost that matters, as it was set.
    pub(crate) fn margin(&self) -> String {
        let results = &self.bundle.results;
        match results.margin_amount {
            Some(amount) => figures::value(self.unit(self.primary_meter()), amount),
            None => figures::share(results.margin),
        }
    }

    /// Kind of the workload.
    pub(crate) fn kind(&self) -> &'b str {
        &self.bundle.setup.workload.kind
    }

    /// What is counted.
    pub(crate) fn requests(&self) -> &'static str {
        if catalogue::makes_operations(self.kind()) { "operations" } else { "requests" }
    }

    /// A meter's name in a sentence.
    pub(crate) fn noun(&self, meter: &'b str) -> &'b str {
        words::noun(self.kind(), meter)
    }

    /// A meter's name where room is short.
    pub(crate) fn short(&self, meter: &'b str) -> &'b str {
        words::short(self.kind(), meter)
    }

    /// Name of the primary figure.
    pub(crate) fn primary_meter(&self) -> &'b str {
        let judged = self.bundle.results.comparisons.iter().find(|c| c.primary);
        judged.map_or(self.bundle.setup.primary.as_str(), |c| c.meter.as_str())
    }

    /// Unit label of a meter, that of its comparisons where there are any.
    pub(crate) fn unit(&self, meter: &str) -> &'b str {
        let compared = self.bundle.results.comparisons.iter().find(|c| c.meter == meter);
        let known = catalogue::find(meter).map_or("", |meter| meter.unit.as_str());
        compared.map_or(known, |c| c.unit.as_str())
    }

    /// One arm's figure of a meter; of the primary one that of the rounds that its verdict stands on.
    pub(crate) fn figure(&self, arm: &str, meter: &str) -> Option<f64> {
        let own = self.arm(arm)?.meters.get(meter).copied()?;
        let decided = self.primary(arm).filter(|c| c.meter == meter && c.rounds > 0);
        Some(decided.map_or(own, |c| c.value)).filter(|x| x.is_finite())
    }

    /// The same as it is shown.
    pub(crate) fn shown(&self, arm: &str, meter: &str) -> String {
        let figure = self.figure(arm, meter);
        figure.map_or(figures::NONE.to_owned(), |x| figures::value(self.unit(meter), x))
    }

    /// Why an arm must not be used.
    pub(crate) fn invalid(&self, arm: &str) -> Option<&'b str> {
        self.arm(arm)?.invalid.as_deref()
    }

    /// Arms that must not be used and why; then figures of other arms that must not, and why.
    pub(crate) fn invalid_reasons(&self) -> Vec<(String, String)> {
        let of_arm = |arm: &str| Some((arm.to_owned(), self.invalid(arm)?.to_owned()));
        let mut found: Vec<(String, String)> = self.arms().filter_map(of_arm).collect();
        let all = &self.bundle.results.comparisons;
        for c in all.iter().filter(|c| c.verdict == Verdict::Invalid && self.invalid(&c.arm).is_none()) {
            let reason = c.sentence.trim_start_matches("invalid: ");
            let label = format!("{}: {}", c.arm, self.short(&c.meter));
            match found
                .iter_mut()
                .find(|(who, why)| why == reason && who.starts_with(&format!("{}: ", c.arm)))
            {
                Some((who, _)) => who.push_str(&format!(", {}", self.short(&c.meter))),
                None => found.push((label, reason.to_owned())),
            }
        }
        found
    }

    /// Whether one figure of an arm must not be used.
    pub(crate) fn is_invalid(&self, arm: &str, meter: &str) -> bool {
        self.invalid(arm).is_some()
            || self.comparison(arm, meter).is_some_and(|c| c.verdict == Verdict::Invalid)
    }

    /// Wall time of the slices per arm, and the rest of the run.
    pub(crate) fn time_spent(&self) -> TimeSpent {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        let mut together: BTreeMap<(u32, Option<u32>, u32), u64> = BTreeMap::new();
        for slice in &self.bundle.slices {
            let wall = slice.counters.wall_ns;
            match slice.design {
                RoundDesign::Pairs => *sums.entry(&slice.arm).or_default() += wall,
                RoundDesign::Duet => {
                    let longest = together.entry((slice.round, slice.load, slice.block)).or_default();
                    *longest = (*longest).max(wall);
                }
            }
        }
        let in_slots: u64 = together.values().sum();
        let measured = sums.values().sum::<u64>() + in_slots;
        let of = |arm: &str| Some((arm.to_owned(), *sums.get(arm)?));
        let duet = (in_slots > 0).then(|| ("in slots".to_owned(), in_slots));
        TimeSpent {
            measuring: duet.into_iter().chain(self.arms().filter_map(of)).collect(),
            between: self.bundle.results.duration_ns.saturating_sub(measured),
        }
    }

    /// Share of the subjects' cores that the dearest arm keeps busy at a rate, by what its requests cost.
    fn busiest_at(&self, rate_per_s: f64) -> Option<f64> {
        let cores = self.bundle.setup.environment.subject_cores.len().max(1) as f64;
        let per_request = self.arms().filter_map(|arm| self.figure(arm, SUBJECT_CPU));
        per_request.reduce(f64::max).map(|ns| ns * rate_per_s / 1e9 / cores)
    }

    /// The clock that verdicts stand on: that of the decision's load, or the plan's.
    pub(crate) fn decision_load(&self) -> String {
        self.bundle.setup.design.decision().map_or_else(|| self.bundle.results.load.clone(), open_loop)
    }

    /// The load of the decision with how busy it kept the cores, and then the clock of the other rounds.
    pub(crate) fn load(&self) -> String {
        let design = &self.bundle.setup.design;
        let mut said = self.bundle.results.load.clone();
        if let Some(load) = design.decision() {
            let busy = self.busiest_at(load.rate_per_s);
            let busy =
                busy.map(|busy| format!(", subjects up to {:.0} % busy", busy * 100.0)).unwrap_or_default();
            let full = if design.after.full_speed > 0 { "; full speed: " } else { "; " };
            return format!("{}{busy}{full}{said}", open_loop(load));
        }
        let busy = |meter: &str| self.arms().filter_map(|arm| self.figure(arm, meter)).reduce(f64::max);
        for (meter, who) in [("subject_busy", "subjects"), ("generator_busy", "generator")] {
            if let Some(share) = busy(meter).filter(|share| *share > 0.0) {
                said += &format!("; {who} up to {:.0} % busy", share * 100.0);
            }
        }
        said
    }
}

fn open_loop(load: &LoadSetup) -> String {
    format!("open loop, poisson {} each", per_second(load.rate_per_s))
}
