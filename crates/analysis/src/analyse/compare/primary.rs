//! Primary rows, on which verdicts stand.

use super::super::decide::{
    Contradicted, Decided, Progress, decide, decide_null, differences, level, null_beside, null_differences,
};
use super::super::series::{Series, primary};
use super::also::{also_changed, users_rows};
use super::row::{FULL_SPEED, Of, blank, fill_cost, sums, times_invalid};
use super::words::change;
use bakeoff_meter::Meter;
use bakeoff_meter::catalogue::{self, HIT_RATIO, PATH_CPU, RESPONSE_P50, SUBJECT_CPU};
use bakeoff_plan::RoundDesign;
use bakeoff_results::{ArmResult, Comparison, CoresAt, LevelsResult, Setup, second};
use bakeoff_stats::{
    AlsoChanged, Amounts, Contradiction, Cost, Interval, Verdict, Wording, floor_in_words, levels,
    per_second, sentence,
};

/// Below this the requests of two arms are said to be the same work.
const SAME_BYTES: f64 = 0.001;
/// Within this the median reply takes as long.
const SAME_TIMES: f64 = 0.05;
/// Difference in hit ratio beyond which two caches are not the same.
const SAME_HITS: f64 = 0.01;

pub(super) fn primary_row(of: &Of<'_>, arm: &str, progress: Progress) -> Comparison {
    let Of { setup, table, series, arms } = *of;
    let meter = primary(setup);
    let why = arms[arm].invalid.clone().or_else(|| times_invalid(of, arm, meter));
    let decided = decide(setup, table, arm, why.as_deref(), progress);
    let of = &Of { series: if decided.contradicted.is_some() { &table.in_turn } else { series }, ..*of };
    let cpu = decided.judgement.cost.as_ref().filter(|_| meter.name == SUBJECT_CPU);
    let users = users_rows(of, arm);
    let also = if setup.workload.kind == "command" || setup.workload.makes_operations() {
        Vec::new() // no replies
    } else {
        let twin = users_rows(of, &second(setup.baseline_of(arm)));
        also_changed(&users, &twin, cpu.map(|cost| cost.share.interval))
    };
    let mut row = row_of(of, arm, meter, &decided, &also);
    if series.rounds() == 0 {
        let open = if row.verdict == Verdict::NoVerdict { "no verdict" } else { "not resolved" };
        row.sentence = format!("{open}: the run ended before the first round was complete");
        return row;
    }
    if row.verdict != Verdict::Invalid {
        row.sentence += &after_words(of, &row, &decided);
        row.also = also.iter().map(|also| also.clause.clone()).collect();
        row.beside = beside(of, arm, meter, &decided, &users);
    }
    row
}

fn row_of(of: &Of<'_>, arm: &str, meter: &Meter, decided: &Decided, also: &[AlsoChanged]) -> Comparison {
    let Of { setup, series, .. } = *of;
    let d = differences(series, setup, arm, meter).unwrap_or_default().first(decided.rounds);
    let mut row = blank(of, arm, meter, decided.rounds);
    row.primary = true;
    row.verdict = decided.judgement.verdict().unwrap_or(Verdict::NotResolved);
    row.levels = spread(&d.ratios, series);
    fill_cost(&mut row, decided.judgement.cost.as_ref(), d);
    row.ratio_of_sums = sums(of, arm, meter, decided.rounds);
    row.cores = cores(setup, meter, decided.judgement.cost.as_ref());
    row.sentence = sentence(&decided.judgement, &Wording { also, ..wording(of, &row, meter) });
    row.contradiction = decided.contradicted.as_ref().map(|duet| contradicted(&row, duet));
    row.depends_on_load = decided.at_full_speed.as_ref().map(|full| depends(&row, full));
    row
}

fn wording<'w>(of: &Of<'_>, row: &'w Comparison, meter: &'w Meter) -> Wording<'w> {
    let Of { setup, series, .. } = *of;
    let seconds_per_round = series.seconds_per_round;
    Wording {
        baseline: &row.baseline,
        of: row.baseline_value,
        unit: meter.unit.as_str(),
        figure: meter.noun_in(&setup.workload.kind),
        load: &row.at,
        seconds: seconds_per_round.unwrap_or(0.0) * f64::from(row.rounds),
        seconds_per_round,
        also: &[],
    }
}

/// The sentence that the verdict does not stand on the duet, and the duet's own result.
fn contradicted(row: &Comparison, contradicted: &Contradicted) -> String {
    let Contradicted { by, duet } = contradicted;
    let amounts = Amounts::of(&duet.amount, row.baseline_value, &row.unit);
    let said = amounts.range(duet.amount.interval.low, duet.amount.interval.high);
    let apart = match by {
        Contradiction::Sizes => "more than a tenth apart",
        Contradiction::Signs => "one says more and the other less",
    };
    format!(
        "these are the rounds in turn; in slots of one slice it was {said}{}, {apart}, so the verdict does not stand on those",
        amounts.unit()
    )
}

/// `+78 us at full speed (+68..+97): what it costs depends on the load`
fn depends(row: &Comparison, full: &Cost) -> String {
    let (amount, amounts) = (&full.amount, Amounts::of(&full.amount, row.baseline_value, &row.unit));
    format!(
        "{}{} at {FULL_SPEED} ({}): what it costs depends on the load",
        amounts.signed(amount.effect),
        amounts.unit(),
        amounts.range(amount.interval.low, amount.interval.high)
    )
}

/// Further facts that a reader of the sentence must know.
fn after_words(of: &Of<'_>, row: &Comparison, decided: &Decided) -> String {
    let said = row.depends_on_load.iter().chain(&row.contradiction);
    let mut words: String = said.map(|words| format!("; {words}")).collect();
    if decided.between_looks {
        let next = of.table.looks.next_after(decided.rounds as u32);
        words += &next.map_or_else(String::new, |look| {
            format!(
                "; it was ended after {} rounds, and the next verdict was due after {look}",
                decided.rounds
            )
        });
    }
    if of.setup.primary == SUBJECT_CPU {
        words += &path(of, &row.arm, decided);
    }
    words
}

/// Cores, noise floor, and a question if nothing at all differs.
fn beside(of: &Of<'_>, arm: &str, meter: &Meter, decided: &Decided, users: &[Comparison]) -> String {
    let Of { setup, series, .. } = *of;
    let baseline = setup.baseline_of(arm);
    let row = blank(of, arm, meter, decided.rounds);
    let cost = decided.judgement.cost.as_ref();
    let mut said = Vec::new();
    if let Some(at) = cores(setup, meter, cost) {
        let rate = per_second(at.per_s);
        let cores = Amounts::between(at.cores, at.low, at.high, at.cores, "");
        let less = if at.cores < 0.0 { " less" } else { "" };
        let cores = cores.signed(at.cores.abs());
        said.push(format!("at {rate} that is {} cores{less}", cores.trim_start_matches('+')));
    }
    let null = null_beside(series, baseline, arm, meter).unwrap_or_default().first(decided.rounds);
    if let Some(null) = null.cost(series.starts(), level(setup)) {
        said.push(floor_in_words(&null, cost, &wording(of, &row, meter)));
    }
    said.extend(was_it_on(of, arm, decided, users));
    said.join("; ")
}

/// The cost of so many requests a second.
fn cores(setup: &Setup, meter: &Meter, cost: Option<&Cost>) -> Option<CoresAt> {
    let at = |ns: f64| ns * setup.at_per_s / 1e9;
    let amount = &cost.filter(|_| meter.name == SUBJECT_CPU && setup.at_per_s > 0.0)?.amount;
    let (low, high) = (at(amount.interval.low), at(amount.interval.high));
    (!setup.workload.makes_operations()).then_some(CoresAt {
        per_s: setup.at_per_s,
        cores: at(amount.effect),
        low,
        high,
    })
}

/// A question whether the layer was on: both arms sent the same bytes and statuses, and cost and times are shown to be the
/// same. Few rounds that tell nothing ask nothing.
fn was_it_on(of: &Of<'_>, arm: &str, decided: &Decided, users: &[Comparison]) -> Option<String> {
    let Of { setup, arms, .. } = *of;
    // Commands and calls have no bytes that could differ, and what a layer does not touch costs nothing.
    if matches!(setup.workload.kind.as_str(), "calls" | "command") {
        return None;
    }
    let cost = &decided.judgement.cost.as_ref()?.share.interval;
    let times = users.iter().find(|row| row.meter == RESPONSE_P50)?;
    let times = Interval { low: times.low?, high: times.high? };
    if !cost.inside(setup.margin) || !times.inside(SAME_TIMES) {
        return None;
    }
    let (own, base) = (arms.get(arm)?, arms.get(setup.baseline_of(arm))?);
    let products = |arm: &ArmResult| {
        let fronts = arm.subject.fronts.iter().map(|front| front.front.clone());
        fronts.chain([arm.subject.server.clone()]).collect::<Vec<_>>()
    };
    let hits = |arm: &ArmResult| arm.meters.get(HIT_RATIO).copied().unwrap_or(0.0);
    let is_seen = products(own) != products(base) || (hits(own) - hits(base)).abs() > SAME_HITS;
    if is_seen || own.proof.as_ref().is_some_and(|proof| proof.active) {
        return None;
    }
    let per_reply = |bytes: u64, replies: u64| bytes as f64 / replies.max(1) as f64;
    let (ours, theirs) = (per_reply(own.bytes, own.replies), per_reply(base.bytes, base.replies));
    let same = (ours - theirs).abs() <= SAME_BYTES * theirs && own.statuses.keys().eq(base.statuses.keys());
    if !same || own.replies == 0 {
        return None;
    }
    let client = setup.subjects.get(arm).and_then(|subject| subject.client.as_ref());
    let is_asked_for =
        client.is_some_and(|client| client.words.to_lowercase().contains("accept-encoding: gzip"));
    Some(format!(
        "same bytes, same replies, same CPU, same times: was what differs between {} and {arm} in use?{}",
        setup.baseline_of(arm),
        why_unpacked([own, base].map(|arm| arm.subject.config.as_deref().unwrap_or_default()), is_asked_for)
    ))
}

/// Reason why nothing was unpacked, when two configurations differ in compression.
fn why_unpacked(configs: [&str; 2], is_asked_for: bool) -> &'static str {
    let packs = |line: &&str| {
        let line = line.to_lowercase();
        ["gzip", "deflate", "brotli", "zstd"].iter().any(|word| line.contains(word))
    };
    let [own, base] = configs.map(|text| text.lines().map(str::trim).filter(packs).collect::<Vec<_>>());
    match is_asked_for {
        _ if own == base => "",
        true => {
            " (no reply is smaller for what they say of gzip or the like: see its types and its least length)"
        }
        false => " (requests carry no Accept-Encoding, so no reply was compressed)",
    }
}

/// The A/A' pair of a stratum.
pub(super) fn null_row(of: &Of<'_>, baseline: &str, meter: &Meter) -> Comparison {
    let Of { setup, series, arms, .. } = *of;
    let arm = second(baseline);
    let judgement = decide_null(setup, series, baseline, meter, arms[&arm].invalid.as_deref());
    let mut row = blank(of, &arm, meter, series.rounds());
    row.primary = true;
    row.verdict = judgement.verdict().unwrap_or(Verdict::NotResolved);
    let d = null_differences(series, baseline, meter).unwrap_or_default();
    row.levels = spread(&d.ratios, series);
    fill_cost(&mut row, judgement.cost.as_ref(), d);
    row.sentence = match (&judgement.invalid, &judgement.cost) {
        (Some(why), _) => format!("invalid: {why}"),
        (None, Some(cost)) => format!(
            "the noise floor: {} by {} (CI {}, {} rounds)",
            match setup.workload.kind.as_str() {
                "files" => "two equal directories differ",
                "calls" => "two equal processes differ",
                _ if is_one_process(setup, baseline) => "one server, measured as two, differs from itself",
                _ => "two equal servers differ",
            },
            change(&cost.share).effect,
            change(&cost.share).interval,
            cost.share.n
        ),
        (None, None) => "the noise floor is not known: too few complete rounds".to_owned(),
    };
    row
}

/// From start to start, and within one.
fn spread(d: &[f64], series: &Series) -> Option<LevelsResult> {
    let found = levels(d, series.starts())?;
    Some(LevelsResult { starts: found.starts as u32, between_sd: found.between, within_sd: found.within })
}

/// A running server has one process, whatever we call it.
fn is_one_process(setup: &Setup, baseline: &str) -> bool {
    setup.subjects.get(baseline).is_some_and(|subject| subject.server == "url")
}

/// If subject and path disagree by more than both intervals allow, the sentence gives both. In a duet the arms share
/// the generator, so nothing is known of the path.
fn path(of: &Of<'_>, arm: &str, decided: &Decided) -> String {
    let Of { setup, series, .. } = *of;
    let found = catalogue::find(PATH_CPU)
        .filter(|_| series.design == RoundDesign::Pairs)
        .and_then(|path| differences(series, setup, arm, path))
        .and_then(|d| d.first(decided.rounds).cost(series.starts(), level(setup)));
    let Some((path, own)) = found.as_ref().zip(decided.judgement.cost.as_ref()) else { return String::new() };
    let (path, own) = (&path.amount, &own.amount);
    if (path.effect - own.effect).abs() <= path.interval.half_width() + own.interval.half_width() {
        return String::new();
    }
    let amounts = Amounts::of(path, path.effect, "ns");
    let moved = if path.interval.opposes(&own.interval) {
        ", so work went from one side of the connection to the other"
    } else {
        ""
    };
    format!(
        "; the whole path (subject, generator, soft interrupts): {}{} ({}){moved}",
        amounts.signed(path.effect),
        amounts.unit(),
        amounts.range(path.interval.low, path.interval.high)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_named_where_it_differs_and_did_nothing() {
        let (plain, packed) = ("server {\n root x;\n}", "server {\n gzip on;\n root x;\n}");
        assert!(why_unpacked([packed, plain], false).contains("carry no Accept-Encoding"));
        assert!(why_unpacked([packed, plain], true).contains("gzip or the like: see its types"));
        assert_eq!(why_unpacked([packed, &packed.replace("root x", "root y")], true), "");
    }
}
