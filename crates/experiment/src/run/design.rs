//! Choice of the design, pairs or a duet, and of restarts: made once, from the plan and the pilot.
//!
//! Pure. A duet measures the arms of a stratum (`blocks`) in one slice, each in slots of some 20 ms. Disturbances of the machine last longer as
//! a rule and then hit all of them alike (Bulej and others, "Duet benchmarking", 2020, load them all at once). In slots
//! no arm is charged for the packets and wake-ups of another: loaded at once, six servers inflated a planted 26 us to
//! 30.

use super::RunError;
use super::bench::Tried;
use super::blocks::MOST_ARMS;
use bakeoff_meter::catalogue::SUBJECT_CPU;
use bakeoff_plan::{
    ArmKind, DesignChoice, Fresh, LoadClock, LoadPlan, LoadRate, LoadsPlan, Plan, RequestSource, RequestWork,
    Work,
};
use bakeoff_results::{RestartSetup, SlotsSetup};
use bakeoff_stats::LOOKS;
use bakeoff_subject::Spec;
use bakeoff_units::{Nanos, PerSecond, Ratio};

/// Default load of a duet, as a share of the slowest arm's capacity: servers are rarely busier in use, and the arms'
/// shares of wake-ups, which fall with the load, hardly differ (docs/method.md, "A cost has a load").
const LOAD: f64 = 0.25;
/// Share of its cores that an arm, or the generator, may need at a plan's rate: waiting requests would reach into the
/// slots of others.
const BUSY: f64 = 0.6;
/// Length of a slot: tried from 3 to 50 ms on a disturbed machine, shorter ones begin with cold caches too often, and
/// longer ones let disturbances hit one arm alone.
const SLOT: Nanos = Nanos::from_millis(20);
/// Time at the end of a slot in which nothing comes due.
const GAP: Nanos = Nanos::from_millis(1);
/// Requests that a slot should have.
const REQUESTS_OF_SLOT: f64 = 10.0;
/// The longest slot, however slow the arms.
const LONGEST_SLOT: Nanos = Nanos::from_millis(200);
/// Share of the time that waits for storage above which a cell counts as bound by it.
const IO_BOUND: f64 = 0.1;
/// Default number of rounds of one start.
const RESTART_EVERY: u32 = 3;
/// Rounds up to which each is a start of its own by default: the third look. Few starts make wide intervals, and more
/// cost less time than more rounds of few.
const EACH_UNTIL: u32 = LOOKS[2];
/// A start that takes longer is not repeated.
const QUICK_START: Nanos = Nanos::from_secs(1);

/// The pilot's findings, per request.
pub(crate) struct Facts<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) primary: &'a str,
    /// Arm by arm as in `Plan::names`, for `of` requests.
    pub(crate) tried: &'a [Tried],
    pub(crate) of: usize,
    pub(crate) subject_cores: usize,
    pub(crate) generator_cores: usize,
    /// Slices of a round of a duet.
    pub(crate) blocks: usize,
}

/// The chosen design, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Chosen {
    /// In turn; no reason if there is no other way.
    Pairs(String),
    /// In slots of one slice.
    Duet(String),
}

/// The design.
pub(crate) fn choose(facts: &Facts<'_>) -> Result<Chosen, RunError> {
    let Work::Requests(work) = &facts.plan.work else { return Ok(Chosen::Pairs(String::new())) };
    let as_planned = || "as the plan says".to_owned();
    match (facts.plan.design, obstacle(facts, work)) {
        (DesignChoice::Pairs, _) => Ok(Chosen::Pairs(as_planned())),
        (_, Some(why)) => no_duet(facts.plan, why).map(Chosen::Pairs),
        (DesignChoice::Duet, None) => Ok(Chosen::Duet(as_planned() + &facts.in_blocks())),
        (DesignChoice::Auto, None) => {
            Ok(Chosen::Duet("nothing but their own work differs".to_owned() + &facts.in_blocks()))
        }
    }
}

/// The reason for rounds in turn when a duet would not be honest; an error if the plan wants one.
pub(crate) fn no_duet(plan: &Plan, why: String) -> Result<String, RunError> {
    match plan.design {
        DesignChoice::Duet => Err(RunError::DuetRefused { why }),
        DesignChoice::Auto | DesignChoice::Pairs => Ok(format!("no duet: {why}")),
    }
}

/// An obstacle that makes a duet dishonest here.
fn obstacle(facts: &Facts<'_>, work: &RequestWork) -> Option<String> {
    of_the_plan(facts.plan, work).or_else(|| of_the_arms(facts.plan)).or_else(|| of_the_machine(facts, work))
}

fn of_the_plan(plan: &Plan, work: &RequestWork) -> Option<String> {
    let in_order = matches!(work.source, RequestSource::Replay { .. } | RequestSource::Walk { .. })
        && !matches!(work.clock, LoadClock::Closed { .. });
    if in_order || matches!(work.clock, LoadClock::Original { .. }) {
        return Some(
            "the clock keeps the log's order, in which the first arm to ask for a file pays for all"
                .to_owned(),
        );
    }
    if matches!(work.clock, LoadClock::Closed { passes: Some(_), .. }) {
        return Some("a slice is the whole log, walked by every robot".to_owned());
    }
    if matches!(work.clock, LoadClock::Bursts(_)) {
        return Some("the arms of a duet are asked at random moments, and not in bursts".to_owned());
    }
    if work.timed.is_some() {
        return Some("slices end with time, so that arms get different requests".to_owned());
    }
    plan.link.is_some().then(|| "the arms would share the link".to_owned())
}

fn of_the_arms(plan: &Plan) -> Option<String> {
    if plan.arms.iter().any(|arm| arm.slice_requests.is_some()) {
        return Some(
            "arms have numbers of requests of their own, and those of a duet get the same".to_owned(),
        );
    }
    plan.arms.iter().enumerate().find_map(|(index, arm)| {
        let name = &arm.name;
        if plan.baselines.is(index) && matches!(arm.what, ArmKind::Server(Spec::Url { .. })) {
            return Some(format!("{name} and {name}' are one process, whose CPU cannot be told apart"));
        }
        if arm.client.reuse.at_most() == Some(1) || arm.fresh == Fresh::Connection {
            return Some(format!(
                "{name} makes a connection for each request, whose end reaches into the slots of others"
            ));
        }
        if !arm.limits.is_none() {
            return Some(format!("{name} has limits, and what it fills or waits for touches the others"));
        }
        if !arm.layers.is_empty() {
            return Some(format!(
                "what {name} stands on (mounts, marks of files, caches) reaches the others"
            ));
        }
        matches!(arm.fresh, Fresh::Start | Fresh::PageCache)
            .then(|| format!("what is fresh in {name} is so for the whole machine"))
    })
}

fn of_the_machine(facts: &Facts<'_>, work: &RequestWork) -> Option<String> {
    if facts.primary != SUBJECT_CPU {
        return Some(format!("it shows CPU per request only, and the verdict stands on {}", facts.primary));
    }
    let waits = facts.tried.iter().map(|arm| arm.io_wait).fold(0.0, f64::max);
    if waits > IO_BOUND {
        let share = Ratio::new(waits).map_or_else(String::new, |share| share.to_string());
        return Some(format!("the arms wait for storage ({share} of the time in the pilot)"));
    }
    let too_fast = |planned: &PerSecond| planned.get() > facts.bearable();
    planned_rate(work).filter(too_fast).map(|planned| {
        format!("at the plan's rate of {planned} the cores are busier than 60 %, and what waits would reach into the slots of others")
    })
}

pub(crate) fn planned_rate(work: &RequestWork) -> Option<PerSecond> {
    match work.clock {
        LoadClock::Constant(rate) | LoadClock::Poisson(rate) => Some(rate),
        _ => None,
    }
}

impl Facts<'_> {
    /// `; 3 slices a round, in turn, ...`
    fn in_blocks(&self) -> String {
        match self.blocks {
            0 | 1 => String::new(),
            of => format!(
                "; {of} slices a round, in turn, each of at most {MOST_ARMS} arms of one stratum with its baseline twice"
            ),
        }
    }

    /// The plan's own rate, if it has one.
    pub(crate) fn planned(&self) -> Option<PerSecond> {
        match &self.plan.work {
            Work::Requests(work) => planned_rate(work),
            Work::Command(_) | Work::Files(_) | Work::Calls(_) => None,
        }
    }

    /// The rate at which neither side's cores are busier than they may be, during any arm's turn.
    fn bearable(&self) -> f64 {
        let of = self.of.max(1) as f64;
        let bound =
            |cores: usize, cpu: Nanos| BUSY * cores.max(1) as f64 * 1e9 * of / cpu.get().max(1) as f64;
        let of_arm = |arm: &Tried| {
            let subject = bound(self.subject_cores, arm.subject_cpu.unwrap_or(Nanos::ZERO));
            subject.min(bound(self.generator_cores, arm.generator_cpu))
        };
        self.tried.iter().map(of_arm).fold(f64::INFINITY, f64::min)
    }
}

/// The loads that a run measures in every round, ascending, and the index of the one that its verdict stands on.
pub(crate) fn loads(
    plan: Option<&LoadsPlan>,
    planned: Option<PerSecond>,
    capacity: PerSecond,
) -> (Vec<(String, PerSecond)>, usize) {
    let Some(plan) = plan else {
        let rate = planned.unwrap_or_else(|| whole(LOAD * capacity.get()));
        return (vec![(in_words(rate), rate)], 0);
    };
    let rate_of = |load: &LoadPlan| match load.rate {
        LoadRate::Rate(rate) => rate,
        LoadRate::Share(share) => whole(share.get() * capacity.get()),
    };
    let mut all: Vec<(usize, PerSecond)> = plan.loads.iter().map(rate_of).enumerate().collect();
    all.sort_by(|a, b| a.1.get().total_cmp(&b.1.get()));
    let middle = all.len() / 2;
    let decide_at = plan
        .decide_at
        .and_then(|wanted| all.iter().position(|(index, _)| *index == wanted))
        .unwrap_or(middle);
    (all.into_iter().map(|(index, rate)| (plan.loads[index].name.clone(), rate)).collect(), decide_at)
}

/// `2,500/s`
fn in_words(rate: PerSecond) -> String {
    bakeoff_stats::per_second(rate.get())
}

/// Slots for this rate.
pub(crate) fn slots(rate: PerSecond) -> SlotsSetup {
    let every = SLOT.max(rate.gap().times(REQUESTS_OF_SLOT)).min(LONGEST_SLOT);
    SlotsSetup { every_ns: every.get(), gap_ns: GAP.get() }
}

fn whole(rate: f64) -> PerSecond {
    PerSecond::new(rate.floor().max(1.0)).unwrap_or(PerSecond::ONE)
}

/// Schedule of restarts of the arms.
pub(crate) fn restarts(plan: &Plan, start_time: Option<Nanos>) -> RestartSetup {
    let setup = |every, reason: String| RestartSetup { every, each_until: 0, reason };
    if matches!(plan.work, Work::Command(_)) {
        return setup(0, "every run is a process of its own".to_owned());
    }
    if matches!(plan.work, Work::Files(_)) {
        return match plan.restart_every.filter(|every| *every > 0) {
            Some(every) => setup(every, "as the plan says".to_owned()),
            None => {
                setup(0, "directories stay; restart_every = 3 sets them up anew every third round".to_owned())
            }
        };
    }
    match (start_time, plan.restart_every) {
        (None, _) => setup(0, "the servers were running before, and are left alone".to_owned()),
        (_, Some(0)) => setup(0, "as the plan says: one start of each".to_owned()),
        (_, Some(every)) => setup(every, "as the plan says".to_owned()),
        (Some(time), None) if time < QUICK_START => RestartSetup {
            each_until: EACH_UNTIL,
            ..setup(RESTART_EVERY, format!("the slowest start takes {time}"))
        },
        (Some(time), None) => setup(
            0,
            format!(
                "a start takes {time}, too long to repeat; restart_every = {RESTART_EVERY} does it all the same"
            ),
        ),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::path::Path;

    /// A plan of two arms, with this line in `[experiment]`.
    pub(in crate::run) fn plan(line: &str) -> Plan {
        let text = format!(
            "[experiment]\nbaseline = \"a\"\n{line}\n[workload]\nkind = \"get\"\nurls = [\"/\"]\n\
             [arm.a]\nserver = \"origin\"\n[arm.b]\nserver = \"origin\"\nburn = \"1us\"\n"
        );
        Plan::parse("t", "t.toml", &text, Path::new("/")).unwrap()
    }

    fn tried(us: [u64; 3]) -> Vec<Tried> {
        let arm = |us| Tried {
            wall: Nanos::from_millis(100),
            subject_cpu: Some(Nanos::from_micros(us * 1000)),
            generator_cpu: Nanos::from_millis(10),
            io_wait: 0.0,
        };
        us.map(arm).to_vec()
    }

    fn facts<'a>(plan: &'a Plan, tried: &'a [Tried]) -> Facts<'a> {
        let primary = plan.primary.as_deref().unwrap_or(SUBJECT_CPU);
        Facts { plan, primary, tried, of: 1000, subject_cores: 1, generator_cores: 1, blocks: 1 }
    }

    fn chosen(plan: &Plan, tried: &[Tried]) -> Result<Chosen, RunError> {
        choose(&facts(plan, tried))
    }

    #[test]
    fn a_duet_is_taken_for_a_cost_of_any_size() {
        for us in [[100, 101, 105], [100, 101, 900]] {
            assert!(matches!(chosen(&plan(""), &tried(us)).unwrap(), Chosen::Duet(_)));
        }
        let pairs = chosen(&plan("design = \"pairs\""), &tried([100, 101, 105])).unwrap();
        assert_eq!(pairs, Chosen::Pairs("as the plan says".to_owned()));
    }

    #[test]
    fn the_load_is_a_quarter_of_what_the_slowest_answers_or_as_planned() {
        let rate = |rate| PerSecond::new(rate).unwrap();
        let (one, at) = loads(None, None, rate(10_000.0));
        assert_eq!((one, at), (vec![("2500/s".to_owned(), rate(2500.0))], 0));
        assert_eq!(loads(None, Some(rate(70.0)), rate(10_000.0)).0[0].1.get(), 70.0);
        let share = |name: &str, share| LoadPlan {
            name: name.to_owned(),
            rate: LoadRate::Share(Ratio::new(share).unwrap()),
        };
        let fixed = LoadPlan { name: "200/s".to_owned(), rate: LoadRate::Rate(rate(200.0)) };
        let mut plan =
            LoadsPlan { loads: vec![share("90%", 0.9), fixed, share("50%", 0.5)], decide_at: None };
        let (all, at) = loads(Some(&plan), None, rate(1000.0));
        assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["200/s", "50%", "90%"]);
        assert_eq!((all[1].1.get(), at), (500.0, 1), "the middle one, by its rate");
        plan.decide_at = Some(0);
        assert_eq!(loads(Some(&plan), None, rate(1000.0)).1, 2, "90% is the third");
    }

    #[test]
    fn a_slot_has_some_requests_whatever_the_rate() {
        let every = |rate| slots(PerSecond::new(rate).unwrap()).every_ns / 1_000_000;
        assert_eq!([every(5000.0), every(500.0), every(200.0), every(10.0)], [20, 20, 50, 200]);
    }

    #[test]
    fn a_planned_rate_may_leave_the_dearest_arm_busy_to_sixty_percent() {
        let line = "urls = [\"/\"]";
        let at = |rate: u32| {
            let text =
                plan("").text.replace(line, &format!("{line}\nclock = \"constant\"\nrate = \"{rate}/s\""));
            Plan::parse("t", "t.toml", &text, Path::new("/")).unwrap()
        };
        // 105 us a request: 0.6 of a core does 5714 of them.
        let tried = tried([100, 101, 105]);
        assert!(matches!(chosen(&at(5700), &tried).unwrap(), Chosen::Duet(_)));
        assert!(
            matches!(chosen(&at(5800), &tried).unwrap(), Chosen::Pairs(why) if why.contains("rate of 5800/s"))
        );
    }

    #[test]
    fn a_duet_that_would_not_be_honest_is_refused_and_the_reason_is_named() {
        let mut waiting = tried([100, 100, 100]);
        waiting[2].io_wait = 0.3;
        let why = chosen(&plan("design = \"duet\""), &waiting).unwrap_err().to_string();
        assert!(why.contains("wait for storage (30 %") && why.contains("design = \"pairs\""), "{why}");
        let changed = |from: &str, to: &str| {
            let text = plan("").text.replace(from, to);
            let plan = Plan::parse("t", "t.toml", &text, Path::new("/")).unwrap();
            match chosen(&plan, &tried([100, 101, 102])).unwrap() {
                Chosen::Pairs(why) => why,
                Chosen::Duet(_) => panic!("{text}"),
            }
        };
        for (from, to, why) in [
            ("burn = \"1us\"", "slice_requests = 50\nburn = \"1us\"", "numbers of requests of their own"),
            ("burn = \"1us\"", "fresh = \"start\"\nburn = \"1us\"", "fresh in b"),
            ("urls = [\"/\"]", "urls = [\"/\"]\nkeep_alive = false", "makes a connection for each request"),
            ("[workload]", "link = \"100Mbit\"\n[workload]", "share the link"),
            ("[workload]", "primary = \"response_p50\"\n[workload]", "stands on response_p50"),
            ("urls = [\"/\"]", "urls = [\"/\"]\nclock = \"constant\"\nrate = \"6000/s\"", "rate of 6000/s"),
            (
                "kind = \"get\"\nurls = [\"/\"]",
                "kind = \"replay\"\nlog = \"builtin:weblog\"\nclock = \"constant\"\nrate = \"10/s\"",
                "keeps the log's order",
            ),
            (
                "[arm.a]\nserver = \"origin\"",
                "[arm.a]\nurl = \"http://127.0.0.1:1/\"\npid = 1",
                "a and a' are one process",
            ),
        ] {
            let said = changed(from, to);
            assert!(said.contains(why), "{to}: {said}");
        }
    }

    #[test]
    fn quick_starts_are_repeated() {
        let every = |line: &str, time| restarts(&plan(line), time).every;
        assert_eq!(every("", Some(Nanos::from_millis(80))), 3);
        assert_eq!(every("", Some(Nanos::from_secs(4))), 0);
        assert_eq!(every("restart_every = 5", Some(Nanos::from_secs(4))), 5);
        assert_eq!(every("restart_every = 0", Some(Nanos::from_millis(80))), 0);
        assert_eq!(every("restart_every = 5", None), 0);
        let quick = restarts(&plan(""), Some(Nanos::from_millis(80)));
        let due: Vec<u32> = (0..28).filter(|round| quick.is_due(*round)).collect();
        assert_eq!(due[..19], (1..20).collect::<Vec<u32>>(), "twenty starts at the third look");
        assert_eq!(due[19..], [21, 24, 27]);
    }
}
