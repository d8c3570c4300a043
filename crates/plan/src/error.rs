//! Errors in plans, shown at their place in the text.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use toml_edit::{Document, Item, Table};

/// Reasons why a plan cannot be run.
#[derive(Debug)]
pub enum PlanError {
    /// The file.
    Unreadable {
        /// Its path.
        path: String,
        /// Error from the system.
        why: std::io::Error,
    },
    /// The text: the message with the line and a mark under the place.
    Wrong(String),
}

/// Origin of a plan that is made from a command line.
pub const COMMAND_LINE: &str = "the plan made from the command line";
/// Its keys that are named as the flags that they are from; `primary` is from `--decide`.
const FLAGS: [&str; 14] = [
    "at",
    "budget",
    "confirm",
    "decide_at",
    "design",
    "insecure",
    "loads",
    "log",
    "margin",
    "max_age",
    "quantile",
    "robots",
    "seed",
    "slo",
];

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, why } => {
                write!(f, "{path}: {why}; give a plan file, or a name that `bakeoff plans` lists")
            }
            Self::Wrong(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for PlanError {}

impl PlanError {
    /// An error at a place of the text, with what helps.
    pub fn at(origin: &str, text: &str, span: Range<usize>, what: &str, help: Option<&str>) -> Self {
        let span = span.start.min(text.len())..span.end.clamp(span.start.min(text.len()), text.len());
        if origin == COMMAND_LINE {
            return Self::Wrong(of_flag(&text[..span.start], what, help));
        }
        let snippet =
            Snippet::source(text).path(origin).fold(true).annotation(AnnotationKind::Primary.span(span));
        let mut report = vec![Group::with_title(Level::ERROR.primary_title(what)).element(snippet)];
        if let Some(help) = help {
            report = report.into_iter().map(|group| group.element(Level::HELP.message(help))).collect();
        }
        Self::Wrong(Renderer::plain().render(&report).to_string())
    }

    /// An error of a key's value, at the value where the text has the key: a flag may have brought the value.
    pub fn of_key(origin: &str, text: &str, key: &str, why: impl fmt::Display) -> Self {
        let document = Document::parse(text).ok();
        let span = document.as_ref().and_then(|document| place_of(document.as_table(), key));
        let what = format!("`{key}`: {why}");
        match span {
            Some(span) => Self::at(origin, text, span, &what, None),
            None => Self::Wrong(format!("{origin}: {what}")),
        }
    }

    /// An error of the text as a whole.
    pub fn of_whole(origin: &str, why: impl fmt::Display) -> Self {
        Self::Wrong(format!("{origin}: {why}"))
    }

    /// The TOML library's error of a file that has these sections, in words.
    pub fn of_file(origin: &str, text: &str, error: &toml::de::Error, sections: &str) -> Self {
        Self::toml(origin, text, error.span().unwrap_or(0..0), error.message(), sections)
    }

    /// The same of an experiment's plan.
    pub(super) fn of_toml(origin: &str, text: &str, span: Range<usize>, message: &str) -> Self {
        let sections = "a plan has [experiment], [workload] and an [arm.NAME] for each arm; \
                        every results directory holds one as plan.toml";
        Self::toml(origin, text, span, message, sections)
    }

    /// Unknown keys are put in our words.
    fn toml(origin: &str, text: &str, span: Range<usize>, message: &str, sections: &str) -> Self {
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        match quoted.split_first() {
            Some((unknown, known)) if message.starts_with("unknown field") && !known.is_empty() => {
                let what = format!("there is no key `{unknown}` here");
                Self::at(origin, text, span, &what, Some(&suggestion(unknown, known)))
            }
            Some((missing, [])) if message.starts_with("missing field") => {
                Self::at(origin, text, span, &format!("`{missing}` is missing"), Some(sections))
            }
            _ => match of_type(text, &span, message) {
                Some((what, help)) => Self::at(origin, text, span, &what, Some(&help)),
                None => Self::at(origin, text, span, message, None),
            },
        }
    }
}

/// An error of a plan that nobody has seen: it names the flag that the value is from, where it is from one.
fn of_flag(before: &str, what: &str, help: Option<&str>) -> String {
    let key = before.lines().last().and_then(|line| Some(line.split_once('=')?.0.trim())).unwrap_or_default();
    let from = match key {
        "primary" => "--decide: ".to_owned(),
        key if FLAGS.contains(&key) => format!("{}: ", flag(key)),
        _ => String::new(),
    };
    // Other keys that the help names are flags, too.
    let named = |help: &str| {
        FLAGS.iter().fold(help.to_owned(), |help, key| help.replace(&format!("`{key}`"), &flag(key)))
    };
    let help = help.map(|help| format!("; {}", named(help))).unwrap_or_default();
    format!("error: {from}{what}{help}")
}

fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// Where a key's value stands, in whichever table has the key first.
fn place_of(table: &Table, key: &str) -> Option<Range<usize>> {
    let own = table.get(key).and_then(Item::span);
    own.or_else(|| table.iter().find_map(|(_, item)| place_of(item.as_table()?, key)))
}

/// Errors of parts that have nothing to do with one another, to be told together.
#[derive(Debug, Default)]
pub(super) struct Faults(RefCell<Vec<PlanError>>);

impl Faults {
    /// The outcome of a part; an error is kept, and gives `None`.
    pub(super) fn keep<T>(&self, part: Result<T, PlanError>) -> Option<T> {
        part.map_err(|error| self.0.borrow_mut().push(error)).ok()
    }

    /// All of them, in the order of the text as far as it was checked in that order; repetitions are left out.
    pub(super) fn into_one(self) -> PlanError {
        let mut told: Vec<String> = self.0.into_inner().iter().map(PlanError::to_string).collect();
        told.dedup();
        PlanError::Wrong(told.join("\n\n"))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

/// Units, and the keys that are most easily typed without.
const UNITS: [(&str, &[&str]); 8] = [
    (
        "s",
        &[
            "budget",
            "timeout",
            "think",
            "slice",
            "warm",
            "time_limit",
            "start_timeout",
            "connect_timeout",
            "confirm",
        ],
    ),
    ("ms", &["delay", "slo"]),
    ("us", &["burn", "burn_in_flight", "burn_per_wakeup"]),
    ("/s", &["rate", "at", "max_rate"]),
    ("%", &["margin", "loss", "max_errors", "max_unparsable", "precision", "share", "missing"]),
    ("Mbit", &["link"]),
    ("MB", &["memory", "max_site", "bytes"]),
    ("MB/s", &["read", "write"]),
];

/// The message for a value of the wrong type, in our words: the fault, and what to write.
fn of_type(text: &str, span: &Range<usize>, message: &str) -> Option<(String, String)> {
    let wanted = message.split_once("expected ").map(|(_, wanted)| wanted)?;
    let before = text.get(..span.start)?.trim_end().strip_suffix('=')?.trim_end();
    let key = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    let value = text.get(span.clone())?.trim();
    let unit = UNITS.iter().find(|(_, keys)| keys.contains(&key)).map(|(unit, _)| *unit);
    let positive = if value.parse::<f64>().is_ok_and(|number| number > 0.0) { value } else { "10" };
    Some(match wanted {
        "a string" | "a borrowed string" if unit.is_none() => {
            (format!("`{key}` is a text"), format!("write {key} = \"{value}\""))
        }
        "a boolean" => (format!("`{key}` is true or false"), format!("write {key} = true")),
        "usize" | "u64" | "u32" | "u16" => {
            (format!("`{key}` is a whole number, 0 or more"), format!("write {key} = 10"))
        }
        "a sequence" => {
            let words: Vec<String> =
                value.trim_matches('"').split_whitespace().map(|word| format!("\"{word}\"")).collect();
            (format!("`{key}` is a list"), format!("write {key} = [{}]", words.join(", ")))
        }
        _ => {
            let unit = unit?;
            (
                format!("`{key}` has a unit, and stands in quotes"),
                format!("write {key} = \"{positive}{unit}\""),
            )
        }
    })
}

/// The nearest of the known words, or all of them.
pub fn suggestion(word: &str, known: &[&str]) -> String {
    near_miss(word, known).unwrap_or_else(|| {
        format!("known are {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
    })
}

/// `did you mean ...?`, if a known word is near.
pub fn near_miss(word: &str, known: &[&str]) -> Option<String> {
    let distance = |other: &&&str| strsim::damerau_levenshtein(word, other);
    let near = known.iter().min_by_key(distance)?;
    (distance(&near) <= (word.len() / 3).max(1)).then(|| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_from_the_command_line_is_told_with_its_flag() {
        let text = "[experiment]\nmax_age = \"5\"\n\n[arm.a]\nconfig = \"x\"\n";
        let said = |value: &str| {
            let at = text.find(value).unwrap();
            PlanError::at(COMMAND_LINE, text, at..at + value.len(), "`5` is no time", Some("write \"5s\""))
                .to_string()
        };
        assert_eq!(said("\"5\""), "error: --max-age: `5` is no time; write \"5s\"");
        assert_eq!(said("\"x\""), "error: `5` is no time; write \"5s\"", "no flag has this name");
    }

    #[test]
    fn what_has_another_type_is_told_with_what_to_write() {
        for (line, value, message, what, help) in [
            (
                "budget = 30",
                "30",
                "expected a value as docs/plans.md has it, or { sample = VALUE, full = VALUE }",
                "`budget` has a unit",
                "budget = \"30s\"",
            ),
            (
                "rate = 100",
                "100",
                "invalid type: integer `100`, expected a string",
                "`rate` has a unit",
                "rate = \"100/s\"",
            ),
            (
                "x = { delay = 5 }",
                "5",
                "invalid type: integer `5`, expected a string",
                "`delay`",
                "delay = \"5ms\"",
            ),
            (
                "tls = \"yes\"",
                "\"yes\"",
                "invalid type: string \"yes\", expected a boolean",
                "true or false",
                "tls = true",
            ),
            (
                "robots = -1",
                "-1",
                "invalid value: integer `-1`, expected usize",
                "whole number",
                "robots = 10",
            ),
            (
                "command = \"a -m b\"",
                "\"a -m b\"",
                "invalid type: string \"a -m b\", expected a sequence",
                "a list",
                "[\"a\", \"-m\", \"b\"]",
            ),
            (
                "log = 5",
                "5",
                "invalid type: integer `5`, expected a string",
                "`log` is a text",
                "log = \"5\"",
            ),
        ] {
            let at = line.find(value).unwrap();
            let told = of_type(line, &(at..at + value.len()), message).unwrap();
            assert!(told.0.contains(what) && told.1.contains(help), "{told:?}");
        }
        assert_eq!(of_type("[arm", &(0..1), "invalid key"), None);
    }
}
