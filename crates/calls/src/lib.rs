//! Single system calls and short programs, as in lmbench and UnixBench, timed by a process of their own.
//!
//! Measuring side. Owns the list of operations, each one's code and its batch size. The process that makes them is
//! started through the measured thing (a sandbox, a layer, a guest), commanded over its standard input, and answers in
//! lines. Compares nothing.

#![forbid(unsafe_code)]

mod arguments;
mod clock;
mod connect;
mod echo;
mod failure;
mod files;
mod ground;
mod kernel;
mod operation;
mod partner;
mod programs;
mod protocol;
mod rpc;
mod run;
mod station;

pub use clock::CallClock;
pub use failure::OperationFailure;
pub use ground::{Instance, Peers};
pub use operation::CallOperation;
pub use protocol::{CallReply, CallRequest};
pub use run::run;
pub use station::BatchCost;

use std::io;
use std::path::PathBuf;

/// The word that makes the executable this process: `bakeoff calls FLAGS`.
pub const WORD: &str = "calls";

/// Error that ends the process before it was told to end. An operation that cannot be made is a [`OperationFailure`].
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// An unknown flag, or its value.
    #[error(
        "{0}; usage: bakeoff calls --dir DIR [--depth N] [--program FILE] [--port N] [--peers same|other] \
         [--clock monotonic|tsc] [--alone [--operations A,B] [--batches N]]"
    )]
    Arguments(String),
    /// The cores are not those of the flags.
    #[error("cannot run on the cores asked for: {0}")]
    Cores(#[source] io::Error),
    /// The directory for files.
    #[error("cannot make files below {}: {source}", dir.display())]
    Dir {
        /// As it was given.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Reading questions or writing answers.
    #[error("standard input or output: {0}")]
    Lines(#[source] io::Error),
    /// A malformed line.
    #[error("`{0}` was asked; known are `batch OPERATION COUNT` and `quit`")]
    Asked(String),
}
