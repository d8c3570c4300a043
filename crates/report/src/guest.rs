//! What a guest counted, in words and cells: the same for terminal and page.
//!
//! Pure. Instructions have no unit that could be taken for a time.

use crate::caches::Table;
use crate::figures::{self, NONE};
use bakeoff_guest::Mode;
use bakeoff_guest::results::{
    Compared, Counted, Planted, Repeat, Resolved, Results, RowResult, Table as Counts,
};

/// Under the table that says whether it costs.
pub(crate) const READ: &str = "`more`: instructions an operation needs more; middle batch of a boot, middle of the boots. `range`: the change in boots that were perturbed alike. `2001`: published change of the time, not of instructions. Resolved is what every boot with it needs more than any without";
/// Under the table that says where.
pub(crate) const WHERE: &str = "Change against the first column in each mode";

/// The last mode's cost, a row an operation.
pub(crate) fn costs(table: &Counts) -> Table {
    let row = |row: &RowResult| {
        let last = row.modes.last();
        let of = |cell: fn(&Compared) -> String| last.map_or(NONE.to_owned(), cell);
        vec![
            row.name.clone(),
            of(|last| signed(last.more)),
            of(|last| percent(last.change)),
            of(range),
            published(row),
            of(|last| last.resolved.in_words().to_owned()),
        ]
    };
    let head = vec!["operation", "more", "change", "range", "2001", "resolved"];
    Table { head, rows: table.rows.iter().map(row).collect() }
}

/// Every mode's change.
pub(crate) fn modes(table: &Counts) -> Table {
    let head =
        ["operation", table.baseline.word()].into_iter().chain(table.modes.iter().map(|mode| mode.word()));
    let row = |row: &RowResult| {
        let changes = row.modes.iter().map(|mode| match mode.resolved {
            Resolved::No => format!("({})", percent(mode.change)),
            _ => percent(mode.change),
        });
        [row.name.clone(), counted(&row.baseline)].into_iter().chain(changes).collect()
    };
    Table { head: head.collect(), rows: table.rows.iter().map(row).collect() }
}

/// `4 boots of 9`, sample or whole.
pub(crate) fn extent(results: &Results) -> String {
    let boots = match results.ended == results.planned {
        true => format!("{} boots", results.ended),
        false => format!("{} of {} boots", results.ended, results.planned),
    };
    results.extent.as_ref().map_or(boots.clone(), |extent| format!("{boots}, {extent}"))
}

/// What the head of a table says: the statement, and the setting.
pub(crate) fn head(results: &Results, table: &Counts) -> String {
    let mitigations = if table.mitigations { "on" } else { "off" };
    let last = table.modes.last().copied().unwrap_or(table.baseline).word();
    format!("{}: {last} against {}, mitigations {mitigations}", results.statement, table.baseline.word())
}

/// How many rows cost something, in one sentence.
pub(crate) fn verdict(table: &Counts) -> String {
    let last: Vec<&Compared> = table.rows.iter().filter_map(|row| row.modes.last()).collect();
    let of = |resolved| last.iter().filter(|row| row.resolved == resolved).count();
    format!(
        "{} of {} rows need more instructions, {} fewer, {} the same; {} not resolved ({} boots of each mode)",
        of(Resolved::More),
        last.len(),
        of(Resolved::Fewer),
        of(Resolved::Equal),
        of(Resolved::No),
        table.boots
    )
}

/// Repeats and planted violations, a sentence each.
pub(crate) fn checks(results: &Results) -> Vec<String> {
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
        Some(logged) if planted.mode != Mode::Off => {
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
pub(crate) fn facts(results: &Results) -> Vec<(&'static str, String)> {
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

fn counted(counted: &Counted) -> String {
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
