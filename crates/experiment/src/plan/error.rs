//! What is wrong with a plan, shown at its place.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// Why a plan cannot be run.
#[derive(Debug)]
pub enum PlanError {
    /// The file.
    Unreadable {
        /// Which.
        path: String,
        /// The system's word.
        why: std::io::Error,
    },
    /// The text: the message with the line and a mark under the place.
    Wrong(String),
}

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
    /// An error at a place, with what helps.
    pub(super) fn at(origin: &str, text: &str, span: Range<usize>, what: &str, help: Option<&str>) -> Self {
        let span = span.start.min(text.len())..span.end.clamp(span.start.min(text.len()), text.len());
        let snippet =
            Snippet::source(text).path(origin).fold(true).annotation(AnnotationKind::Primary.span(span));
        let mut report = vec![Group::with_title(Level::ERROR.primary_title(what)).element(snippet)];
        if let Some(help) = help {
            report = report.into_iter().map(|group| group.element(Level::HELP.message(help))).collect();
        }
        Self::Wrong(Renderer::plain().render(&report).to_string())
    }

    /// The TOML library's error, with unknown keys put in our words.
    pub(super) fn of_toml(origin: &str, text: &str, span: Range<usize>, message: &str) -> Self {
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        match quoted.split_first() {
            Some((unknown, known)) if message.starts_with("unknown field") && !known.is_empty() => {
                let what = format!("there is no key `{unknown}` here");
                Self::at(origin, text, span, &what, Some(&suggestion(unknown, known)))
            }
            Some((missing, [])) if message.starts_with("missing field") => {
                let help = "a plan has [experiment], [workload] and an [arm.NAME] for each arm; \
                            every results directory holds one as plan.toml";
                Self::at(origin, text, span, &format!("`{missing}` is missing"), Some(help))
            }
            _ => Self::at(origin, text, span, message, None),
        }
    }
}

/// The nearest of the known words, or all of them.
pub fn suggestion(word: &str, known: &[&str]) -> String {
    let distance = |other: &&&str| strsim::damerau_levenshtein(word, other);
    match known.iter().min_by_key(distance) {
        Some(near) if distance(&near) <= (word.len() / 3).max(1) => format!("did you mean `{near}`?"),
        _ => format!(
            "known are {}",
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}
