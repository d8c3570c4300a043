//! Single system calls and short programs, as lmbench and UnixBench have them, timed by a process of their own.
//!
//! Measuring side. Owns which operations there are, how one is made and how many make a batch. The process
//! that makes them is started through whatever is to be measured (a sandbox, a layer, a guest), commanded over
//! its standard input, and answers in lines. Compares nothing.

#![forbid(unsafe_code)]

mod arguments;
mod clock;
mod connect;
mod echo;
mod failure;
mod files;
mod kernel;
mod operation;
mod partner;
mod programs;
mod rpc;
mod run;
mod said;
mod station;

pub use clock::Clock;
pub use failure::Failure;
pub use operation::Operation;
pub use run::run;
pub use said::{Answer, Asked};
pub use station::{Batch, Peers, Place};

use std::io;
use std::path::PathBuf;

/// The word that makes the executable this process: `bakeoff calls FLAGS`.
pub const WORD: &str = "calls";

/// Why the process ended before it was told to. What keeps one operation from being made is a [`Failure`].
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// A flag that there is not, or its value.
    #[error(
        "{0}; usage: bakeoff calls --dir DIR [--depth N] [--program FILE] [--port N] [--peers same|other] \
         [--clock monotonic|tsc] [--alone [--operations A,B] [--batches N]]"
    )]
    Arguments(String),
    /// The cores are not what was asked for.
    #[error("cannot run on the cores asked for: {0}")]
    Cores(#[source] io::Error),
    /// The directory for files.
    #[error("cannot make files below {}: {source}", dir.display())]
    Dir {
        /// As it was given.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading questions or writing answers.
    #[error("standard input or output: {0}")]
    Lines(#[source] io::Error),
    /// A line that is no question.
    #[error("`{0}` was asked; known are `batch OPERATION COUNT` and `quit`")]
    Asked(String),
}
