//! Size of slices, and the number of rounds that the budget allows. Pure.

use super::bench::{Parts, Sizing};
use super::design::slots;
use super::pilot::Pilot;
use bakeoff_analysis::looks::{RoundTime, USABLE};
use bakeoff_loadgen::Slots;
use bakeoff_plan::{Plan, RoundDesign};
use bakeoff_results::{AfterSetup, LoadSetup, RestartSetup, SlotsSetup, Warning};
use bakeoff_stats::{LOOKS, LookPlan};
use bakeoff_units::{Nanos, PerSecond};

/// The fastest arm needs at least this long for a slice.
pub(super) const SLICE: Nanos = Nanos::from_millis(200);
/// Reserve for a machine that gets faster after the pilot.
pub(super) const RESERVE: f64 = 1.25;
/// Fewest requests of a slice, unless the budget does not allow them.
const REQUESTS: usize = 2000;
/// Most requests of a slice.
const MOST: usize = 500_000;
/// Fewest requests of a slice with any budget.
const LEAST: usize = 50;
/// Rounds that should fit the budget: the second look.
pub(super) const ROUNDS: u32 = LOOKS[1];
/// Length of a part of a slice: disturbances of a shared machine mostly last longer, and then hit all arms.
const PART: Nanos = Nanos::from_millis(50);
/// Most parts of a slice.
const PARTS: u32 = 8;
/// Wall time of a duet's slice, all arms of the largest block together, at most; of a load in turn as much.
const DUET_SLICE: Nanos = Nanos::from_millis(800);
/// The same at least.
const SHORT_DUET_SLICE: Nanos = Nanos::from_millis(300);
/// Length of a part of a slice in turn, if requests come at a rate.
const RATE_PART: Nanos = Nanos::from_millis(100);
/// Rounds in turn after the verdict, at its load and at full speed each.
const PAIRED: u32 = 10;
/// The same if a quantile is asked for: fewer have no interval.
const PAIRED_FOR_QUANTILES: u32 = 20;
/// So many rounds in turn have time even where fourteen rounds for the verdict do not fit: else no times are told.
const LEAST_IN_TURN: u32 = 2;
/// Share of the budget that may be kept for both; the rest of it after the verdict is theirs, too.
const PAIRED_SHARE: f64 = 0.3;
/// The same if a quantile is asked for.
const PAIRED_SHARE_FOR_QUANTILES: f64 = 0.4;

/// Input of the planning of rounds.
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
    /// Arms of each block of a duet.
    pub(crate) blocks: &'a [usize],
    /// Time left of the budget.
    pub(crate) left: Nanos,
    /// A quantile is asked for.
    pub(crate) quantiles: bool,
}

/// The planned rounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rounds {
    /// Requests of a slice.
    pub(crate) requests: usize,
    /// Reason for that number.
    pub(crate) reason: String,
    /// Number of parts in which a paired slice is taken.
    pub(crate) parts: u32,
    /// The looks, as far as the pilot tells.
    pub(crate) looks: LookPlan,
    /// Loads that every round measures; none: the plan's clock.
    pub(crate) loads: Vec<LoadSetup>,
    /// Rounds in turn after the verdict.
    pub(crate) after: AfterSetup,
    pub(crate) warnings: Vec<Warning>,
}

/// The arms take turns.
pub(crate) fn pairs(given: &Given<'_>) -> Rounds {
    let usable = given.left.get() as f64 * USABLE;
    let sized = given.slice(usable, ROUNDS, given.restarts);
    let time = given.time_of_pairs(sized.requests);
    let fit = time.fitting(usable, 0, given.plan.max_rounds, given.restarts);
    let looks = planned(fit, given.plan.max_rounds);
    // Slices were made small so that rounds fit; where few do all the same, that alone is to be said.
    let few = few_rounds(fit, given.plan.max_rounds, looks.last(), time);
    let small = || sized.wanted.map(|wanted| small_slices(sized.requests, wanted));
    let warnings = few.or_else(small).into_iter().collect();
    let parts = given.parts(sized.requests);
    Rounds {
        requests: sized.requests,
        reason: given.with_own(sized.reason),
        parts,
        looks,
        loads: Vec::new(),
        after: AfterSetup::default(),
        warnings,
    }
}

/// The loads of every round, and how they are measured.
pub(crate) struct Loads {
    /// Names and rates, ascending.
    pub(crate) all: Vec<(String, PerSecond)>,
    /// Index of the one that the verdict stands on.
    pub(crate) decide_at: usize,
    /// In slots, or in turn.
    pub(crate) design: RoundDesign,
    /// Wall time beside the slots of a slice.
    pub(crate) overhead: Nanos,
    /// The plan's own clock is a closed loop, and another load.
    pub(crate) has_full_speed: bool,
}

/// Every round measures these loads; rounds in turn follow.
pub(crate) fn loads(given: &Given<'_>, loads: &Loads) -> Rounds {
    let usable = given.left.get() as f64 * USABLE;
    let wanted =
        given.plan.paired_rounds.unwrap_or(if given.quantiles { PAIRED_FOR_QUANTILES } else { PAIRED });
    let share = if given.quantiles { PAIRED_SHARE_FOR_QUANTILES } else { PAIRED_SHARE };
    let at_load = if loads.design == RoundDesign::Duet { wanted } else { 0 };
    let full_speed = if loads.has_full_speed { wanted } else { 0 };
    let later = given.restarts_later();
    let full = given.slice(usable * share / 2.0, full_speed.max(1), &later);
    let of_loads = |wall: Nanos| -> Vec<LoadSetup> {
        loads.all.iter().map(|(name, rate)| given.load(name, *rate, wall, loads.design)).collect()
    };
    let time_of = |all: &[LoadSetup]| RoundTime {
        round: all.iter().map(|load| given.time_of_load(load, loads)).sum(),
        restart: given.restart.get() as f64,
    };
    let after = |all: &[LoadSetup]| {
        let in_turn = all.get(loads.decide_at).map_or(0.0, |load| given.time_in_turn(load));
        in_turn * f64::from(at_load)
            + if full_speed > 0 {
                given.time_of_pairs(full.requests).of_first(full_speed, &later)
            } else {
                0.0
            }
    };
    // The cost comes first: time for fourteen short rounds is not kept from them, but for a few rounds that tell times.
    let short = of_loads(SHORT_DUET_SLICE);
    let in_turn = short.get(loads.decide_at).map_or(0.0, |load| given.time_in_turn(load));
    // No round is begun for which less time is left than the longest took.
    let least =
        in_turn.max(time_of(&short).of_first(1, given.restarts)) * f64::from(at_load.min(LEAST_IN_TURN));
    let spare = (usable - time_of(&short).of_first(ROUNDS, given.restarts)).max(least);
    let kept = after(&of_loads(DUET_SLICE)).min(usable * share).min(spare);
    // As long as fourteen of them fit: noise of a slice's ends and of starts does not shrink with its length.
    let beside = time_of(&[]).of_first(ROUNDS, given.restarts)
        + (loads.overhead.get() * (loads.all.len() * given.blocks.len()) as u64) as f64 * f64::from(ROUNDS);
    let slices = loads.all.len().max(1) as f64 * given.sizes_of_blocks(loads.design);
    let affordable = ((usable - kept - beside) / f64::from(ROUNDS)).max(0.0) / slices;
    let all = of_loads(Nanos::new(affordable as u64).clamp(SHORT_DUET_SLICE, DUET_SLICE));
    let time = time_of(&all);
    let fit = time.fitting(usable - kept, 0, given.plan.max_rounds, given.restarts);
    let looks = planned(fit, given.plan.max_rounds);
    let requests = all.get(loads.decide_at).map_or(0, |load| load.slice_requests as usize);
    let wall = all.get(loads.decide_at).map_or(0.0, |load| given.time_of_load(load, loads));
    Rounds {
        requests,
        reason: format!("a round of all arms takes about {} for it", Nanos::new(wall as u64)),
        parts: given.parts(full.requests),
        warnings: few_rounds(fit, given.plan.max_rounds, looks.last(), time).into_iter().collect(),
        looks,
        loads: all,
        after: AfterSetup { at_load, full_speed, full_requests: full.requests as u64, time_ns: kept as u64 },
    }
}

/// A slice's size; `wanted`: the part that the budget does not allow.
struct Sized {
    requests: usize,
    reason: String,
    wanted: Option<usize>,
}

impl Given<'_> {
    fn arms(&self) -> usize {
        self.pilot.tried.len().max(1)
    }

    /// Arms of the largest block; in turn all of them.
    fn most_together(&self, design: RoundDesign) -> usize {
        match design {
            RoundDesign::Duet => self.blocks.iter().copied().max().unwrap_or(1).max(1),
            RoundDesign::Pairs => self.arms(),
        }
    }

    /// Time of the slots of all blocks, in units of those of the largest one.
    fn sizes_of_blocks(&self, design: RoundDesign) -> f64 {
        match design {
            RoundDesign::Duet => {
                self.blocks.iter().sum::<usize>().max(1) as f64 / self.most_together(design) as f64
            }
            RoundDesign::Pairs => 1.0,
        }
    }

    /// A load whose slices take about `wall` for all arms together.
    fn load(&self, name: &str, rate: PerSecond, wall: Nanos, design: RoundDesign) -> LoadSetup {
        let own = wall.as_secs_f64() / self.most_together(design) as f64;
        let requests = match self.sizing {
            Sizing::Fixed(requests) => requests,
            Sizing::Free | Sizing::Timed(_) => ((rate.get() * own) as usize).clamp(LEAST, MOST),
        };
        let parts = requests as f64 / rate.get() / RATE_PART.as_secs_f64();
        LoadSetup {
            name: name.to_owned(),
            rate_per_s: rate.get(),
            slice_requests: requests as u64,
            parts: if self.in_parts == Parts::Any { (parts as u32).clamp(1, PARTS) } else { 1 },
            slots: (design == RoundDesign::Duet).then(|| slots(rate)),
        }
    }

    /// Wall time of a load in a round, ns.
    fn time_of_load(&self, load: &LoadSetup, loads: &Loads) -> f64 {
        let own = Nanos::new((load.slice_requests as f64 / load.rate_per_s * 1e9) as u64);
        match load.slots {
            Some(SlotsSetup { every_ns, gap_ns }) => {
                let (every, gap) = (Nanos::new(every_ns), Nanos::new(gap_ns));
                let of_block = |of: &usize| {
                    let slots = Slots { of: *of, every, gap, seed: 0 };
                    (slots.time_of_all(own) + loads.overhead).get() as f64
                };
                self.blocks.iter().map(of_block).sum()
            }
            None => self.time_in_turn(load),
        }
    }

    /// The same if the arms take turns, ns.
    fn time_in_turn(&self, load: &LoadSetup) -> f64 {
        let own = load.slice_requests as f64 / load.rate_per_s * 1e9;
        (own + self.pilot.overhead.get() as f64 * f64::from(load.parts)) * self.arms() as f64
    }

    /// Time of a request of each arm in ns, with the arm's own size.
    fn per_request(&self) -> impl Iterator<Item = (f64, Option<usize>)> {
        let own = self.own.iter().copied().chain(std::iter::repeat(None));
        let of = self.pilot.of.max(1) as f64;
        self.pilot.tried.iter().map(move |arm| arm.wall.get().max(1) as f64 / of).zip(own)
    }

    /// Long enough for the fastest arm, and so that this many rounds fit.
    fn slice(&self, usable: f64, rounds: u32, restarts: &RestartSetup) -> Sized {
        // If no arm is left to be sized.
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
        // If each part is another kind of work, the time around parts is in the parts' own times.
        let parts = match self.in_parts {
            Parts::Each(_) => 1.0,
            Parts::Whole | Parts::Any => f64::from(self.parts(requests)),
        };
        let beside = self.pilot.overhead.get() as f64 * self.pilot.tried.len() as f64 * parts;
        RoundTime { round: slices + beside, restart: self.restart.get() as f64 }
    }

    /// Number of parts for a slice of this many requests.
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

    /// Restarts after the first rounds.
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

/// Three rounds are tried even against the pilot: it may be wrong, and fewer have no interval.
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

/// A warning if the budget allows few rounds.
fn few_rounds(fit: u32, max_rounds: u32, planned: u32, time: RoundTime) -> Option<Warning> {
    (fit < LOOKS[0].min(max_rounds)).then(|| Warning {
        label: "few-rounds".to_owned(),
        sentence: format!(
            "a round of the pilot took {}: only about {planned} fit the budget, judged once at the end; a larger budget \
             allows sharper intervals",
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
                blocks: &[3],
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

    fn duet(rates: &[f64]) -> Loads {
        Loads {
            all: rates.iter().map(|rate| (rate.to_string(), PerSecond::new(*rate).unwrap())).collect(),
            decide_at: rates.len() / 2,
            design: RoundDesign::Duet,
            overhead: Nanos::from_millis(50),
            has_full_speed: true,
        }
    }

    #[test]
    fn a_duet_keeps_time_for_rounds_in_turn_at_its_load_and_at_full_speed() {
        let case = Case::of(&[40, 40, 40], 2000);
        // 1000/s: 266 requests of three arms; 14 cycles of three slots of 20 ms, and 50 ms.
        let rounds = loads(&case.given(Sizing::Free, &[], 60), &duet(&[1000.0]));
        assert_eq!((rounds.requests, rounds.loads[0].slots.unwrap().every_ns), (266, 20_000_000));
        // In turn: 3 x (266 + 40) ms, and at full speed 3 x (245 + 40); ten of each would take more than 0.3 of 57 s.
        assert_eq!(
            rounds.after,
            AfterSetup { at_load: 10, full_speed: 10, full_requests: 12_250, time_ns: 17_100_000_000 }
        );
        // (57 - 17.1) s of 0.89 s each.
        assert_eq!(rounds.looks.last(), 44);
        let short = loads(&case.given(Sizing::Free, &[], 5), &duet(&[1000.0]));
        assert_eq!(short.requests, 99, "0.3 s for three");
        assert!(
            short.after.time_ns >= 2 * 400_000_000,
            "two rounds in turn of 3 x (99 + 40) ms: {:?}",
            short.after
        );
        let given = Given { quantiles: true, ..case.given(Sizing::Free, &[], 60) };
        assert_eq!(loads(&given, &duet(&[1000.0])).after.at_load, 20);
        let mut none = Case::of(&[40, 40, 40], 2000);
        none.plan = plan("paired_rounds = 0");
        assert_eq!(loads(&none.given(Sizing::Free, &[], 60), &duet(&[1000.0])).after.time_ns, 0);
    }

    #[test]
    fn a_round_of_blocks_takes_as_long_as_their_slices_and_each_arm_has_the_time_of_the_largest() {
        // Twelve arms with the second processes: blocks of 5, 5 and 6.
        let case = Case::of(&[40; 14], 2000);
        let given = Given { blocks: &[5, 5, 6], ..case.given(Sizing::Free, &[], 600) };
        let planned = loads(&given, &Loads { has_full_speed: false, ..duet(&[1000.0]) });
        // 0.8 s for the largest: 133 ms or 7 slots of 19 ms for each arm; 16 arms with those of repeated baselines.
        assert_eq!(planned.requests, 133);
        assert_eq!(
            given.time_of_load(&planned.loads[0], &duet(&[1000.0])),
            (7 * 16 * 20 + 3 * 50) as f64 * 1e6
        );
        // In one cycle each would have 57 ms of the same time.
        let one = Given { blocks: &[14], ..case.given(Sizing::Free, &[], 600) };
        assert_eq!(loads(&one, &duet(&[1000.0])).requests, 57);
        // A short budget makes slices small, so that rounds fit.
        let given = Given { left: Nanos::from_secs(40), ..given };
        let short = loads(&given, &Loads { has_full_speed: false, ..duet(&[1000.0]) });
        assert!(
            short.requests < 133 && short.looks.last() >= LOOKS[0],
            "{} {:?}",
            short.requests,
            short.looks
        );
    }

    #[test]
    fn the_loads_of_a_curve_take_about_as_long_and_the_plans_own_rate_is_no_further_one() {
        let case = Case::of(&[40, 40, 40], 2000);
        let rounds = loads(&case.given(Sizing::Free, &[], 90), &duet(&[1000.0, 5000.0, 9000.0]));
        let requests: Vec<u64> = rounds.loads.iter().map(|load| load.slice_requests).collect();
        assert_eq!((requests, rounds.requests), (vec![266, 1333, 2400], 1333));
        let planned = Loads { has_full_speed: false, ..duet(&[1000.0]) };
        assert_eq!(loads(&case.given(Sizing::Free, &[], 60), &planned).after.full_speed, 0);
        let in_turn = Loads { design: RoundDesign::Pairs, ..duet(&[1000.0, 5000.0]) };
        let rounds = loads(&case.given(Sizing::Free, &[], 60), &in_turn);
        assert_eq!((rounds.after.at_load, rounds.loads[0].slots), (0, None));
    }
}
