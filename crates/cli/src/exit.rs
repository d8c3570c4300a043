//! Exit codes of every command.

use bakeoff_results::entrant::EntrantVerdict;
use std::process::ExitCode;

/// How bakeoff ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every comparison ended in a verdict other than invalid.
    Verdicts,
    /// Wrong command line or plan.
    Usage,
    /// A subject or the environment failed.
    Failed,
    /// A run was invalid, or too short for a round.
    Invalid,
    /// `--fail-if`: a rule is broken.
    Broken,
    /// `--fail-if`: a rule cannot be judged.
    NotJudged,
    /// `verify`: something is not as it was written.
    Altered,
    /// An entrant of a bake-off gave what was private to others, or other bytes or objects than were asked for.
    Harmful,
    /// An entrant of a bake-off cheated.
    Cheat,
    /// Ctrl-C; partial results are kept.
    Interrupted,
}

impl Exit {
    /// All of them, each saying more than those before it.
    const ALL: [Self; 10] = [
        Self::Verdicts,
        Self::NotJudged,
        Self::Invalid,
        Self::Harmful,
        Self::Cheat,
        Self::Broken,
        Self::Altered,
        Self::Usage,
        Self::Failed,
        Self::Interrupted,
    ];

    /// The one with this exit code.
    pub(crate) fn of_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| i32::from(exit.code()) == code)
    }

    const fn code(self) -> u8 {
        match self {
            Self::Verdicts => 0,
            Self::Usage => 2,
            Self::Failed => 3,
            Self::Invalid => 4,
            Self::Broken => 5,
            Self::NotJudged => 6,
            Self::Altered => 7,
            Self::Cheat => 8,
            Self::Harmful => 9,
            Self::Interrupted => 130,
        }
    }

    /// The end that an entrant's verdict brings about at any rate and count, if it does.
    pub(crate) const fn of_entrant(verdict: EntrantVerdict) -> Option<Self> {
        match verdict {
            EntrantVerdict::Cheat => Some(Self::Cheat),
            EntrantVerdict::Leak | EntrantVerdict::WrongContent => Some(Self::Harmful),
            _ => None,
        }
    }

    /// Of two that ended the one that says more: what was broken off, then what failed, what was altered, what a rule
    /// forbids, who cheats, what is harmful, what is invalid, what a rule leaves open.
    pub(crate) fn or_worse(self, other: Self) -> Self {
        let place = |exit: Self| Self::ALL.iter().position(|one| *one == exit);
        if place(other) > place(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Help and version go to standard output with 0, wrong words to standard error with 2.
pub(crate) fn of_clap(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Verdicts.into() }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn a_code_is_that_of_one_end() {
        let codes = Exit::ALL.map(|exit| Exit::of_code(exit.code().into()));
        assert_eq!(codes, Exit::ALL.map(Some));
        assert_eq!(Exit::of_code(1), None);
    }

    #[test]
    fn what_was_broken_off_says_more_than_a_failure_and_that_more_than_a_rule() {
        for (one, other, worse) in [
            (Exit::Verdicts, Exit::NotJudged, Exit::NotJudged),
            (Exit::Invalid, Exit::NotJudged, Exit::Invalid),
            (Exit::Invalid, Exit::Broken, Exit::Broken),
            (Exit::Failed, Exit::Broken, Exit::Failed),
            (Exit::Interrupted, Exit::Failed, Exit::Interrupted),
        ] {
            assert_eq!((one.or_worse(other), other.or_worse(one)), (worse, worse));
        }
    }
}
