//! Protocol between `bakeoff calls` and its commander, a line each.
//!
//! Measuring side, cold. Both ends of the conversation are written here, so that they cannot drift apart.

use crate::{BatchCost, CallOperation};
use bakeoff_units::Nanos;
use std::fmt;

/// A command to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRequest {
    /// `batch OPERATION COUNT`: a batch, with what must be set up for it before its time begins.
    Batch(CallOperation, u64),
    /// `quit`, as is the end of its input.
    Quit,
}

/// An answer of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallReply {
    /// `begun`: it runs, and waits for commands. Sent once, by itself.
    Begun,
    /// `made OPERATION COUNT TICKS CPU_NS`; `-` where the CPU is not known.
    Made(CallOperation, u64, BatchCost),
    /// `cannot OPERATION ERROR WHY`: the name of the error, and the rest of the line in words.
    Cannot(CallOperation, String, String),
}

impl CallRequest {
    /// Parses a line, without its end.
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["batch", operation, count] => {
                Some(Self::Batch(CallOperation::of_word(operation)?, count.parse().ok()?))
            }
            ["quit"] => Some(Self::Quit),
            _ => None,
        }
    }
}

impl CallReply {
    /// Parses a line, without its end.
    pub fn parse(line: &str) -> Option<Self> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.splitn(if first == "cannot" { 3 } else { 4 }, ' ');
        let mut next = || words.next();
        match first {
            "begun" if rest.is_empty() => Some(Self::Begun),
            "made" => {
                let (operation, count) = (CallOperation::of_word(next()?)?, next()?.parse().ok()?);
                let ticks = next()?.parse().ok()?;
                let cpu = match next()? {
                    "-" => None,
                    cpu => Some(Nanos::new(cpu.parse().ok()?)),
                };
                Some(Self::Made(operation, count, BatchCost { ticks, cpu }))
            }
            "cannot" => {
                let operation = CallOperation::of_word(next()?)?;
                Some(Self::Cannot(operation, next()?.to_owned(), next()?.to_owned()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for CallRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch(operation, count) => write!(f, "batch {} {count}", operation.word()),
            Self::Quit => f.write_str("quit"),
        }
    }
}

impl fmt::Display for CallReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun => f.write_str("begun"),
            Self::Made(operation, count, BatchCost { ticks, cpu }) => {
                write!(f, "made {} {count} {ticks} ", operation.word())?;
                match cpu {
                    Some(cpu) => write!(f, "{}", cpu.get()),
                    None => f.write_str("-"),
                }
            }
            Self::Cannot(operation, error, why) => {
                write!(f, "cannot {} {error} {}", operation.word(), why.replace('\n', " "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood_as_it_was_meant() {
        let batch = |cpu| BatchCost { ticks: 12, cpu };
        let cpu = Some(Nanos::new(7));
        for answer in [
            CallReply::Begun,
            CallReply::Made(CallOperation::OpenClose, 1000, batch(cpu)),
            CallReply::Made(CallOperation::Null, 1, batch(None)),
            CallReply::Cannot(
                CallOperation::Udp,
                "EPERM".to_owned(),
                "a UDP socket: not permitted".to_owned(),
            ),
        ] {
            assert_eq!(CallReply::parse(&answer.to_string()).as_ref(), Some(&answer), "{answer}");
        }
        for asked in [CallRequest::Batch(CallOperation::Shell8, 3), CallRequest::Quit] {
            assert_eq!(CallRequest::parse(&asked.to_string()), Some(asked));
        }
        for line in ["", "made null 1", "made null 1 2 x", "made nil 1 2 3", "begun 1", "cannot udp EPERM"] {
            assert_eq!(CallReply::parse(line), None, "{line}");
        }
        for line in ["", "batch", "batch null", "batch null -1", "batch nil 1", "quit now"] {
            assert_eq!(CallRequest::parse(line), None, "{line}");
        }
    }
}
