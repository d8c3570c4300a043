//! Results in sentences, and warnings of what spoils figures.

use super::point::{intervals, telling};
use super::words::{named, of_pass, place, rate};
use super::{books, bypass, overload, tails, trend};
use crate::directory::StoredBakeoff;
use crate::plan::CachePlan;
use crate::records::RunRecord;
use crate::results::{CutShort, Downtime, EntrantResults, FaultCount, Point};
use crate::scale::{FEWEST_REPLIES, SHORTEST};
use crate::transactions::DROPPED;
use bakeoff_meter::ErrorClass;
use bakeoff_robots::judge::RunFault;
use bakeoff_units::Nanos;
use bakeoff_wire::parts::PartSet;

/// Lateness from which robots measure themselves.
const LATE: Nanos = Nanos::from_millis(10);
const BUSY: f64 = 0.9;
/// Difference of clocks above which judgements about age are spoilt. A Date has whole seconds.
pub const CLOCKS_AGREE_S: u64 = 1;

/// State of the origin's clock: `is 5 s behind the robots'`. `other` is the clock that it is compared with.
pub fn clock_in_words(ahead_s: i64, other: &str) -> String {
    let apart = ahead_s.unsigned_abs();
    match ahead_s {
        _ if apart <= CLOCKS_AGREE_S => format!("agrees with {other} to within {CLOCKS_AGREE_S} s"),
        1.. => format!("is {apart} s ahead of {other}"),
        _ => format!("is {apart} s behind {other}"),
    }
}

/// The result of an entrant.
pub(super) fn sentence(plan: &CachePlan, entrant: &EntrantResults) -> String {
    if let Some(why) = &entrant.failed {
        return format!("did not finish: {why}");
    }
    let Some(point) = telling(&entrant.points) else {
        return "no rate was measured".to_owned();
    };
    let faults = entrant.faults.iter().filter(|fault| !fault.only_counted);
    let (cheats, faults): (Vec<&FaultCount>, Vec<&FaultCount>) =
        faults.partition(|fault| books::is_cheat(&fault.label));
    // First of all: a cache that cheats has no other figure; and every other figure of an overloaded rate is that of a
    // growing queue.
    let mut parts: Vec<String> = disagreement(&cheats).into_iter().chain(harm(&faults)).collect();
    parts.extend(overload::first_words(entrant));
    match entrant.downtime.as_slice() {
        [] => parts.extend(at_a_rate(plan, entrant, point)),
        outages => parts.extend(outages.iter().map(back)),
    }
    parts.extend(bypass::words(entrant));
    let failures = failures(entrant);
    parts.extend(match faults.as_slice() {
        [] if failures.is_some() || !cheats.is_empty() => within_chance(entrant),
        [] => within_chance(entrant).or_else(|| Some("no faults".to_owned())),
        [one] => Some(format!("one kind of fault, {}", one.label)),
        [worst, ..] => Some(format!("{} kinds of faults, the worst {}", faults.len(), worst.label)),
    });
    parts.extend(failures);
    parts.join("; ")
}

/// The sentence that the counts of robots and origin do not agree.
fn disagreement(cheats: &[&FaultCount]) -> Option<String> {
    let named: Vec<String> = cheats.iter().map(|fault| format!("{} {}", fault.count, fault.label)).collect();
    let excluded = RunFault::ALL.into_iter().filter(|of| cheats.iter().any(|one| one.label == of.row().name));
    let excluded: Vec<&str> = excluded.filter_map(RunFault::excludes).collect();
    (!named.is_empty()).then(|| {
        format!(
            "what it gave and what the origin sent do not agree ({}; {}): no figure of it counts",
            named.join(", "),
            excluded.join("; ")
        )
    })
}

/// Replies that are too bad at any count, with what the worst kind means.
fn harm(faults: &[&FaultCount]) -> Option<String> {
    let harmful: Vec<&&FaultCount> = faults.iter().filter(|fault| fault.harm.at_any_count()).collect();
    let worst = harmful.first()?;
    let named: Vec<String> = harmful.iter().map(|fault| format!("{} {}", fault.count, fault.label)).collect();
    Some(format!("not to be used: {} ({})", named.join(", "), worst.meaning))
}

/// What of the counts of both ends does not agree, and is too little to accuse anybody.
fn within_chance(entrant: &EntrantResults) -> Option<String> {
    let few = entrant.faults.iter().filter(|fault| fault.only_counted && books::is_cheat(&fault.label));
    let few: Vec<String> = few.map(|fault| format!("{} {}", fault.count, fault.label)).collect();
    (!few.is_empty())
        .then(|| format!("no faults beyond 1 % of the requests, and counted: {}", few.join(", ")))
}

/// The requests that failed. Those under way when a run was broken off do not count; those cut off long after the last
/// phase without a reply have hung.
fn failures(entrant: &EntrantResults) -> Option<String> {
    let was_broken_off = entrant.runs().any(|point| point.cut_short.is_some());
    let counts = |error: &&FaultCount| !was_broken_off || error.label != ErrorClass::CutOff.as_str();
    let errors = || entrant.errors.iter().filter(counts);
    let share = 100.0 * errors().map(|error| error.share).sum::<f64>();
    let share = if share < 0.1 { "less than 0.1 %".to_owned() } else { format!("{share:.1} %") };
    errors()
        .next()
        .map(|worst| format!("{share} of the requests got no whole reply, most often {}", worst.label))
}

/// Its verdict, and its figures at the telling rate.
fn at_a_rate(plan: &CachePlan, entrant: &EntrantResults, point: &Point) -> Vec<String> {
    let mut parts: Vec<String> = not_judged(plan).or_else(|| standing(entrant)).into_iter().collect();
    let (place, mean) = (place(entrant, point), Nanos::new(point.mean_ns));
    parts.push(match point.rate_per_s {
        Some(_) => format!("{place} the mean response time is {mean}"),
        None => {
            format!(
                "replies came at {} {place}; the mean response time is {mean}",
                rate(point.reply_rate_per_s)
            )
        }
    });
    if let Some(hits) = point.hit_ratio {
        let possible = point.achievable.map(|best| match best.when_fetched.0 {
            endless if hits <= endless => {
                format!(", of {:.1} % that an endless cache would have had", endless * 100.0)
            }
            endless => format!(
                ", more than the {:.1} % of an endless cache that joins no requests under way",
                endless * 100.0
            ),
        });
        let is_void = point.rule.is_some_and(|rule| rule.hit_ratio.is_none());
        let offered = point.offered_hit_ratio.map(|offered| match (offered * 100.0, is_void) {
            (offered, false) => format!(" ({offered:.1} % offered)"),
            (offered, true) => {
                format!(" ({offered:.1} % offered: not judged, as no cache could have had them)")
            }
        });
        parts.push(format!(
            "{:.1} % of the replies are hits{}{}",
            hits * 100.0,
            possible.unwrap_or_default(),
            offered.unwrap_or_default()
        ));
    }
    if plan.tls && !entrant.is_direct() {
        parts.push("0 % of the replies are hits by design, as they go through tunnels".to_owned());
    }
    if let Some(cpu) = point.cpu_per_request_ns {
        parts.push(format!("a request costs {} of CPU", Nanos::new(cpu)));
    }
    parts
}

/// Replaces the rates that passed, where a plan's rule of 1999 is not judged.
fn not_judged(plan: &CachePlan) -> Option<String> {
    plan.hit_ratio?;
    match plan.tls {
        true => Some("over TLS the rule of 1999 is not judged".to_owned()),
        false if plan.scale.get() < 1.0 => {
            Some(format!("at scale {} the rule of 1999 is not judged", plan.scale))
        }
        false => None,
    }
}

/// The time when it was back.
fn back(downtime: &Downtime) -> String {
    let after =
        |ns: Option<u64>| ns.map_or_else(|| "never".to_owned(), |ns| format!("after {}", Nanos::new(ns)));
    let Some(away) = downtime.away_ns else { return "away until the run ended".to_owned() };
    let away = Nanos::new(away);
    if downtime.first_good_ns.is_none() {
        return format!("away for {away}, and no good reply since it was started again");
    }
    let survived = downtime.survived().map(|share| {
        let (hits, asked) = (downtime.known_hits, downtime.known_asked);
        format!(
            "; of what it had before {:.0} % were still there ({hits} of {asked} asked for)",
            share * 100.0
        )
    });
    format!(
        "away for {away}; once started again it gave the first good reply {}{}, the first miss {}, the first hit {}; \
         {} requests lost{}",
        after(downtime.first_good_ns),
        downtime.known_to_ns.map_or_else(String::new, |ns| format!(" (known to {})", Nanos::new(ns))),
        after(downtime.first_miss_ns),
        after(downtime.first_hit_ns),
        downtime.lost_in_all(),
        survived.unwrap_or_default()
    )
}

/// Verdict by the rule of 1999; none if that was not judged.
fn standing(entrant: &EntrantResults) -> Option<String> {
    if entrant.points.iter().all(|point| point.rule.is_none()) {
        return None;
    }
    Some(match (entrant.passed_up_to_per_s, entrant.failed_from_per_s) {
        (Some(passed), None) => format!("passes at every rate, up to {}", rate(passed)),
        (Some(passed), Some(failed)) if failed > passed => {
            format!("passes up to {}, fails from {} on", rate(passed), rate(failed))
        }
        (Some(passed), Some(failed)) => {
            format!("passes at {} and fails at the lower {}", rate(passed), rate(failed))
        }
        (None, Some(_)) => "passes at no rate by the rule of 1999".to_owned(),
        (None, None) => "no rate was measured to its end".to_owned(),
    })
}

/// Warnings of what spoils figures.
pub(super) fn warnings(plan: &CachePlan, stored: &StoredBakeoff, entrants: &[EntrantResults]) -> Vec<String> {
    let mut warnings: Vec<String> = overload::warnings(entrants).collect();
    warnings.extend(stored.runs.iter().flat_map(of_run));
    warnings.extend(stored.runs.iter().enumerate().filter_map(dropped));
    warnings.extend(stored.standing().flat_map(|(number, run)| trends(stored, number, run)));
    for entrant in entrants {
        warnings.extend(entrant.runs().filter_map(|point| cut_short(entrant, point)));
        warnings.extend(entrant.runs().filter_map(|point| too_short(plan, entrant, point)));
        warnings.extend(entrant.runs().flat_map(|point| tails::of(entrant, point)));
        if let Some(fill) =
            entrant.fill.as_ref().filter(|fill| fill.stored_bytes < fill.capacity_bytes.map(|c| c / 2))
        {
            let when = if plan.fill.is_some() { "when it was measured" } else { "at its end" };
            warnings.push(format!("{}: its store was not half full {when} ({})", entrant.name, fill.ended));
        }
    }
    if plan.scale.get() < 1.0 && plan.think_mean() > Nanos::ZERO && !plan.tls {
        warnings.push(format!(
            "scale {}: hit ratios are lower than at full scale; see what the scale leaves as it is",
            plan.scale
        ));
    }
    warnings
}

/// Warnings of a run whose phases are results: robots or clocks that spoil them.
fn of_run(run: &RunRecord) -> Vec<String> {
    let Some((_, asked)) = run.purpose.measured() else { return Vec::new() };
    let mut warnings = Vec::new();
    let late = Nanos::new(run.lateness_p99_ns);
    let busy = run.robots_busy * 100.0;
    let whose = match asked {
        Some(asked) => format!("{} at {}", run.entrant.name, rate(asked)),
        None => run.entrant.name.clone(),
    } + &of_pass(run.pass);
    // Without a rate no request is due at a time of its own.
    if asked.is_some() && (late > LATE || run.robots_busy > BUSY) {
        warnings.push(format!(
            "{whose}: the robots were the limit: 1 % of the requests were sent {late} late or later, and their thread \
             was busy for {busy:.0} % of its time; the rate is not the cache's"
        ));
    } else if run.robots_busy > BUSY {
        warnings.push(format!(
            "{whose}: the robots were the limit: their thread was busy for {busy:.0} % of its time; the replies a second \
             are not the cache's"
        ));
    }
    if let Some(ahead) = run.clock_ahead_s.filter(|ahead| ahead.unsigned_abs() > CLOCKS_AGREE_S) {
        let clock = clock_in_words(ahead, "the robots'");
        warnings.push(format!("{whose}: the origin's clock {clock}: ages are not to be trusted"));
    }
    if !run.without.is_empty() {
        let parts: PartSet = run.without.iter().copied().collect();
        warnings.push(format!(
            "{whose}: it went on without part {parts} of the run; what was asked from then on was less than the plan says"
        ));
    }
    warnings
}

/// Warnings of a cache's measured phases whose end is unlike their begin.
fn trends(stored: &StoredBakeoff, number: usize, run: &RunRecord) -> Vec<String> {
    let is_result = run.purpose.measured().is_some() && !run.is_direct();
    let measured = run.phases.iter().filter(|line| line.measured && is_result);
    measured.flat_map(|line| trend::of(run, &intervals(stored, number, line))).collect()
}

/// A warning of a run whose log of transactions is incomplete.
fn dropped((number, run): (usize, &RunRecord)) -> Option<String> {
    let logged = run.transactions.filter(|logged| logged.dropped > 0)?;
    Some(format!(
        "{}, run {number}: {DROPPED}: {} of {} requests are not in its log of transactions: they came faster than the \
         disk took them, or it was full; its figures have them all",
        run.entrant.name,
        logged.dropped,
        logged.rows + logged.dropped
    ))
}

/// Of a phase that did not go to its end.
/// Says that a bake-off was gone on with: caches were started and filled once more, in the middle of it.
pub(super) fn made_again(runs: usize) -> Option<String> {
    let what = match runs {
        0 => return None,
        1 => "a run was broken off and made again".to_owned(),
        runs => format!("{runs} runs were broken off and made again"),
    };
    Some(format!("{what}: the cache was started anew and filled once more before the rates that were left"))
}

fn cut_short(entrant: &EntrantResults, point: &Point) -> Option<String> {
    let why = point.cut_short?;
    let counts = match why {
        _ if point.rule.is_none() => "",
        CutShort::BrokenOff => ", and it neither passed nor failed",
        CutShort::TooManyErrors | CutShort::TookTooLong => ", and it did not pass",
    };
    Some(format!(
        "{}: cut short after {} ({}); its figures are those of a part{counts}",
        named(entrant, point),
        Nanos::from_secs_f64(point.seconds),
        why.in_words()
    ))
}

/// A warning of a phase without a time limit whose end came before it was long enough: this was not known before the
/// run.
fn too_short(plan: &CachePlan, entrant: &EntrantResults, point: &Point) -> Option<String> {
    let ends_by_time =
        plan.phases().iter().any(|phase| phase.name == point.phase && phase.goal.duration.is_some());
    let is_long = point.seconds >= SHORTEST.as_secs_f64() && point.replies as f64 >= FEWEST_REPLIES;
    if ends_by_time || is_long || point.cut_short.is_some() {
        return None;
    }
    Some(format!(
        "{}: it held {} and {} replies; below {SHORTEST} and {FEWEST_REPLIES:.0} replies figures say little",
        named(entrant, point),
        Nanos::from_secs_f64(point.seconds),
        point.replies
    ))
}

#[cfg(test)]
mod tests {
    use super::clock_in_words;

    #[test]
    fn a_clock_is_ahead_or_behind_and_never_less_than_nothing_ahead() {
        for (ahead_s, words) in [
            (0, "agrees with ours to within 1 s"),
            (-1, "agrees with ours to within 1 s"),
            (2, "is 2 s ahead of ours"),
            (-5, "is 5 s behind ours"),
        ] {
            assert_eq!(clock_in_words(ahead_s, "ours"), words);
        }
    }
}
