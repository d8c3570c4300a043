//! `police check`: faults of rules, and the compiled table.

use super::RulesArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_police::explain::rate_in_words;
use bakeoff_layers_police::rules::Rules;
use bakeoff_layers_police::rules::table::{Overload, RuleAction, RuleTable, StageRule, When};
use clap::Args;
use std::fmt::Write;

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    rules: RulesArgs,
}

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let rules = args.rules.read()?;
    for warning in &rules.warnings {
        terminal::note(&format!("warning: {warning}"));
    }
    terminal::say(&about(&rules));
    Ok(Exit::Done)
}

/// The compiled table: ports, classes from highest to lowest, bounds, a row a rule.
fn about(rules: &Rules) -> String {
    let table = &rules.table;
    let count = table.rules.len();
    let mut text = format!("nothing is wrong; rules {count}, sha256 {}\n\n", table.digest);
    let ports: Vec<String> = table.ports.iter().map(u16::to_string).collect();
    let _ = writeln!(text, "listen {}", ports.join(" "));
    let shares = table.overload.as_ref().map_or(&[][..], |overload| &overload.shares);
    for (index, class) in table.classes.iter().enumerate() {
        let share = shares.get(index).map(|share| format!(" share {}", f64::from(*share) / 1000.0));
        let _ = writeln!(text, "class {} port {}{}", class.name, class.port, share.unwrap_or_default());
    }
    let _ = table.overload.as_ref().map(|overload| writeln!(text, "{}", bounds(overload)));
    if count > 0 {
        let mut rows = vec![["rule", "class", "rate", "burst", "refused", "line"].map(str::to_owned)];
        rows.extend(table.rules.iter().flat_map(|rule| row(table, rule)));
        text.push_str(&lined(&rows));
    }
    text
}

fn bounds(overload: &Overload) -> String {
    let when = match overload.when {
        When::Always => "rates hold always",
        When::Overload => "rates hold while a queue is at its bound",
    };
    format!("overload target {} ms; {when}", overload.target_ns as f64 / 1e6)
}

fn row(table: &RuleTable, rule: &StageRule) -> Vec<[String; 6]> {
    let class = rule.class.and_then(|class| table.classes.get(usize::from(class)));
    let class = class.map_or("-", |class| &class.name).to_owned();
    let none = || "-".to_owned();
    let (rate, burst) = match rule.action {
        RuleAction::Pass => ("any".to_owned(), none()),
        RuleAction::Refuse => ("none".to_owned(), none()),
        RuleAction::Police(rate) => (rate_in_words(rate), rate.burst().to_string()),
    };
    let word = rule.refuse.name().to_owned();
    let mut rows = vec![[rule.name.clone(), class, rate, burst, word.clone(), rule.line.to_string()]];
    rows.extend(rule.per.map(|per| {
        let each = format!("  each /{}", per.length);
        [each, none(), rate_in_words(per.rate), per.rate.burst().to_string(), word, rule.line.to_string()]
    }));
    rows
}

/// Aligns columns.
fn lined(rows: &[[String; 6]]) -> String {
    let widths: Vec<usize> =
        (0..6).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    let mut text = String::from("\n");
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}
