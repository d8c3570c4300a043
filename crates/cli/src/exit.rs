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
        const ORDER: [Exit; 10] = [
            Exit::Verdicts,
            Exit::NotJudged,
            Exit::Invalid,
            Exit::Harmful,
            Exit::Cheat,
            Exit::Broken,
            Exit::Altered,
            Exit::Usage,
            Exit::Failed,
            Exit::Interrupted,
        ];
        let place = |exit: Exit| ORDER.iter().position(|one| *one == exit);
        if place(other) > place(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Verdicts => 0,
            Exit::Usage => 2,
            Exit::Failed => 3,
            Exit::Invalid => 4,
            Exit::Broken => 5,
            Exit::NotJudged => 6,
            Exit::Altered => 7,
            Exit::Cheat => 8,
            Exit::Harmful => 9,
            Exit::Interrupted => 130,
        })
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
