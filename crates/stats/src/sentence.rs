//! A judgement in words.
//!
//! One line that stands alone in a table or a terminal. It claims what the verdict allows and
//! no more; how many decimals a number gets is decided in `numbers`.

use crate::numbers::{Numbers, unit};
use crate::resolution::rounds_to_settle;
use crate::{Decision, Effect, Judgement, Scale, Verdict};

/// From this effect on (three times as much) a factor reads better than a percentage.
const FACTOR_FROM: f64 = 2.0;

/// What the sentence cannot know from the judgement.
#[derive(Clone, Copy, Debug)]
pub struct Wording<'a> {
    /// The figure's noun: "CPU per request", "elapsed time", "hit ratio".
    pub figure: &'a str,
    /// How long one round takes, to say how long more of them would.
    pub seconds_per_round: Option<f64>,
}

/// The judgement as one line without a full stop.
pub fn sentence(j: &Judgement, wording: &Wording<'_>) -> String {
    if j.verdict() == Some(Verdict::Invalid) {
        return format!("invalid: {}", j.invalid.as_deref().unwrap_or("no reason given"));
    }
    if j.verdict() == Some(Verdict::NoVerdict) {
        return no_verdict(j);
    }
    let Some(e) = &j.effect else {
        return "not resolved: too few usable rounds".to_owned();
    };
    let numbers = Numbers::of(e, j.scale);
    match j.decision {
        Decision::GoOn => format!("undecided after {} rounds: {}", e.n, numbers.range_with_unit()),
        Decision::Final(Verdict::Costs) => amount("costs", e, j.scale, wording.figure),
        Decision::Final(Verdict::Saves) => amount("saves", e, j.scale, wording.figure),
        Decision::Final(Verdict::NoCost) => no_cost(e, j),
        Decision::Final(Verdict::NotWorse) => {
            format!("not worse by {} or more (CI {}, {} rounds)", margin(j), numbers.signed_range(), e.n)
        }
        Decision::Final(_) => {
            format!("not resolved: {}{}", numbers.range_with_unit(), outlook(e, j, wording))
        }
    }
}

fn no_verdict(j: &Judgement) -> String {
    match &j.null {
        Some(null) => {
            let floor = Numbers::of(null, j.scale).with_unit(null.effect.abs());
            format!("the machine cannot tell two equal servers apart better than {floor}")
        }
        None => "no verdict: the two equal servers could not be compared".to_owned(),
    }
}

fn no_cost(e: &Effect, j: &Judgement) -> String {
    let numbers = Numbers::of(e, j.scale);
    let mut words = format!("no cost above {} can be seen (CI {})", margin(j), numbers.signed_range());
    if !e.interval.contains(0.0) {
        let does = if e.effect > 0.0 { "costs" } else { "saves" };
        let size = numbers.with_unit(e.effect.abs());
        words += &format!(", {does} {size}, less than the margin of {}", margin(j));
    }
    words
}

/// `costs 1.4 % CPU per request (CI 0.9..1.9, 28 rounds)`
fn amount(does: &str, e: &Effect, scale: Scale, figure: &str) -> String {
    if scale == Scale::LogRatio && e.effect >= FACTOR_FROM {
        return factor(does, e, figure);
    }
    let numbers = Numbers::of(e, scale);
    let (mut near, mut far) = (e.interval.low.abs(), e.interval.high.abs());
    if near > far {
        (near, far) = (far, near);
    }
    let of = if scale == Scale::Difference { "of " } else { "" };
    let size = numbers.with_unit(e.effect.abs());
    format!("{does} {size} {of}{figure} (CI {}..{}, {} rounds)", numbers.plain(near), numbers.plain(far), e.n)
}

/// `costs 3.4 times as much CPU per request (CI 3.2..3.6 times, 10 rounds)`
fn factor(does: &str, e: &Effect, figure: &str) -> String {
    let digits = if e.effect >= 99.0 || e.interval.half_width() >= 5.0 { 0 } else { 1 };
    let times = |x: f64| format!("{:.digits$}", 1.0 + x);
    format!(
        "{does} {} times as much {figure} (CI {}..{} times, {} rounds)",
        times(e.effect),
        times(e.interval.low),
        times(e.interval.high),
        e.n
    )
}

/// `; about 64 more rounds (11 min) would settle 1 %`
fn outlook(e: &Effect, j: &Judgement, wording: &Wording<'_>) -> String {
    let all = rounds_to_settle(e, j.margin);
    let more = u64::from(all).saturating_sub(e.n as u64).max(1);
    if all == u32::MAX {
        return "; no number of rounds would settle it".to_owned();
    }
    let time = wording.seconds_per_round.map(|s| format!(" ({})", duration(s * more as f64)));
    let rounds = if more == 1 { "round" } else { "rounds" };
    format!("; about {more} more {rounds}{} would settle {}", time.unwrap_or_default(), margin(j))
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86400.0),
    }
}

/// The margin as it was set, without trailing zeros.
fn margin(j: &Judgement) -> String {
    format!("{} {}", (j.margin * 1e6).round() / 1e4, unit(j.scale))
}
