//! Rules of words: heads of files, and names of public types.
//!
//! Pure functions of texts, so that they can be tried on texts that must be refused.

use std::collections::BTreeMap;

/// First words that a head must not have: it names the thing, noun first. Each opens a relative clause or says nothing.
const REFUSED: [&str; 18] = [
    "What",
    "Which",
    "Who",
    "Whose",
    "Whom",
    "Whether",
    "How",
    "Where",
    "Why",
    "When",
    "That",
    "Whoever",
    "Whatever",
    "Wherever",
    "Something",
    "Somebody",
    "Things",
    "Anything",
];
/// Openings of several words that a head must not have.
const REFUSED_OPENINGS: [&str; 3] = ["All that", "As much", "From what"];

/// The opening of a file's head that is refused, if it is.
pub(crate) fn refused_opening(text: &str) -> Option<&'static str> {
    let head = text.strip_prefix("//! ")?;
    let first = head.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let word = REFUSED.into_iter().find(|word| word.eq_ignore_ascii_case(first));
    word.or_else(|| REFUSED_OPENINGS.into_iter().find(|opening| head.starts_with(opening)))
}

/// Names of the types that a file gives to other crates, from its lines; not those of its tests.
pub(crate) fn public_types(text: &str) -> Vec<String> {
    let own = text.split("#[cfg(test)]").next().unwrap_or_default();
    let name = |line: &str| {
        let rest = ["pub struct ", "pub enum ", "pub trait ", "pub type ", "pub union "]
            .into_iter()
            .find_map(|start| line.strip_prefix(start))?;
        Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
    };
    own.lines().filter_map(|line| name(line.trim_start())).collect()
}

/// Public types, those among them whose name another one has, and how many share each such name.
#[derive(Debug)]
pub(crate) struct Homonyms {
    pub(crate) types: usize,
    pub(crate) shared: usize,
    pub(crate) names: BTreeMap<String, usize>,
}

impl Homonyms {
    pub(crate) fn of(names: impl IntoIterator<Item = String>) -> Self {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        names.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
        let types = counts.values().sum();
        counts.retain(|_, count| *count > 1);
        Self { types, shared: counts.values().sum(), names: counts }
    }

    /// Share of the public types whose name means two things.
    pub(crate) fn share(&self) -> f64 {
        self.shared as f64 / self.types.max(1) as f64
    }
}
