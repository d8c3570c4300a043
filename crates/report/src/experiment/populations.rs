//! Populations: what each got of each arm, and what it got more or less than of the baseline.
//!
//! Cold, pure: parts of the report like those of `sections`.

use crate::document::{Section, Table};
use crate::figures::{self, Change, NONE};
use crate::reading::Reading;

use bakeoff_results::PopulationResult;
use std::collections::BTreeMap;

/// What each got; nothing where all clients are alike.
pub(super) fn got(reading: &Reading<'_>) -> Section {
    let all = &reading.bundle.results.populations;
    let mut of_all = all.iter().flat_map(|population| population.arms.values());
    let may_refuse = of_all.any(|of| !of.refused.is_empty());
    let refused = may_refuse.then_some("refused");
    let head = ["population", "arm", "replies/s", "served"].into_iter().chain(refused);
    let head = head.chain(["failed", "p50", "p99", "late"]).collect();
    let cells = |population: &PopulationResult, arm: &str| {
        let of = population.arms.get(arm)?;
        let share = |counts: &BTreeMap<String, u64>| {
            let ended = of.requests.saturating_sub(of.cut).max(1);
            figures::share(counts.values().sum::<u64>() as f64 / ended as f64)
        };
        let rate = of.meters.get("replies_per_second");
        let (response, lateness) = (&of.response_ns, &of.lateness_ns);
        let mut cells = vec![
            rate.map_or(NONE.to_owned(), |rate| figures::value("1/s", *rate)),
            of.served.map_or(NONE.to_owned(), figures::share),
        ];
        cells.extend(may_refuse.then(|| share(&of.refused)));
        cells.extend([
            share(&of.errors),
            figures::time_of(response.count, response.p50),
            figures::time_of(response.count, response.p99),
            figures::time_of(lateness.count, lateness.p99),
        ]);
        Some(cells)
    };
    let loads = all.iter().map(|of| {
        let bound =
            of.max_lateness_ns.map(|ns| format!(", sent at most {} late", figures::value("ns", ns as f64)));
        format!("{}: {}{}", of.population, of.load, bound.unwrap_or_default())
    });
    let loads: Vec<String> = loads.collect();
    let note = format!(
        "{}. Served, refused and failed are shares of the requests that ended in a slice; late is how late the \
         generator sent, 99th percentile. Verdicts stand on all populations together.",
        loads.join("; ")
    );
    section(reading, "Populations, each by itself", note, head, cells)
}

/// The same against the baseline.
pub(super) fn changes(reading: &Reading<'_>) -> Section {
    let head = vec!["population", "arm", "replies/s", "interval", "p50", "interval", "p99", "interval"];
    let cells = |population: &PopulationResult, arm: &str| {
        let change = |meter| Change::cells(&population.comparisons, arm, meter);
        let cells = ["replies_per_second", "response_p50", "response_p99"].map(change).concat();
        cells.iter().any(|cell| !cell.is_empty()).then_some(cells)
    };
    let note = "Exploratory, as all that the verdict does not stand on.".to_owned();
    section(reading, "Populations, against the baseline", note, head, cells)
}

fn section(
    reading: &Reading<'_>,
    title: &str,
    note: String,
    head: Vec<&'static str>,
    cells: impl Fn(&PopulationResult, &str) -> Option<Vec<String>>,
) -> Section {
    let all = &reading.bundle.results.populations;
    let rows = all.iter().flat_map(|of| reading.rows_of(&of.population, |arm| cells(of, arm)));
    Section::new(title).table(Table::new(head, rows)).note(note)
}
