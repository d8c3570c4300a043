//! How large slices are, and how many rounds of them the budget bears. Pure.

use super::bench::{Parts, Sizing};
use super::pilot::{Pilot, Together};
use crate::looks::{RoundTime, USABLE};
use crate::plan::Plan;
use crate::results::{DuetSetup, RestartSetup, Warning};
use bakeoff_stats::{LOOKS, LookPlan};
use bakeoff_units::Nanos;

/// The fastest arm needs at least this long for a slice.
pub(super) const SLICE: Nanos = Nanos::from_millis(200);
/// Room for a machine that is faster later than in the pilot.
pub(super) const RESERVE: f64 = 1.25;
/// Fewest requests of a slice, unless the budget cannot bear it.
const REQUESTS: usize = 2000;
/// Most requests of a slice.
const MOST: usize = 500_000;
/// Fewest requests of a slice whatever the budget.
const LEAST: usize = 50;
/// Rounds that should fit the budget: the second look.
pub(super) const ROUNDS: u32 = LOOKS[1];
/// Parts of a slice take about this long: what disturbs a shared machine mostly lasts longer, and then hits all arms.
const PART: Nanos = Nanos::from_millis(50);
/// Most parts of a slice.
const PARTS: u32 = 8;
/// Wall time of a duet's slice at most.
const DUET_SLICE: Nanos = Nanos::from_millis(800);
/// The same at least.
const SHORT_DUET_SLICE: Nanos = Nanos::from_millis(300);
/// Fewest requests of it.
const DUET_REQUESTS: usize = 200;
/// Rounds of pairs after a duet.
const PAIRED: u32 = 10;
/// The same where a quantile is asked for: fewer have no interval.
const PAIRED_FOR_QUANTILES: u32 = 20;
/// Share of the budget that may be kept for them.
const PAIRED_SHARE: f64 = 0.25;

/// What rounds are planned from.
pub(crate) struct Given<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) pilot: &'a Pilot,
    pub(crate) restarts: &'a RestartSetup,
    /// Time of one start of all arms.
    pub(crate) restart: Nanos,
    pub(crate) sizing: Sizing,
    /// Sizes that the plan gives single arms; may be shorter.
    pub(crate) own: &'a [Option<usize>],
    pub(crate) in_parts: Parts,
    /// Of the budget.
    pub(crate) left: Nanos,
    /// A quantile is asked for.
    pub(crate) quantiles: bool,
}

/// What the rounds will be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rounds {
    /// Requests of a slice.
    pub(crate) requests: usize,
    /// Why so many.
    pub(crate) reason: String,
    /// In so many parts a paired slice is taken.
    pub(crate) parts: u32,
    /// As far as the pilot tells.
    pub(crate) looks: LookPlan,
    /// Of a duet.
    pub(crate) duet: Option<DuetSetup>,
    pub(crate) warnings: Vec<Warning>,
}

/// The arms take turns.
pub(crate) fn pairs(given: &Given<'_>) -> Rounds {
    let usable = given.left.get() as f64 * USABLE;
    let mut warnings = Vec::new();
    let sized = given.slice(usable, ROUNDS, given.restarts);
    if let Some(wanted) = sized.wanted {
        warnings.push(small_slices(sized.requests, wanted));
    }
    let time = given.time_of_pairs(sized.requests);
    let fit = time.fitting(usable, 0, given.plan.max_rounds, given.restarts);
    let looks = planned(fit, given.plan.max_rounds);
    warnings.extend(few_rounds(fit, given.plan.max_rounds, looks.last(), time));
    let parts = given.parts(sized.requests);
    Rounds {
        requests: sized.requests,
        reason: given.with_own(sized.reason),
        parts,
        looks,
        duet: None,
        warnings,
    }
}

/// All arms at once at `rate`, then in turns.
pub(crate) fn duet(given: &Given<'_>, rate: f64, together: &Together) -> Rounds {
    let usable = given.left.get() as f64 * USABLE;
    let wanted =
        given.plan.paired_rounds.unwrap_or(if given.quantiles { PAIRED_FOR_QUANTILES } else { PAIRED });
    let later = given.restarts_later();
    let paired = given.slice(usable * PAIRED_SHARE, wanted.max(1), &later);
    let kept = given.time_of_pairs(paired.requests).of_first(wanted, &later);
    let round = |slice: f64| RoundTime {
        round: slice + together.overhead.get() as f64,
        restart: given.restart.get() as f64,
    };
    let slice_of = |wall: Nanos| match given.sizing {
        Sizing::Fixed(requests) => requests,
        Sizing::Free | Sizing::Timed(_) => ((rate * wall.as_secs_f64()) as usize).clamp(DUET_REQUESTS, MOST),
    };
    let time_of = |requests: usize| round(requests as f64 / rate * 1e9);
    // The cost comes first: what fourteen short rounds need is not kept from them.
    let spare = (usable - time_of(slice_of(SHORT_DUET_SLICE)).of_first(ROUNDS, given.restarts)).max(0.0);
    let kept = if wanted == 0 { 0.0 } else { kept.min(usable * PAIRED_SHARE).min(spare) };
    // As long as fourteen of them fit: noise that belongs to a slice's ends and to starts does not shrink with its length.
    let beside = time_of(0).of_first(ROUNDS, given.restarts);
    let affordable = ((usable - kept - beside) / f64::from(ROUNDS)).max(0.0) as u64;
    let requests = slice_of(Nanos::new(affordable).clamp(SHORT_DUET_SLICE, DUET_SLICE));
    let time = time_of(requests);
    let fit = time.fitting(usable - kept, 0, given.plan.max_rounds, given.restarts);
    let looks = planned(fit, given.plan.max_rounds);
    let wall = Nanos::new((requests as f64 / rate * 1e9) as u64);
    let duet = DuetSetup {
        rate_per_s: rate,
        paired_rounds: wanted,
        paired_requests: paired.requests as u64,
        paired_ns: kept as u64,
    };
    Rounds {
        requests,
        reason: format!("all arms at once take about {wall} for it"),
        parts: given.parts(paired.requests),
        warnings: few_rounds(fit, given.plan.max_rounds, looks.last(), time).into_iter().collect(),
        looks,
        duet: Some(duet),
    }
}

/// A slice's size; `wanted`: what the budget does not bear.
struct Sized {
    requests: usize,
    reason: String,
    wanted: Option<usize>,
}

impl Given<'_> {
    /// Time of a request of each arm in ns, with the arm's own size.
    fn per_request(&self) -> impl Iterator<Item = (f64, Option<usize>)> {
        let own = self.own.iter().copied().chain(std::iter::repeat(None));
        let of = self.pilot.of.max(1) as f64;
        self.pilot.tried.iter().map(move |arm| arm.wall.get().max(1) as f64 / of).zip(own)
    }

    /// Long enough for the fastest arm, and so that this many rounds fit.
    fn slice(&self, usable: f64, rounds: u32, restarts: &RestartSetup) -> Sized {
        // Where no arm is left to be sized.
        let all_own = self.own.iter().copied().collect::<Option<Vec<usize>>>();
        let fixed = match (all_own.filter(|own| own.len() == self.pilot.tried.len()), self.sizing) {
            (Some(own), _) => own.into_iter().max(),
            (None, Sizing::Fixed(requests)) => Some(requests),
            (None, Sizing::Timed(length)) => {
                let reason = format!("each arm is asked for {length}, what is not counted included");
                return Sized { requests: 0, reason, wanted: None };
            }
            (None, Sizing::Free) => None,
        };
        if let Some(requests) = fixed {
            return Sized { requests, reason: "as the plan says".to_owned(), wanted: None };
        }
        let free = || self.per_request().filter(|(_, own)| own.is_none()).map(|(time, _)| time);
        let fastest = free().fold(f64::INFINITY, f64::min);
        let wanted = ((SLICE.get() as f64 * RESERVE / fastest).ceil() as usize).clamp(REQUESTS, MOST);
        let nothing = self.time_of_pairs(0).of_first(rounds, restarts);
        let affordable = ((usable - nothing) / f64::from(rounds) / free().sum::<f64>()).max(0.0) as usize;
        let requests = wanted.min(affordable.max(LEAST));
        let wall = Nanos::new((fastest * requests as f64) as u64);
        Sized {
            requests,
            reason: format!("the fastest arm takes {wall} for it"),
            wanted: (requests < wanted).then_some(wanted),
        }
    }

    fn time_of_pairs(&self, requests: usize) -> RoundTime {
        let slices: f64 = match self.sizing {
            Sizing::Timed(length) => length.get() as f64 * self.pilot.tried.len() as f64,
            Sizing::Free | Sizing::Fixed(_) => {
                self.per_request().map(|(time, own)| time * own.unwrap_or(requests) as f64).sum()
            }
        };
        // What lies around parts of a kind each is in their own times.
        let parts = match self.in_parts {
            Parts::Each(_) => 1.0,
            Parts::Whole | Parts::Any => f64::from(self.parts(requests)),
        };
        let beside = self.pilot.overhead.get() as f64 * self.pilot.tried.len() as f64 * parts;
        RoundTime { round: slices + beside, restart: self.restart.get() as f64 }
    }

    /// In how many parts a slice of so many requests is taken.
    fn parts(&self, requests: usize) -> u32 {
        let arms = self.pilot.tried.len().max(1) as f64;
        let mean =
            self.per_request().map(|(time, own)| time * own.unwrap_or(requests) as f64).sum::<f64>() / arms;
        let parts = (mean / PART.get() as f64).round() as u32;
        match self.in_parts {
            Parts::Whole => 1,
            Parts::Any => parts.clamp(1, PARTS),
            Parts::Each(kinds) => kinds,
        }
    }

    /// After the first rounds.
    fn restarts_later(&self) -> RestartSetup {
        RestartSetup { each_until: 0, ..self.restarts.clone() }
    }

    fn with_own(&self, reason: String) -> String {
        match self.own.iter().flatten().count() {
            0 => reason,
            1 => format!("{reason}; 1 arm has as many as the plan says for it"),
            own => format!("{reason}; {own} arms have as many as the plan says for them"),
        }
    }
}

/// Three rounds are tried whatever the pilot says: it may be wrong, and fewer have no interval.
fn planned(fit: u32, max_rounds: u32) -> LookPlan {
    LookPlan::new(fit.clamp(3, max_rounds))
}

fn small_slices(requests: usize, wanted: usize) -> Warning {
    Warning {
        label: "small-slices".to_owned(),
        sentence: format!(
            "slices have {requests} requests in place of {wanted}, so that {ROUNDS} rounds fit the budget: expect wider \
             intervals, or give a larger budget"
        ),
    }
}

/// Where it is the budget that bears no more.
fn few_rounds(fit: u32, max_rounds: u32, planned: u32, time: RoundTime) -> Option<Warning> {
    (fit < LOOKS[0].min(max_rounds)).then(|| Warning {
        label: "few-rounds".to_owned(),
        sentence: format!(
            "a round takes {}: only about {planned} fit the budget, judged once at the end; a larger budget allows \
             sharper intervals",
            Nanos::new((time.round + time.restart) as u64)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::bench::Tried;
    use super::super::design::tests::plan;
    use super::*;

    /// Arms that take so many ms for `of` requests, and 40 ms beside each slice.
    fn pilot(ms: &[u64], of: usize) -> Pilot {
        let arm = |ms: &u64| Tried { wall: Nanos::from_millis(*ms), ..Tried::default() };
        Pilot {
            tried: ms.iter().map(arm).collect(),
            of,
            overhead: Nanos::from_millis(40),
            warnings: Vec::new(),
        }
    }

    struct Case {
        plan: Plan,
        pilot: Pilot,
        restarts: RestartSetup,
        restart: Nanos,
    }

    impl Case {
        fn of(ms: &[u64], of: usize) -> Self {
            let restarts = RestartSetup::default();
            Self { plan: plan(""), pilot: pilot(ms, of), restarts, restart: Nanos::ZERO }
        }

        fn given<'a>(&'a self, sizing: Sizing, own: &'a [Option<usize>], left: u64) -> Given<'a> {
            Given {
                plan: &self.plan,
                pilot: &self.pilot,
                restarts: &self.restarts,
                restart: self.restart,
                sizing,
                own,
                in_parts: Parts::Whole,
                left: Nanos::from_secs(left),
                quantiles: false,
            }
        }
    }

    #[test]
    fn arms_with_a_size_of_their_own_leave_the_others_what_time_there_is() {
        // 20 us a request, and one arm of 1 ms a request that takes 1 s of each of 14 rounds.
        let case = Case::of(&[40, 40, 2000], 2000);
        let own = [None, None, Some(1000)];
        let rounds = pairs(&case.given(Sizing::Free, &own, 90));
        assert_eq!(rounds.requests, 12_500);
        assert_eq!(
            rounds.reason,
            "the fastest arm takes 250 ms for it; 1 arm has as many as the plan says for it"
        );
        // 17 s: 1.15 s a round, of which 0.03 s are left for two arms.
        let rounds = pairs(&case.given(Sizing::Free, &own, 17));
        assert!((700..850).contains(&rounds.requests), "{}", rounds.requests);
        let all = [Some(500), Some(500), Some(1000)];
        // A round: 10 ms + 10 ms + 1 s + 3 x 40 ms.
        let rounds = pairs(&case.given(Sizing::Free, &all, 8));
        assert_eq!((rounds.requests, rounds.looks.looks.as_slice()), (1000, [6].as_slice()));
        assert_eq!(rounds.warnings[0].label, "few-rounds");
    }

    #[test]
    fn looks_are_planned_for_the_rounds_that_fit_with_their_starts() {
        // 20 us and 50 us a request: 250 + 250 + 625 ms and 3 x 40 beside: 1.245 s; 85.5 s.
        let mut case = Case::of(&[40, 40, 100], 2000);
        assert_eq!(pairs(&case.given(Sizing::Free, &[], 90)).looks.last(), 68);
        case.restarts = RestartSetup { every: 3, each_until: 10, reason: String::new() };
        case.restart = Nanos::from_secs(1);
        // Ten rounds take 12.45 + 9 s, and three more 4.735 s: 64.05 s are left for 41.
        assert_eq!(pairs(&case.given(Sizing::Free, &[], 90)).looks.last(), 51);
    }

    #[test]
    fn slow_arms_get_small_slices_so_that_rounds_fit() {
        // 10 ms a request and arm, 60 s left: 14 rounds of 2 arms.
        let case = Case::of(&[2000, 2000], 200);
        let rounds = pairs(&case.given(Sizing::Free, &[], 60));
        assert!((180..=204).contains(&rounds.requests), "{}", rounds.requests);
        assert_eq!((rounds.warnings[0].label.as_str(), rounds.looks.last()), ("small-slices", 14));
    }

    #[test]
    fn few_rounds_are_planned_as_one_look() {
        let case = Case::of(&[10_000; 3], 1);
        let rounds = pairs(&case.given(Sizing::Fixed(1), &[], 180));
        assert_eq!((rounds.requests, rounds.looks.looks.as_slice()), (1, [5].as_slice()));
        assert_eq!(rounds.warnings[0].label, "few-rounds");
    }

    #[test]
    fn parts_take_a_twentieth_of_a_second() {
        let case = Case::of(&[40, 40, 40], 2000);
        let parts = |in_parts, requests| {
            let given = Given { in_parts, ..case.given(Sizing::Fixed(requests), &[], 90) };
            pairs(&given).parts
        };
        let (any, whole) = (Parts::Any, Parts::Whole);
        assert_eq!((parts(any, 12_500), parts(whole, 12_500), parts(any, 100)), (5, 1, 1));
        assert_eq!(parts(any, 500_000), PARTS);
        assert_eq!(parts(Parts::Each(24), 100), 24);
    }

    #[test]
    fn a_duet_keeps_time_for_ten_rounds_of_pairs() {
        let together = Together { subject_ns: 1.0, generator_ns: 1.0, overhead: Nanos::from_millis(50) };
        let case = Case::of(&[40, 40, 40], 2000);
        // Pairs: 750 ms + 120 ms, ten of them 8.7 s. Duet: 0.85 s; (57 - 8.7) / 0.85.
        let rounds = duet(&case.given(Sizing::Free, &[], 60), 1000.0, &together);
        assert_eq!((rounds.requests, rounds.looks.last()), (800, 56));
        let kept = rounds.duet.unwrap();
        assert_eq!((kept.paired_rounds, kept.paired_requests, kept.paired_ns), (10, 12_500, 8_700_000_000));
        // 15 s: smaller pairs, 3.6 s for them, and fourteen slices of 0.71 s for the duet; never less than 0.3 s.
        let short = |seconds| duet(&case.given(Sizing::Free, &[], seconds), 1000.0, &together);
        assert_eq!((short(15).requests, short(15).looks.last()), (713, 14));
        assert_eq!(short(5).requests, 300);
        let given = Given { quantiles: true, ..case.given(Sizing::Free, &[], 60) };
        assert_eq!(duet(&given, 1000.0, &together).duet.unwrap().paired_rounds, 20);
        let mut none = Case::of(&[40, 40, 40], 2000);
        none.plan = plan("paired_rounds = 0");
        assert_eq!(duet(&none.given(Sizing::Free, &[], 60), 1000.0, &together).duet.unwrap().paired_ns, 0);
    }
}
