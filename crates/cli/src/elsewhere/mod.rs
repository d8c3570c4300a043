//! A whole run on another machine: `run --at` here, `runner --stdio` there.
//!
//! Glue. The plan and the files that it names go there, its lines and files come here as they are written; the machine
//! there measures by itself, as if somebody had logged in. Of any kind of run nothing is known here but its directory.

mod caller;
mod follower;
mod named;
mod relay;
mod runner;

pub(crate) use caller::Call;
pub(crate) use relay::relay;
pub(crate) use runner::runner;

use bakeoff_reach::Speech;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What callers and runners say.
enum ToRunner {}

impl Speech for ToRunner {
    type Order = RunOrder;
    type Answer = RunEnded;
    const WORDS: [&'static str; 2] = ["runner", "--stdio"];

    fn called(_number: usize, at: &str) -> String {
        format!("the machine that was to run it ({at})")
    }
}

/// The one order: this command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RunOrder {
    /// Words of `bakeoff`, without those about where results go; the plan is a shipped one or one of the files.
    words: Vec<String>,
    files: Vec<SentFile>,
    /// What sentences call the program here.
    program: String,
    /// What they call the results directory; `None`: there will be none.
    out: Option<String>,
    /// The command line here.
    typed: String,
    /// Generators are called from here.
    passes: bool,
    /// Columns of the terminal here.
    columns: usize,
}

/// A file that was handed over.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SentFile {
    /// Where it belongs, below the plan's directory.
    path: String,
    /// Its name among what was taken.
    taken: String,
    is_program: bool,
}

/// The run has ended, and all that it wrote was sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RunEnded {
    /// Exit code; `None`: it was killed.
    code: Option<i32>,
    /// How it ended, in words.
    how: String,
    /// SHA-256 of each file of its directory.
    files: BTreeMap<String, String>,
}
