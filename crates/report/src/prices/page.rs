//! A price list in a terminal, as Markdown and as JSON: amounts before percentages.

use super::{Estimate, PriceFamily, PriceList, PriceRow};
use crate::document::{Page, Section, State, Table};
use crate::figures::{self, NONE};
use crate::json;
use bakeoff_stats::{Amounts, Verdict, change_in_words, duration, points_in_words};
use std::cmp::Ordering;

const COLUMNS: [&str; 9] = ["layer", "costs", "interval", "share", "over", "at", "verdict", "day", "needs"];

/// The list for a terminal of `width` columns.
pub fn prices(list: &PriceList, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.title("What layers cost", &list.dates());
    page.paragraph(&list.limits(), State::Plain);
    Section::default().entries(list.head()).print(&mut page);
    for family in &list.families {
        let table = Table::new(COLUMNS, family.rows.iter().map(|row| row.cells().to_vec())).figures(3);
        let section = Section::new(format!("{}: {}", family.plan, family.question));
        section.table(table).print(&mut page);
        family.notes.iter().for_each(|note| page.bullet(note));
    }
    page.finish()
}

/// The list as one JSON object.
pub fn prices_json(list: &PriceList) -> String {
    json::pretty(list)
}

/// The list as Markdown: a section a plan.
pub fn prices_markdown(list: &PriceList) -> String {
    let mut text = format!("# What layers cost\n\n{}\n\n", list.limits());
    for (what, said) in list.head() {
        text += &format!("- **{}**: {}\n", escaped(&what), escaped(&said));
    }
    list.families.iter().for_each(|family| text += &markdown(family));
    text
}

fn markdown(family: &PriceFamily) -> String {
    let mut text = format!("\n## {}\n", escaped(&family.plan));
    if !family.question.is_empty() {
        text += &format!("\n{}\n", escaped(&family.question));
    }
    let run = family.shipped.then(|| format!("bakeoff run {}", family.plan));
    let commands: Vec<String> = family.install.iter().cloned().chain(run).collect();
    if !commands.is_empty() {
        text += &format!("\n    {}\n", commands.join("\n    "));
    }
    if !family.about.is_empty() {
        text += &format!("\n{}\n", escaped(&family.about));
    }
    text += &format!("\n{}", line(&COLUMNS.map(str::to_owned)));
    text += &line(&COLUMNS.map(|_| "---".to_owned()));
    family.rows.iter().for_each(|row| text += &line(&row.cells()));
    if !family.notes.is_empty() {
        text += "\n";
        family.notes.iter().for_each(|note| text += &format!("- {}\n", escaped(note)));
    }
    text
}

fn line(cells: &[String; 9]) -> String {
    format!("| {} |\n", cells.each_ref().map(|cell| escaped(cell)).join(" | "))
}

/// Names and sentences come from plans: they are one line, and end no cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").split_whitespace().collect::<Vec<_>>().join(" ")
}

impl PriceList {
    fn dates(&self) -> String {
        match &self.days {
            (first, last) if first == last => first.clone(),
            (first, last) => format!("{first} to {last}"),
        }
    }

    /// What stands once on top.
    fn head(&self) -> Vec<(String, String)> {
        let mut head = vec![
            ("machine".to_owned(), self.machine.clone()),
            ("measured".to_owned(), self.dates()),
            ("versions".to_owned(), self.versions.iter().cloned().collect::<Vec<_>>().join(", ")),
        ];
        let noise = self.noise.join("; ");
        head.push((
            "two equal ones differ by".to_owned(),
            if noise.is_empty() { NONE.to_owned() } else { noise },
        ));
        if let Some((low, high)) = self.used {
            head.push((
                "CPU used by others before a run".to_owned(),
                format!("{low} to {high} % of the machine's"),
            ));
        }
        head.extend(self.busy.iter().map(|busy| ("BUSY".to_owned(), busy.clone())));
        head
    }

    fn limits(&self) -> String {
        format!(
            "Amounts change little with the load and much with the processor. *Up to* is the upper end of an interval that \
             leaves open whether there is a cost; *needs* says how much longer a run would settle it. Intervals at {} or \
             more.",
            figures::level(self.level)
        )
    }
}

impl PriceRow {
    fn cells(&self) -> [String; 9] {
        let [costs, interval] =
            self.amount.map_or([NONE.to_owned(), NONE.to_owned()], |amount| self.amounts(amount));
        [
            self.layer.clone(),
            costs,
            interval,
            self.share.map_or(String::new(), |share| self.share(share)),
            self.over.clone(),
            self.at.clone(),
            self.verdict.replace('-', " "),
            self.day.clone(),
            self.needs_s.map_or(String::new(), |(least, most)| needs(least, most)),
        ]
    }

    /// `2.6 us`, `up to 3.1 us`, and the interval.
    fn amounts(&self, amount: Estimate) -> [String; 2] {
        let Estimate { value, low, high } = amount;
        let reach = low.abs().max(high.abs());
        let amounts = Amounts::between(value, low, high, reach, &self.unit);
        let unit = amounts.unit();
        let costs = match side(amount) {
            Ordering::Equal if self.verdict == Verdict::NotResolved.as_str() => {
                format!("up to {}{unit}", amounts.plain(high))
            }
            _ => format!("{}{unit}", amounts.signed(value)),
        };
        [costs, format!("{}{unit}", amounts.range(low, high))]
    }

    fn share(&self, share: Estimate) -> String {
        match self.unit.as_str() {
            "share" => points_in_words(share.value, share.low, share.high).effect,
            _ => change_in_words(share.value, share.low, share.high).effect,
        }
    }
}

fn side(of: Estimate) -> Ordering {
    bakeoff_stats::Interval { low: of.low, high: of.high }.side()
}

/// `20 min to 2 h`
fn needs(least: f64, most: Option<f64>) -> String {
    match most {
        Some(most) => format!("{} to {}", duration(least), duration(most)),
        None => format!("{} or more", duration(least)),
    }
}
