//! The report of a guest: instructions counted with and without the layer.
//!
//! Pure. Instructions have no unit that could be taken for a time.

use crate::document::{Alarm, Block, Card, Document, Head, Section, Shown, State, Table};
use crate::figures::{self, NONE};
use crate::plot::forest::{Spread, panels};
use bakeoff_guest::BootMode;
use bakeoff_guest::results::{
    Compared, CountedInstructions, GuestResults, GuestTable, Planted, Repeat, Resolved, RowResult,
};

/// Under the table that says whether it costs.
const READ: &str = "`more`: instructions an operation needs more; middle batch of a boot, middle of the boots. `range`: the change in boots that were perturbed alike. `2001`: published change of the time, not of instructions. Resolved is what every boot with it needs more than any without";
/// Under the table that says where.
const WHERE: &str = "Change against the first column in each mode; in brackets what is not resolved";
/// What the drawing shows.
const DRAWN: &str = "Dot and line: change of the instructions counted here, and its range over boots. Upright bar: change of the time \
    published in 2001, where there is one";

/// Report of a guest: the answer, each operation beside the published figure, checks, and what was booted.
pub fn guest(results: &GuestResults, plan: &str) -> Document {
    let partial = (results.ended < results.planned).then(|| Alarm::partial(&extent(results)));
    let alarms = results.invalid.iter().map(|why| Alarm::invalid(why)).chain(partial).collect();
    let head = Head::of(&results.name, &results.title, extent(results), &results.started, results.bakeoff);
    let head = Head { alarms, ..head };
    let cards = results.tables.iter().filter_map(|table| card(results, table));
    let mut sections = vec![Section::verdicts("Verdicts").add(Block::Cards(cards.collect()))];
    sections.extend(results.tables.iter().enumerate().map(|(at, table)| counted_in(results, at, table)));
    let booted = Section::new("Conditions").line("What was booted").id("conditions").nav("Conditions");
    sections.extend([
        Section::new("Checks").id("checks").nav("Checks").bullets(&checks(results)),
        booted
            .about(format!("All figures are {}.", results.statement))
            .entries(facts(results))
            .page(Block::Bullets(results.sources.clone())),
        Section::new("Kept and modernised").bullets(&results.differs),
        Section::plan("To count it again:", None, plan),
    ]);
    Document::new(head, sections)
}

/// The answer for a setting, on the page; `None` where no mode was compared.
fn card(results: &GuestResults, table: &GuestTable) -> Option<Card> {
    let last: Vec<(&str, &Compared)> =
        table.rows.iter().filter_map(|row| Some((row.name.as_str(), row.modes.last()?))).collect();
    let looks = [
        (Resolved::More, (State::Costs, "\u{25b2}", "costs")),
        (Resolved::Fewer, (State::Saves, "\u{25bc}", "saves")),
        (Resolved::Equal, (State::Fine, "=", "no cost")),
        (Resolved::No, (State::Open, "?", "not resolved")),
    ];
    let (resolved, look) =
        looks.into_iter().find(|(wanted, _)| last.iter().any(|(_, row)| row.resolved == *wanted))?;
    let look = if results.invalid.is_some() { (State::Invalid, "\u{2715}", "invalid") } else { look };
    let mut found: Vec<_> = last.iter().filter(|(_, row)| row.resolved == resolved).collect();
    found.sort_by(|a, b| a.1.change.total_cmp(&b.1.change));
    let ((least, low), (most, high)) = found.first().zip(found.last())?;
    let sentence = format!(
        "{} in {} of {} operations, mitigations {}; by {} ({least}) to {} ({most}): {}",
        match resolved {
            Resolved::More => "needs more instructions",
            Resolved::Fewer => "needs fewer instructions",
            Resolved::Equal => "needs the same instructions",
            Resolved::No => "is not told from what boots differ by",
        },
        found.len(),
        last.len(),
        on_or_off(table),
        percent(low.change),
        percent(high.change),
        verdict(table)
    );
    let mut card = Card::new((table.modes.last()?.word(), KEY.to_owned()), look, &sentence);
    card.shown = Shown::Page;
    Some(card)
}

/// Style class of what is drawn.
const KEY: &str = "arm-0";

fn counted_in(results: &GuestResults, at: usize, table: &GuestTable) -> Section {
    let drawn: Vec<Spread> = table.rows.iter().filter_map(spread).collect();
    let drawn = panels(
        &drawn,
        "Operation",
        0.0,
        "Change of the instructions, beside the published change of the time",
    );
    let section = Section::new(head(results, table))
        .id(format!("table-{}", at + 1))
        .nav(format!("Mitigations {}", on_or_off(table)))
        .terminal(Block::Note(verdict(table)))
        .page(Block::Forest(drawn))
        .page(Block::Note(format!("{DRAWN}.")))
        .table(costs(table))
        .note(READ);
    match table.modes.len() {
        0 | 1 => section,
        _ => section
            .add(Block::Heading(format!("{}: every mode", results.statement)))
            .table(modes(table))
            .note(WHERE),
    }
}

/// The last mode's change with its range, and the published ones.
fn spread(row: &RowResult) -> Option<Spread> {
    let last = row.modes.last()?;
    Some(Spread {
        name: row.name.clone(),
        key: KEY.to_owned(),
        state: match last.resolved {
            Resolved::More => State::Costs,
            Resolved::Fewer => State::Saves,
            Resolved::Equal => State::Fine,
            Resolved::No => State::Open,
        },
        at: last.change,
        low: last.change_low,
        high: last.change_high,
        said: [percent(last.change), range(last)],
        published: row.published.iter().map(|published| published.percent / 100.0).collect(),
    })
}

/// The last mode's cost, a row an operation.
fn costs(table: &GuestTable) -> Table {
    let row = |row: &RowResult| {
        let last = row.modes.last();
        let of = |cell: fn(&Compared) -> String| last.map_or(NONE.to_owned(), cell);
        [
            row.name.clone(),
            of(|last| signed(last.more)),
            of(|last| percent(last.change)),
            of(range),
            published(row),
            of(|last| last.resolved.in_words().to_owned()),
        ]
    };
    Table::new(["operation", "more", "change", "range", "2001", "resolved"], table.rows.iter().map(row))
        .figures(4)
}

/// Every mode's change.
fn modes(table: &GuestTable) -> Table {
    let head =
        ["operation", table.baseline.word()].into_iter().chain(table.modes.iter().map(|mode| mode.word()));
    let row = |row: &RowResult| {
        let changes = row.modes.iter().map(|mode| match mode.resolved {
            Resolved::No => format!("({})", percent(mode.change)),
            _ => percent(mode.change),
        });
        [row.name.clone(), counted(&row.baseline)].into_iter().chain(changes).collect::<Vec<_>>()
    };
    Table::new(head, table.rows.iter().map(row))
}

fn boots(count: usize) -> String {
    if count == 1 { "1 boot".to_owned() } else { format!("{count} boots") }
}

/// `4 of 9 boots`, sample or whole.
fn extent(results: &GuestResults) -> String {
    let ended = match results.ended == results.planned {
        true => boots(results.ended),
        false => format!("{} of {}", results.ended, boots(results.planned)),
    };
    results.extent.as_ref().map_or(ended.clone(), |extent| format!("{ended}, {extent}"))
}

/// What the head of a table says: the statement, and the setting.
fn head(results: &GuestResults, table: &GuestTable) -> String {
    let last = table.modes.last().copied().unwrap_or(table.baseline).word();
    format!(
        "{}: {last} against {}, mitigations {}",
        results.statement,
        table.baseline.word(),
        on_or_off(table)
    )
}

const fn on_or_off(table: &GuestTable) -> &'static str {
    if table.mitigations { "on" } else { "off" }
}

/// How many rows cost something, in one sentence.
fn verdict(table: &GuestTable) -> String {
    let last: Vec<&Compared> = table.rows.iter().filter_map(|row| row.modes.last()).collect();
    let of = |resolved| last.iter().filter(|row| row.resolved == resolved).count();
    format!(
        "{} of {} rows need more instructions, {} fewer, {} the same; {} not resolved ({} of each mode)",
        of(Resolved::More),
        last.len(),
        of(Resolved::Fewer),
        of(Resolved::Equal),
        of(Resolved::No),
        boots(table.boots)
    )
}

/// Repeats and planted violations, a sentence each.
fn checks(results: &GuestResults) -> Vec<String> {
    let repeats = results.repeats.iter().map(repeat);
    let domain = results.server_domain.iter().map(|domain| format!("nginx ran as {domain}"));
    repeats.chain(domain).chain(results.planted.iter().map(planted)).collect()
}

fn repeat(repeat: &Repeat) -> String {
    let words = repeat.boot.in_words();
    match &repeat.differ[..] {
        [] => format!("{words}: all {} rows are the same to the instruction", repeat.equal),
        differ => format!("{words}: {} rows differ: {}", differ.len(), differ.join(", ")),
    }
}

fn planted(planted: &Planted) -> String {
    let what = if planted.what == "port" { "a forbidden port" } else { "a forbidden file" };
    let logged = match planted.logged {
        Some(logged) if planted.mode != BootMode::Off => {
            let refusals = if logged == 1 { "refusal" } else { "refusals" };
            format!("; its kernel logged {logged} {refusals}")
        }
        _ => String::new(),
    };
    format!(
        "{}: {} of {} requests for {what} were refused{logged}",
        planted.mode.word(),
        planted.refused,
        planted.asked
    )
}

/// What was booted, name and value.
fn facts(results: &GuestResults) -> Vec<(&'static str, String)> {
    let packages =
        results.packages.iter().map(|package| ("package", format!("{} {}", package.name, package.version)));
    let rest = [
        ("kernel (SHA-256)", results.kernel_sha256.clone()),
        ("policy (SHA-256)", results.policy_sha256.clone()),
        ("machine", results.qemu.clone()),
        ("CPU used here", figures::span(results.cpu_ns)),
    ];
    packages.chain(rest).collect()
}

fn counted(counted: &CountedInstructions) -> String {
    match counted.median {
        small if small < 1000.0 => format!("{small:.1}"),
        large => figures::count(large.round() as u64),
    }
}

fn signed(more: f64) -> String {
    let sign = if more < 0.0 { "-" } else { "+" };
    match more.abs() {
        0.0 => "0".to_owned(),
        small if small < 1000.0 => format!("{sign}{small:.1}"),
        large => format!("{sign}{}", figures::count(large.round() as u64)),
    }
}

/// `+33.8 %`; what is not 0 and would look so has more digits, what is many times as much fewer.
fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        small if small.abs() < 0.05 => format!("{small:+.3} %"),
        large if large.abs() >= 1000.0 => format!("{large:+.0} %"),
        percent => format!("{percent:+.1} %"),
    }
}

fn range(compared: &Compared) -> String {
    let (low, high) = (percent(compared.change_low), percent(compared.change_high));
    format!("{}..{high}", low.trim_end_matches(" %"))
}

fn published(row: &RowResult) -> String {
    let words: Vec<&str> =
        row.published.iter().map(|published| published.text.trim_end_matches(" %")).collect();
    if words.is_empty() { NONE.to_owned() } else { format!("{} %", words.join("/")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_exact_where_they_are_small() {
        assert_eq!((signed(79.5).as_str(), signed(-4_735_954.0).as_str()), ("+79.5", "-4,735,954"));
        assert_eq!((percent(0.3379).as_str(), percent(0.0001).as_str()), ("+33.8 %", "+0.010 %"));
        assert_eq!((percent(0.0).as_str(), percent(33.914).as_str()), ("0 %", "+3391 %"));
    }
}
