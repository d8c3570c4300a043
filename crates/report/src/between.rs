//! Two runs side by side, for the terminal.

use crate::document::{Entry, Page, Section, State, Table};
use crate::figures::{self, NONE};
use crate::studies::stated;
use crate::words;
use bakeoff_analysis::between::{Between, Changed, ComparisonRow, RunNamed};
use bakeoff_meter::{Unit, catalogue};
use bakeoff_stats::Amounts;

/// Unit of the difference of two shares.
const POINTS: &str = "points";

/// What `compare-results` prints for a terminal of `width` columns; as [`Document::text`](crate::Document::text).
pub fn between(between: &Between, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.title(&title(between), &format!("{} and {} rounds", between.new.rounds, between.old.rounds));
    costs(&mut page, between);
    plain(&mut page, between);
    published(&mut page, between);
    differs(&mut page, between);
    limits(&mut page, [between]);
    page.finish()
}

/// The same of two suites, part by part; the published figures once, behind all of them.
pub fn between_suites(parts: &[(String, Between)], width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    for (part, between) in parts {
        page.heading(&format!("{part}: {}", title(between)));
        costs(&mut page, between);
        plain(&mut page, between);
        differs(&mut page, between);
    }
    parts.iter().for_each(|(_, between)| published(&mut page, between));
    limits(&mut page, parts.iter().map(|(_, between)| between));
    page.finish()
}

/// A run and others that are each held against it, from other machines as a rule: a table for each arm and figure.
pub fn between_many(first: &str, others: &[(String, Between)], width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    let Some((_, one)) = others.first() else { return page.finish() };
    page.title(&format!("{} runs of {}", others.len() + 1, one.new.name), "costs on each machine");
    let runs = std::iter::once((first, &one.old))
        .chain(others.iter().map(|(dir, between)| (dir.as_str(), &between.new)));
    let told = |run: &RunNamed| format!("{}; {}, {} rounds", run.machine, day(&run.started), run.rounds);
    Section::default().entries(runs.map(|(dir, run)| (dir.to_owned(), told(run)))).print(&mut page);
    let tables: Vec<Section> = one.rows.iter().filter_map(|row| beside(first, others, row)).collect();
    if tables.is_empty() {
        page.paragraph("No arm has a cost in all of these runs.", State::Plain);
    }
    tables.iter().for_each(|table| table.print(&mut page));
    limits(&mut page, others.iter().map(|(_, between)| between));
    page.finish()
}

/// What an arm costs in every run, each against its own baseline; `None`: it has no cost.
fn beside(first: &str, others: &[(String, Between)], of: &ComparisonRow) -> Option<Section> {
    let same =
        |row: &&ComparisonRow| (&row.arm, &row.meter, &row.operation) == (&of.arm, &of.meter, &of.operation);
    let told = |row: &ComparisonRow| {
        let amount = row.amount.map(|cost| (cost, in_unit(row, &cost)));
        amount.or_else(|| row.cost.map(|cost| (cost, in_shares(row, &cost))))
    };
    let found = others.iter().filter_map(|(dir, between)| {
        let row = between.rows.iter().find(same)?;
        let (cost, told) = told(row)?;
        Some((dir, row, cost, told))
    });
    let mut rows = Vec::new();
    for (dir, row, cost, Told { then, now, change }) in found {
        if rows.is_empty() {
            rows.push(vec![first.to_owned(), then, String::new()]);
        }
        let clear = if cost.is_clear() { "" } else { ", may be nothing" };
        rows.push(vec![dir.clone(), now, format!("{change}{clear}{}", not_to_be_used(row))]);
    }
    if rows.is_empty() {
        return None;
    }
    let workload = &others.first()?.1.new.workload;
    let title = format!("{}: {}, against each run's own baseline", of.arm, words::noun(workload, &of.meter));
    let columns = ["run", "costs", "more than the first"];
    Some(Section::new(title).table(Table::new(columns, rows)))
}

/// A cost in the old run, in the new one, and what it changed by, each with its interval.
struct Told {
    then: String,
    now: String,
    change: String,
}

/// `+2.6 us (2.3..2.9)`
fn in_unit(row: &ComparisonRow, cost: &Changed) -> Told {
    let reach = cost.old.abs().max(cost.new.abs());
    let amounts = Amounts::between(cost.change, cost.change_low, cost.change_high, reach, &row.unit);
    let told =
        |at, low, high| format!("{}{} ({})", amounts.signed(at), amounts.unit(), amounts.range(low, high));
    Told {
        then: told(cost.old, cost.old_low, cost.old_high),
        now: told(cost.new, cost.new_low, cost.new_high),
        change: told(cost.change, cost.change_low, cost.change_high),
    }
}

/// `+1.4 % (CI +1.1..+1.7)`; a change is one in points.
fn in_shares(row: &ComparisonRow, cost: &Changed) -> Told {
    let digits = bakeoff_stats::decimals(cost.change, cost.change_low, cost.change_high);
    let signed = |x| figures::signed(x, digits);
    let told =
        |at, unit: &str, low, high| format!("{} {unit} (CI {}..{})", signed(at), signed(low), signed(high));
    let unit = if row.unit == Unit::Share.as_str() { POINTS } else { "%" };
    Told {
        then: told(cost.old, unit, cost.old_low, cost.old_high),
        now: told(cost.new, unit, cost.new_low, cost.new_high),
        change: told(cost.change, POINTS, cost.change_low, cost.change_high),
    }
}

fn title(between: &Between) -> String {
    let (old, new) = (&between.old, &between.new);
    format!("{} of {} against {} of {}", new.name, day(&new.started), old.name, day(&old.started))
}

fn published(page: &mut Page, between: &Between) {
    if let Some(section) = &between.study {
        let rows: Vec<_> = section.rows.iter().collect();
        stated(section, &rows).iter().for_each(|section| section.print(page));
    }
}

/// The day of an RFC 3339 time.
fn day(started: &str) -> &str {
    started.split('T').next().unwrap_or(started)
}

/// What each arm cost against its own baseline then and now.
fn costs(page: &mut Page, between: &Between) {
    let entry = |row: &ComparisonRow| {
        let said = cost(&between.new.workload, row);
        (!said.is_empty()).then(|| Entry::new(row.arm.as_str(), said).state(state(row)))
    };
    let entries: Vec<Entry> = between.rows.iter().filter_map(entry).collect();
    if entries.is_empty() {
        page.paragraph("No arm has a cost in both runs.", State::Plain);
    }
    page.definitions(&entries);
}

/// In the figure's unit, then as shares where both runs have the same design.
fn cost(kind: &str, row: &ComparisonRow) -> String {
    let parts: Vec<String> = row
        .amount
        .iter()
        .map(|cost| amount(row, cost))
        .chain(row.cost.iter().map(|cost| share(row, cost)))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("{}: {}{}", words::noun(kind, &row.meter), parts.join("; "), not_to_be_used(row))
}

fn not_to_be_used(row: &ComparisonRow) -> String {
    row.invalid.as_ref().map_or(String::new(), |why| format!("; NOT TO BE USED: {why}"))
}

/// `was +2.6 us (2.3..2.9), now ...`
fn amount(row: &ComparisonRow, cost: &Changed) -> String {
    let only =
        if row.cost.is_none() { "; not as shares: a duet and pairs are of different loads" } else { "" };
    format!("{}{only}", was(in_unit(row, cost), cost))
}

fn share(row: &ComparisonRow, cost: &Changed) -> String {
    was(in_shares(row, cost), cost)
}

fn was(Told { then, now, change }: Told, cost: &Changed) -> String {
    let clear = if cost.is_clear() { "" } else { ", which may be nothing" };
    format!("was {then}, now {now}: changed by {change}{clear}")
}

fn state(row: &ComparisonRow) -> State {
    let more_is_worse = catalogue::find(&row.meter).is_none_or(|meter| meter.more_is_worse);
    match row.cost.as_ref().or(row.amount.as_ref()) {
        _ if row.invalid.is_some() => State::Invalid,
        Some(cost) if cost.is_clear() && (cost.change > 0.0) == more_is_worse => State::Costs,
        Some(cost) if cost.is_clear() => State::Saves,
        _ => State::Open,
    }
}

fn plain(page: &mut Page, between: &Between) {
    let rows: Vec<Vec<String>> =
        between.rows.iter().filter_map(|row| plain_row(&between.new.workload, row)).collect();
    if !rows.is_empty() {
        let title = "The figures themselves, each run on its own machine and at its own hour";
        let table = Table::new(["arm", "figure", "was", "now", "change", "interval"], rows);
        Section::new(title).table(table).print(page);
    }
}

fn plain_row(kind: &str, row: &ComparisonRow) -> Option<Vec<String>> {
    let figure = row.figure.as_ref()?;
    let digits = bakeoff_stats::decimals(figure.change, figure.change_low, figure.change_high);
    let (low, high) =
        (figures::signed(figure.change_low, digits), figures::signed(figure.change_high, digits));
    let value = |x| if row.invalid.is_some() { NONE.to_owned() } else { figures::value(&row.unit, x) };
    let operation = row.operation.as_ref().map_or(String::new(), |operation| format!(", {operation}"));
    Some(vec![
        format!("{}{operation}", row.arm),
        words::short(kind, &row.meter).to_owned(),
        value(figure.old),
        value(figure.new),
        format!("{} %", figures::signed(figure.change, digits)),
        format!("{low}..{high} %"),
    ])
}

fn differs(page: &mut Page, between: &Between) {
    let section = Section::new("What else is not the same in the two runs");
    let entries = between
        .differs
        .iter()
        .map(|differs| (differs.what.as_str(), format!("{} -> {}", differs.old, differs.new)));
    match between.differs.is_empty() {
        true => section.note("Nothing that was noted."),
        false => section.entries(entries),
    }
    .print(page);
}

fn limits<'b>(page: &mut Page, all: impl IntoIterator<Item = &'b Between>) {
    page.heading("Before you believe it");
    page.bullet(
        "The rounds of two runs are not pairs. The intervals know how rounds differ inside each run, and not how \
         two runs of the same thing differ: other processes, another hour, another machine are in the change. To \
         tell two versions apart, run both as arms of one plan.",
    );
    page.bullet(
        "Costs are what each run found against its own baseline, which takes most of the machine out. The figures \
         themselves have no such protection.",
    );
    let mut rows = all.into_iter().flat_map(|between| &between.rows);
    if let Some(level) = rows.find_map(|row| row.cost.or(row.amount).or(row.figure)).map(|c| c.level) {
        page.note(&format!("Intervals at {}.", figures::level(level)));
    }
}
