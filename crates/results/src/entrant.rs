//! Verdict on an entrant of a bake-off: one of a closed set, from which its card, its words and the exit code follow.
//!
//! Cold. Data alone, and what rules need of an entrant.

use serde::{Deserialize, Serialize};

/// The verdict, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntrantVerdict {
    /// The counts of robots and origin do not agree: no figure of it counts.
    Cheat,
    /// It gave what was private to others.
    Leak,
    /// It gave bytes or objects other than those asked for.
    WrongContent,
    /// It has no whole result.
    NotFinished,
    /// It was not back after an outage.
    NotBack,
    /// No rate passed by the rule of 1999.
    Fails,
    /// It was broken off before anything was measured to its end.
    BrokenOff,
    /// No rate was measured.
    NoRate,
    /// It was measured, and no rule judges it.
    Measured,
    /// A rate passed, and there are faults all the same.
    PassesWithFaults,
    /// It was back after each outage.
    CameBack,
    /// A rate passed, without a fault.
    Passes,
}

impl EntrantVerdict {
    /// Every verdict.
    pub const ALL: [Self; 12] = [
        Self::Cheat,
        Self::Leak,
        Self::WrongContent,
        Self::NotFinished,
        Self::NotBack,
        Self::Fails,
        Self::BrokenOff,
        Self::NoRate,
        Self::Measured,
        Self::PassesWithFaults,
        Self::CameBack,
        Self::Passes,
    ];

    /// The word in rules and in `results.json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cheat => "cheat",
            Self::Leak => "leak",
            Self::WrongContent => "wrong-content",
            Self::NotFinished => "not-finished",
            Self::NotBack => "not-back",
            Self::Fails => "fails",
            Self::BrokenOff => "broken-off",
            Self::NoRate => "no-rate",
            Self::Measured => "measured",
            Self::PassesWithFaults => "passes-with-faults",
            Self::CameBack => "came-back",
            Self::Passes => "passes",
        }
    }

    /// The verdict of this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }

    /// Whether a figure may be believed and a client served: green is for these alone.
    pub const fn is_sound(self) -> bool {
        matches!(self, Self::CameBack | Self::Passes)
    }
}

/// What rules need of an entrant.
#[derive(Clone, Debug, PartialEq)]
pub struct EntrantFigures {
    /// Its name.
    pub name: String,
    /// Its verdict.
    pub verdict: EntrantVerdict,
    /// Number of faults and breaches, of all labels together.
    pub faults: u64,
    /// Its result in a sentence.
    pub sentence: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_file_and_come_back() {
        for verdict in EntrantVerdict::ALL {
            assert_eq!(serde_json::to_string(&verdict).unwrap(), format!("\"{}\"", verdict.as_str()));
            assert_eq!(EntrantVerdict::of(verdict.as_str()), Some(verdict));
        }
        assert!(EntrantVerdict::ALL.is_sorted() && EntrantVerdict::of("costs").is_none());
    }
}
