//! Pairs or a duet, and when arms are started anew: decided once, from the plan and the pilot.
//!
//! Pure. A duet loads all arms at once at the same rate. What disturbs the machine then disturbs
//! all of them alike, so costs per request show sharply, of any size (Bulej and others, "Duet
//! benchmarking", 2020); times and rates do not, because the arms share the cores.

use super::RunError;
use super::bench::Tried;
use super::pilot::Together;
use crate::plan::{ArmKind, DesignChoice, Fresh, LoadClock, Plan, RequestSource, RequestWork, Work};
use crate::results::RestartSetup;
use bakeoff_meter::catalogue::SUBJECT_CPU;
use bakeoff_stats::LOOKS;
use bakeoff_subject::Spec;
use bakeoff_units::{Nanos, PerSecond, Ratio};

/// Share of its cores that all arms together, or the generator, may need in a duet: below it,
/// waiting for one another does not change what a request costs.
const BUSY: f64 = 0.6;
/// A planned rate of so many times what the arms seem to bear one by one is not even tried: what a request costs where
/// little is to do was never seen to be three times what it costs where much is.
const NOT_TRIED: f64 = 3.0;
/// Share of the time that waits for storage above which a cell counts as bound by it.
const IO_BOUND: f64 = 0.1;
/// More arms than this leave each too little of a core.
const MOST_ARMS: usize = 8;
/// Rounds of one start, where nothing else is said.
const RESTART_EVERY: u32 = 3;
/// Rounds up to which each is a start of its own, where nothing else is said: the third look. Few starts make wide
/// intervals, and more cost less time than more rounds of few.
const EACH_UNTIL: u32 = LOOKS[2];
/// A start that takes longer is not repeated.
const QUICK_START: Nanos = Nanos::from_secs(1);

/// What the pilot found, per request.
pub(crate) struct Facts<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) primary: &'a str,
    /// Arm by arm as in `Plan::names`, for `of` requests.
    pub(crate) tried: &'a [Tried],
    pub(crate) of: usize,
    pub(crate) subject_cores: usize,
    pub(crate) generator_cores: usize,
}

/// How the arms of a round are measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Chosen {
    /// In turn, and why; without a word where there is no other way.
    Pairs(String),
    /// All at once, and why.
    Duet(String),
}

/// The design.
pub(crate) fn choose(facts: &Facts<'_>) -> Result<Chosen, RunError> {
    let Work::Requests(work) = &facts.plan.work else { return Ok(Chosen::Pairs(String::new())) };
    let as_planned = || "as the plan says".to_owned();
    match (facts.plan.design, obstacle(facts, work)) {
        (DesignChoice::Pairs, _) => Ok(Chosen::Pairs(as_planned())),
        (_, Some(why)) => no_duet(facts.plan, why).map(Chosen::Pairs),
        (DesignChoice::Duet, None) => Ok(Chosen::Duet(as_planned())),
        (DesignChoice::Auto, None) => Ok(Chosen::Duet("nothing but their own work differs".to_owned())),
    }
}

/// What is said of rounds in turn where a duet would not be honest; an error where the plan wants one.
pub(crate) fn no_duet(plan: &Plan, why: String) -> Result<String, RunError> {
    match plan.design {
        DesignChoice::Duet => Err(RunError::DuetRefused { why }),
        DesignChoice::Auto | DesignChoice::Pairs => Ok(format!("no duet: {why}")),
    }
}

/// What makes a duet dishonest here.
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
        return Some("all arms at once are asked at random moments, and not in bursts".to_owned());
    }
    if work.timed.is_some() {
        return Some("slices end with time, so that arms get different requests".to_owned());
    }
    plan.link.is_some().then(|| "the arms would share the link".to_owned())
}

fn of_the_arms(plan: &Plan) -> Option<String> {
    let names = plan.names();
    if names.len() > MOST_ARMS {
        return Some(format!("{} arms at once leave each too little of a core", names.len()));
    }
    if plan.arms.iter().any(|arm| arm.slice_requests.is_some()) {
        return Some("arms have numbers of requests of their own, and all at once get the same".to_owned());
    }
    plan.arms.iter().enumerate().find_map(|(index, arm)| {
        let name = &arm.name;
        if plan.baselines.is(index) && matches!(arm.what, ArmKind::Server(Spec::Url { .. })) {
            return Some(format!("{name} and {name}' are one process, whose CPU cannot be told apart"));
        }
        if arm.client.reuse.at_most() == Some(1) || arm.fresh == Fresh::Connection {
            return Some(format!(
                "{name} makes a connection for each request, which costs far more where little is to do"
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
    planned_rate(work).filter(|planned| *planned > NOT_TRIED * facts.most()).map(too_fast)
}

fn too_fast(planned: f64) -> String {
    format!("the plan's rate of {planned:.0}/s for every arm at once is more than 60 % of the cores can do")
}

fn planned_rate(work: &RequestWork) -> Option<f64> {
    match work.clock {
        LoadClock::Constant(rate) | LoadClock::Poisson(rate) => Some(rate.get()),
        _ => None,
    }
}

impl Facts<'_> {
    /// The plan's own rate, where it has one.
    fn planned(&self) -> Option<f64> {
        match &self.plan.work {
            Work::Requests(work) => planned_rate(work),
            Work::Command(_) | Work::Files(_) | Work::Calls(_) => None,
        }
    }

    /// Requests per second and arm for the rehearsal: as the arms one by one tell.
    pub(crate) fn first_rate(&self) -> PerSecond {
        whole(self.planned().unwrap_or_else(|| self.most()))
    }

    /// The same for the rounds. A request costs more the less there is to do, as each wakes its server: what is seen with
    /// all arms at once counts.
    pub(crate) fn rate(&self, together: &Together) -> PerSecond {
        let (subject, generator) = (together.subject_ns, together.generator_ns);
        whole(self.planned().unwrap_or_else(|| self.bearable(subject, generator).min(self.most())))
    }

    /// Whether the plan's rate left the cores too busy in the rehearsal.
    pub(crate) fn too_busy(&self, together: &Together) -> Option<String> {
        let bearable = self.bearable(together.subject_ns, together.generator_ns);
        self.planned().filter(|planned| *planned > bearable).map(too_fast)
    }

    fn most(&self) -> f64 {
        let sum =
            |time: fn(&Tried) -> Nanos| self.tried.iter().map(|arm| time(arm).get()).sum::<u64>() as f64;
        let of = self.of.max(1) as f64;
        self.bearable(
            sum(|arm| arm.subject_cpu.unwrap_or(Nanos::ZERO)) / of,
            sum(|arm| arm.generator_cpu) / of,
        )
    }

    /// At which neither side's cores are busier than they may be.
    fn bearable(&self, subject_ns: f64, generator_ns: f64) -> f64 {
        let bound = |cores: usize, ns: f64| BUSY * cores.max(1) as f64 * 1e9 / ns.max(1.0);
        bound(self.subject_cores, subject_ns).min(bound(self.generator_cores, generator_ns))
    }
}

fn whole(rate: f64) -> PerSecond {
    PerSecond::new(rate.floor().max(1.0)).unwrap_or(PerSecond::ONE)
}

/// When arms are started anew.
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
        Facts { plan, primary, tried, of: 1000, subject_cores: 1, generator_cores: 1 }
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
    fn the_rate_is_what_sixty_percent_of_the_cores_bear_as_seen_all_at_once() {
        let (plan, tried) = (plan(""), tried([100, 101, 105]));
        let facts = facts(&plan, &tried);
        // 306 us for a request at every arm: 0.6 of a core does 1960 of them.
        assert_eq!(facts.first_rate().get(), 1960.0);
        let together = |subject_ns, generator_ns| {
            facts.rate(&Together { subject_ns, generator_ns, overhead: Nanos::ZERO }).get()
        };
        assert_eq!(together(400_000.0, 100_000.0), 1500.0);
        assert_eq!(together(400_000.0, 600_000.0), 1000.0);
        assert_eq!(together(200_000.0, 100_000.0), 1960.0, "no more than was tried");
    }

    #[test]
    fn a_planned_rate_is_judged_by_what_a_request_costs_all_at_once() {
        let line = "urls = [\"/\"]";
        let text = plan("").text.replace(line, &format!("{line}\nclock = \"constant\"\nrate = \"2500/s\""));
        let plan = Plan::parse("t", "t.toml", &text, Path::new("/")).unwrap();
        // One by one the arms bear 1960/s.
        let tried = tried([100, 101, 105]);
        let facts = facts(&plan, &tried);
        assert!(matches!(choose(&facts).unwrap(), Chosen::Duet(_)));
        let busy = |subject_ns| {
            facts.too_busy(&Together { subject_ns, generator_ns: 30_000.0, overhead: Nanos::ZERO })
        };
        assert_eq!(busy(200_000.0), None);
        assert!(busy(250_000.0).unwrap().contains("rate of 2500/s"));
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
