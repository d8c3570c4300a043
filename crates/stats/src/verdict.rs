//! Verdicts: the closed set of answers.

use std::fmt;
use std::str::FromStr;

/// The answer of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// More than the baseline, and known well enough to say how much.
    Costs,
    /// Less than the baseline, and known well enough to say how much.
    Saves,
    /// The interval lies inside the margin.
    NoCost,
    /// The rounds ended; it is only known not to be worse by the margin or more.
    NotWorse,
    /// The rounds ended and the interval allows both a cost and none. Also the answer before anything is known.
    #[default]
    NotResolved,
    /// Two equal servers differ too much for a statement about a third.
    NoVerdict,
    /// The run broke its own conditions; the figures are shown, not used.
    Invalid,
}

impl Verdict {
    /// All of them, in the order of their declaration.
    pub const ALL: [Verdict; 7] = [
        Verdict::Costs,
        Verdict::Saves,
        Verdict::NoCost,
        Verdict::NotWorse,
        Verdict::NotResolved,
        Verdict::NoVerdict,
        Verdict::Invalid,
    ];

    /// The word in results directories, tables and exit messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Costs => "costs",
            Verdict::Saves => "saves",
            Verdict::NoCost => "no-cost",
            Verdict::NotWorse => "not-worse",
            Verdict::NotResolved => "not-resolved",
            Verdict::NoVerdict => "no-verdict",
            Verdict::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The word is none of the seven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVerdict(pub String);

impl fmt::Display for UnknownVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Verdict::ALL.map(Verdict::as_str).join(", ");
        write!(f, "unknown verdict '{}': expected one of {words}", self.0)
    }
}

impl std::error::Error for UnknownVerdict {}

impl FromStr for Verdict {
    type Err = UnknownVerdict;

    fn from_str(word: &str) -> Result<Verdict, UnknownVerdict> {
        let known = Verdict::ALL.into_iter().find(|v| v.as_str() == word);
        known.ok_or_else(|| UnknownVerdict(word.to_owned()))
    }
}

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The arm's verdict; later rounds do not change it.
    Final(Verdict),
    /// Run on to the next look.
    GoOn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_strangers_are_refused() {
        for verdict in Verdict::ALL {
            assert_eq!(verdict.as_str().parse(), Ok(verdict));
        }
        for stranger in ["", "Costs", "no cost", "costs "] {
            assert_eq!(stranger.parse::<Verdict>(), Err(UnknownVerdict(stranger.to_owned())));
        }
        assert_eq!(format!("{:<8}|", Verdict::Saves), "saves   |");
    }
}
