//! End of a command.

use bakeoff_sys::process::Ending;
use std::fmt;

/// End of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this code; 0 is success.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// bakeoff ended it: the time limit.
    TimedOut,
    /// bakeoff ended it: the user wanted to stop.
    Interrupted,
}

impl fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exited(code) => Ending::Exited(code).fmt(f),
            Self::Killed(signal) => Ending::Killed(signal).fmt(f),
            Self::TimedOut => f.write_str("ended at the time limit"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
