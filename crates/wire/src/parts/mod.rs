//! Messages by which the parts of a run, each a process, agree on its phases: a part's word to the origin, and the
//! answer.
//!
//! Both sides of the wall, cold. Owns the words that both ends need, and their bounds. The origin knows which parts are
//! there; the caller acts on it.

mod answer;
mod word;

pub use answer::{PartRefusal, PartReply};
pub use word::{PartStep, Word};

use crate::digits::decimal;
use std::fmt::{self, Display};
use std::str::FromStr;

/// The path of the request, which is a PUT without a body; the word stands in its query.
pub const PATH: &str = "/bakeoff/parts";
/// Most parts of a run: as many as a [`PartSet`] holds.
pub const MOST_PARTS: u8 = 64;
/// Most phases of a run that can be agreed on.
pub const MOST_STEPS: u32 = 100_000;

/// One of several processes that make a run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// From 1.
    number: u8,
    of: u8,
}

impl Part {
    /// `None` unless 1 <= number <= of <= [`MOST_PARTS`], and of is 2 or more: one alone is no part.
    pub const fn new(number: u8, of: u8) -> Option<Self> {
        if 1 <= number && number <= of && 2 <= of && of <= MOST_PARTS {
            Some(Self { number, of })
        } else {
            None
        }
    }

    /// Its number, from 1.
    pub const fn number(self) -> u8 {
        self.number
    }

    /// Number of parts.
    pub const fn of(self) -> u8 {
        self.of
    }
}

/// A text that is no part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no part of a run: it is NUMBER/OF, such as 1/2, of 2 to {most} parts", most = MOST_PARTS)]
pub struct NoPart(String);

impl FromStr for Part {
    type Err = NoPart;

    fn from_str(text: &str) -> Result<Self, NoPart> {
        part(text.as_bytes()).ok_or_else(|| NoPart(text.to_owned()))
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Some of a run's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSet(u64);

impl PartSet {
    /// All parts of so many, at most [`MOST_PARTS`].
    pub fn all(of: u8) -> Self {
        (1..=of.min(MOST_PARTS)).collect()
    }

    /// Adds the part of this number; an impossible one is left out.
    pub const fn insert(&mut self, number: u8) {
        if 1 <= number && number <= MOST_PARTS {
            self.0 |= 1 << (number - 1);
        }
    }

    /// Whether the part of this number is among them.
    pub const fn contains(self, number: u8) -> bool {
        1 <= number && number <= MOST_PARTS && self.0 >> (number - 1) & 1 == 1
    }

    /// These and others.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Those that are not among others.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their numbers, in order.
    pub fn numbers(self) -> impl Iterator<Item = u8> {
        (1..=MOST_PARTS).filter(move |number| self.contains(*number))
    }
}

/// `1`, `1 and 3`, `1, 2 and 3`
impl Display for PartSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers().map(|number| number.to_string()).collect();
        match numbers.split_last() {
            Some((last, [])) => write!(f, "{last}"),
            Some((last, others)) => write!(f, "{} and {last}", others.join(", ")),
            None => write!(f, "none"),
        }
    }
}

impl FromIterator<u8> for PartSet {
    fn from_iter<I: IntoIterator<Item = u8>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|number| set.insert(number));
        set
    }
}

/// `1/2`
fn part(text: &[u8]) -> Option<Part> {
    let slash = text.iter().position(|&byte| byte == b'/')?;
    let number = |digits: &[u8]| u8::try_from(decimal(digits)?).ok();
    Part::new(number(&text[..slash])?, number(&text[slash + 1..])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_of_two_at_least() {
        assert_eq!("64/64".parse::<Part>().unwrap().to_string(), "64/64");
        for wrong in ["", "1", "1/1", "0/2", "3/2", "1/65", "a/2", "1/2/3", " 1/2"] {
            let said = wrong.parse::<Part>().unwrap_err().to_string();
            assert!(said.contains(&format!("`{wrong}`")) && said.contains("1/2"), "{said}");
        }
    }

    #[test]
    fn parts_are_named_as_one_speaks() {
        let of = |numbers: &[u8]| numbers.iter().copied().collect::<PartSet>().to_string();
        assert_eq!([of(&[]), of(&[2]), of(&[1, 3]), of(&[1, 2, 4])], ["none", "2", "1 and 3", "1, 2 and 4"]);
    }

    #[test]
    fn sets_are_sets() {
        let (all, some): (PartSet, PartSet) = (PartSet::all(3), [2, 2, 0, 65].into_iter().collect());
        assert_eq!(all.without(some).numbers().collect::<Vec<_>>(), [1, 3]);
        assert!(
            all.without(some).and(some) == all && !some.contains(0) && !some.contains(65) && some.contains(2)
        );
        assert!(all.without(all).is_empty() && PartSet::all(255) == PartSet::all(64));
    }
}
