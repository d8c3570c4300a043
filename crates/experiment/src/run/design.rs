//! Pairs or a duet, and when arms are started anew: decided once, from the plan and the pilot.
//!
//! Pure. A duet loads all arms at once at the same rate. What disturbs the machine then disturbs
//! all of them alike, so small differences of CPU per request show (Bulej and others, "Duet
//! benchmarking", 2020); times and rates do not, because the arms share the cores.

use super::RunError;
use super::bench::Tried;
use crate::plan::{Design, DesignChoice, Fresh, LoadClock, Plan, RequestWork, Work};
use crate::results::{DesignSetup, RestartSetup, second};
use bakeoff_meter::catalogue::SUBJECT_CPU;
use bakeoff_stats::{DUET_CONFIRM_ABOVE, DUET_CONFIRM_ROUNDS, LOOKS};
use bakeoff_units::{Nanos, Ratio};

/// Share of its cores that all arms together, or the generator, may need in a duet: below it,
/// waiting for one another does not change what a request costs.
const BUSY: f64 = 0.6;
/// Share of the time that waits for storage above which a cell counts as bound by it.
const IO_BOUND: f64 = 0.1;
/// In `auto` a larger difference in the pilot is left to pairs: they resolve it, and a duet would
/// have to be confirmed by them anyway.
const CLEAR: f64 = 0.10;
/// More arms than this leave each too little of a core.
const MOST_ARMS: usize = 8;
/// Wall time of a duet's slice.
const SLICE: Nanos = Nanos::from_millis(800);
/// Fewest requests of it.
const REQUESTS: usize = 1000;
/// Rounds of one start, where nothing else is said.
const RESTART_EVERY: u32 = 3;
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

/// The design, and for a duet the requests of a slice.
pub(crate) fn choose(facts: &Facts<'_>) -> Result<(DesignSetup, Option<usize>), RunError> {
    let pairs = |reason: String| DesignSetup { design: Design::Pairs, reason, ..DesignSetup::default() };
    if facts.plan.design == DesignChoice::Pairs {
        return Ok((pairs("as the plan says".to_owned()), None));
    }
    let is_auto = facts.plan.design == DesignChoice::Auto;
    let obstacle = obstacle(facts).or_else(|| is_auto.then(|| clear_difference(facts)).flatten());
    match (obstacle, is_auto) {
        (Some(why), true) => Ok((pairs(format!("chosen by the pilot: {why}")), None)),
        (Some(why), false) => Err(RunError::DuetRefused { why }),
        (None, _) => Ok(duet(facts)),
    }
}

fn duet(facts: &Facts<'_>) -> (DesignSetup, Option<usize>) {
    let rate = rate(facts);
    let requests = match &facts.plan.work {
        Work::Requests(RequestWork { slice_requests: Some(planned), .. }) => *planned as usize,
        _ => ((rate * SLICE.get() as f64 / 1e9) as usize).max(REQUESTS),
    };
    let reason = match facts.plan.design {
        DesignChoice::Auto => {
            "chosen by the pilot: the arms are alike within 10 %, and nothing but their own work differs"
        }
        _ => "as the plan says",
    };
    let setup = DesignSetup {
        design: Design::Duet,
        reason: reason.to_owned(),
        rate_per_s: Some(rate),
        confirm_above: Some(DUET_CONFIRM_ABOVE),
        confirm_rounds: Some(DUET_CONFIRM_ROUNDS),
    };
    (setup, Some(requests))
}

/// What makes a duet dishonest here.
fn obstacle(facts: &Facts<'_>) -> Option<String> {
    let plan = facts.plan;
    let Work::Requests(work) = &plan.work else { return Some("commands take turns".to_owned()) };
    if facts.primary != SUBJECT_CPU {
        return Some(format!("it shows CPU per request only, and the verdict stands on {}", facts.primary));
    }
    if plan.arms.iter().any(|arm| arm.slice_requests.is_some()) {
        return Some("arms have numbers of requests of their own, and all at once get the same".to_owned());
    }
    if plan.link.is_some() {
        return Some("the arms would share the link".to_owned());
    }
    if facts.tried.len() > MOST_ARMS {
        return Some(format!("{} arms at once leave each too little of a core", facts.tried.len()));
    }
    if let Some(arm) = plan.arms.iter().find(|arm| !arm.limits.is_none()) {
        return Some(format!("{} has limits, and what it fills or waits for touches the others", arm.name));
    }
    if let Some(arm) = plan.arms.iter().find(|arm| matches!(arm.fresh, Fresh::Start | Fresh::PageCache)) {
        return Some(format!("what is fresh in {} is so for the whole machine", arm.name));
    }
    let waits = facts.tried.iter().map(|arm| arm.io_wait).fold(0.0, f64::max);
    if waits > IO_BOUND {
        let share = Ratio::new(waits).map_or_else(String::new, |share| share.to_string());
        return Some(format!("the arms wait for storage ({share} of the time in the pilot)"));
    }
    planned_rate(work).filter(|planned| *planned > most(facts)).map(|planned| {
        format!(
            "the plan's rate of {planned:.0}/s for every arm at once is more than 60 % of the cores can do"
        )
    })
}

/// `auto`: an arm whose cost is clear at first sight, which is more than the two processes of its
/// baseline differ by.
fn clear_difference(facts: &Facts<'_>) -> Option<String> {
    let names = facts.plan.names();
    let logs: Vec<f64> =
        facts.tried.iter().filter_map(|arm| Some((arm.subject_cpu?.get() as f64).ln())).collect();
    let log_of = |name: &str| logs.get(names.iter().position(|known| known == name)?).copied();
    let plan = facts.plan;
    let judged = (0..plan.arms.len()).filter(|arm| !plan.baselines.is(*arm));
    judged.into_iter().find_map(|arm| {
        let (name, baseline) = (&plan.arms[arm].name, &plan.arms[plan.baselines.of(arm)].name);
        let (log, a, a2) = (log_of(name)?, log_of(baseline)?, log_of(&second(baseline))?);
        let (reference, noise) = ((a + a2) / 2.0, (a - a2).abs());
        let change = log - reference;
        let share = Ratio::new(change.exp_m1())?;
        (change.abs() > CLEAR.max(2.0 * noise))
            .then(|| format!("{name} differs by {share} of CPU per request"))
    })
}

fn planned_rate(work: &RequestWork) -> Option<f64> {
    match work.clock {
        LoadClock::Constant(rate) | LoadClock::Poisson(rate) => Some(rate.get()),
        _ => None,
    }
}

fn rate(facts: &Facts<'_>) -> f64 {
    let planned = match &facts.plan.work {
        Work::Requests(work) => planned_rate(work),
        Work::Command(_) | Work::Files(_) => None,
    };
    planned.unwrap_or_else(|| most(facts).floor().max(1.0))
}

/// Requests per second and arm at which neither side's cores are busier than they may be.
fn most(facts: &Facts<'_>) -> f64 {
    let sum = |time: fn(&Tried) -> Nanos| facts.tried.iter().map(|arm| time(arm).get()).sum::<u64>() as f64;
    let of = facts.of.max(1) as f64;
    let subject = sum(|arm| arm.subject_cpu.unwrap_or(Nanos::ZERO)).max(1.0) / of;
    let generator = sum(|arm| arm.generator_cpu).max(1.0) / of;
    let bound = |cores: usize, ns_per_request: f64| BUSY * cores.max(1) as f64 * 1e9 / ns_per_request;
    bound(facts.subject_cores, subject).min(bound(facts.generator_cores, generator))
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
            each_until: LOOKS[0],
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
mod tests {
    use super::*;
    use std::path::Path;

    fn plan(line: &str) -> Plan {
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

    fn chosen(plan: &Plan, tried: &[Tried]) -> Result<(DesignSetup, Option<usize>), RunError> {
        let cores = 1;
        choose(&Facts {
            plan,
            primary: SUBJECT_CPU,
            tried,
            of: 1000,
            subject_cores: cores,
            generator_cores: cores,
        })
    }

    #[test]
    fn auto_takes_a_duet_for_what_is_alike_and_pairs_for_what_is_not() {
        let auto = plan("design = \"auto\"");
        let (setup, requests) = chosen(&auto, &tried([100, 101, 105])).unwrap();
        // 306 us for a request at every arm: 0.6 of a core does 1960 of them.
        assert_eq!((setup.design, setup.rate_per_s, requests), (Design::Duet, Some(1960.0), Some(1568)));
        // From the mean of the two baselines, as everywhere: 125 / sqrt(100 x 101).
        let (setup, requests) = chosen(&auto, &tried([100, 101, 125])).unwrap();
        assert_eq!((setup.design, requests), (Design::Pairs, None));
        assert!(setup.reason.contains("b differs by 24.4 %"), "{}", setup.reason);
    }

    #[test]
    fn a_duet_that_would_not_be_honest_is_refused_with_its_reason() {
        let duet = plan("design = \"duet\"");
        assert!(chosen(&duet, &tried([100, 101, 125])).is_ok(), "asked for: pairs will confirm");
        let mut waiting = tried([100, 100, 100]);
        waiting[2].io_wait = 0.3;
        let why = chosen(&duet, &waiting).unwrap_err().to_string();
        assert!(why.contains("wait for storage (30 %") && why.contains("design = \"pairs\""), "{why}");
        let own = plan("design = \"auto\"").text.replace("burn", "slice_requests = 50\nburn");
        let own = Plan::parse("t", "t.toml", &own, Path::new("/")).unwrap();
        let (setup, requests) = chosen(&own, &tried([100, 101, 102])).unwrap();
        assert_eq!((setup.design, requests), (Design::Pairs, None));
        assert!(setup.reason.contains("numbers of requests of their own"), "{}", setup.reason);
        let linked = plan("design = \"duet\"\nlink = \"100Mbit\"");
        assert!(chosen(&linked, &waiting).unwrap_err().to_string().contains("share the link"));
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
        let due: Vec<u32> = (0..17).filter(|round| quick.is_due(*round)).collect();
        assert_eq!(due, [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15], "ten starts at the first look");
    }
}
