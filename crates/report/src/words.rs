//! The words of a report: verdicts, why a run ended.

use crate::figures::{self, Change};
use bakeoff_results::{ArmResult, Comparison, Results, WebstoneFigures};
use bakeoff_stats::{LOOKS, Verdict};

/// A moment as it was written down, RFC 9557, without what nobody reads: `2026-11-23T08:02:28Z`.
pub(crate) fn moment(started: &str) -> String {
    let zoned = started.split('[').next().unwrap_or_default();
    let (whole, fraction) = zoned.split_once('.').unwrap_or((zoned, ""));
    format!("{whole}{}", fraction.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The verdict as two words at most.
pub(crate) fn verdict(verdict: Verdict) -> String {
    verdict.as_str().replace('-', " ")
}

/// The verdict of a row. A figure that the verdict does not stand on gets none from fewer rounds than a first look has,
/// however clear it is.
pub(crate) fn verdict_of(c: &Comparison) -> String {
    let is_clear = || figures::is_clear(c.low, c.high);
    match c.verdict {
        Verdict::NotResolved if is_clear() && !c.primary && c.rounds < LOOKS[0] => {
            "too few rounds".to_owned()
        }
        other => verdict(other),
    }
}

/// What a comparison found; its sentence says it all.
pub(crate) fn headline(comparison: &Comparison) -> String {
    match comparison.sentence.trim() {
        "" => verdict(comparison.verdict),
        said => said.to_owned(),
    }
}

/// What the two equal servers say of the machine: no verdict, whatever the figures.
pub(crate) fn noise_floor(comparison: &Comparison) -> String {
    let change = Change::of(comparison);
    match comparison.sentence.trim() {
        _ if comparison.verdict == Verdict::Invalid => headline(comparison),
        "" => {
            format!("the noise floor: two equal servers differ by {} (CI {})", change.effect, change.interval)
        }
        said => said.to_owned(),
    }
}

/// What was full while an arm was measured, if anything was.
pub(crate) fn full(arm: &ArmResult) -> Option<String> {
    let all: Vec<&str> = arm.full.iter().map(|bound| bound.words.as_str()).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Why no more rounds were run.
pub(crate) fn stopped_by(results: &Results) -> &str {
    match results.stopped_by.as_str() {
        "verdicts" => "every arm had its verdict",
        "rounds" => "all rounds were run",
        "budget" => "the time budget was used up",
        "interrupted" => "the run was interrupted",
        "failed" => "a subject or the machine failed",
        other => other,
    }
}

/// Whether the run ended before its plan let it.
pub(crate) fn is_partial(results: &Results) -> bool {
    matches!(results.stopped_by.as_str(), "interrupted" | "failed")
}

/// `28 rounds, 1 min 32 s, seed 7`
pub(crate) fn extent(results: &Results) -> String {
    let rounds = if results.rounds == 1 { "round" } else { "rounds" };
    let time = figures::span(results.duration_ns);
    let how = match rounds_by_kind(results) {
        kinds if kinds.len() < 2 => String::new(),
        kinds => format!(" ({})", kinds.join(", ")),
    };
    format!("{} {rounds}{how}, {time}, seed {}", results.rounds, results.seed)
}

/// `10 in slots`, `10 in turn`, `8 at full speed`
pub(crate) fn rounds_by_kind(results: &Results) -> Vec<String> {
    let after = results.rounds_in_turn + results.rounds_at_full_speed;
    let main = if results.design.is_duet() { "in slots" } else { "in turn" };
    let kinds = [
        (results.rounds.saturating_sub(after), main),
        (results.rounds_in_turn, "in turn"),
        (results.rounds_at_full_speed, "at full speed"),
    ];
    kinds
        .into_iter()
        .filter(|(rounds, _)| *rounds > 0)
        .map(|(rounds, kind)| format!("{rounds} {kind}"))
        .collect()
}

/// Requests of a slice: `3,000`, or `3,000 to 6,000` where arms have numbers of their own.
pub(crate) fn slice(results: &Results) -> String {
    let work = &results.workload;
    let of = |arm: &String| work.requests_of.get(arm).copied().unwrap_or(work.slice_requests);
    let counts = || results.order.iter().map(of);
    let least = counts().min().unwrap_or(work.slice_requests);
    let most = counts().max().unwrap_or(work.slice_requests);
    match least == most {
        true => figures::count(most),
        false => format!("{} to {}", figures::count(least), figures::count(most)),
    }
}

/// The figure's name where room is short, in a workload of this kind; the meter's own name where
/// there is no shorter one.
pub(crate) fn short<'m>(kind: &str, meter: &'m str) -> &'m str {
    match meter {
        "subject_cpu_per_request" if bakeoff_meter::catalogue::makes_operations(kind) => "CPU/operation",
        "errors" if bakeoff_meter::catalogue::makes_operations(kind) => "failed operations",
        "operation_time" => "time/operation",
        "subject_cpu_per_request" => "CPU/request",
        "path_cpu_per_request" => "path CPU/request",
        "generator_cpu_per_request" => "generator CPU/req",
        "replies_per_second" => "replies/s",
        "bytes_per_second" => "bytes/s",
        "elapsed" => "elapsed",
        "command_cpu" => "CPU",
        "user_cpu" => "user CPU",
        "system_cpu" => "system CPU",
        "response_p50" => "response p50",
        "response_p90" => "response p90",
        "response_p99" => "response p99",
        "response_p999" => "response p99.9",
        "service_p50" => "service p50",
        "service_p99" => "service p99",
        "errors" => "failed requests",
        "subject_cpu_per_reply" => "CPU/served",
        "hit_ratio" => "hits",
        "byte_hit_ratio" => "bytes from a store",
        "hit_time" => "a hit takes",
        "miss_time" => "a miss takes",
        "program_ns" => "programs/request",
        "front_cpu_per_request" => "front CPU/request",
        "server_cpu_per_request" => "server CPU/request",
        "context_switches_per_request" => "switches/request",
        other => other,
    }
}

/// The figure's name in a sentence, in a workload of this kind.
pub(crate) fn noun<'m>(kind: &str, meter: &'m str) -> &'m str {
    bakeoff_meter::catalogue::find(meter).map_or(meter, |meter| meter.noun_in(kind))
}

/// `timeout 12,000; reset 1,440`, largest first.
pub(crate) fn tally<'c, K: std::fmt::Display + 'c>(counts: impl IntoIterator<Item = (K, &'c u64)>) -> String {
    let mut counts: Vec<(K, u64)> = counts.into_iter().map(|(key, count)| (key, *count)).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().map(|(key, n)| format!("{key} {}", figures::count(*n))).collect::<Vec<_>>().join("; ")
}

/// For a title inside a line.
pub(crate) fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

/// For a noun that begins a line.
pub(crate) fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Style class of the one in this place, of those without a baseline.
pub(crate) fn key(at: usize) -> String {
    const COLOURS: usize = 6;
    format!("arm-{}", at % COLOURS)
}

/// WebStone's metrics of one arm in one line.
pub(crate) fn webstone(metrics: &WebstoneFigures) -> String {
    format!(
        "{:.1} connections/s, {:.2} Mbit/s, mean response {}, load factor {:.1} of {} clients",
        metrics.connections_per_second,
        metrics.throughput_mbit_per_second,
        figures::span(metrics.response_mean_ns as u64),
        metrics.load_factor,
        metrics.clients
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_whole_seconds() {
        for (started, read) in [
            ("2026-11-23T08:02:28.933913094Z", "2026-11-23T08:02:28Z"),
            ("2026-11-23T08:02:28.9+01:00[Europe/Berlin]", "2026-11-23T08:02:28+01:00"),
            ("2026-11-23T08:02:28Z", "2026-11-23T08:02:28Z"),
        ] {
            assert_eq!(moment(started), read);
        }
    }
}
