//! Messages between two ends: a JSON object a line, each order with a number and one answer.
//!
//! Cold. Both ends are of one build, so nothing here has a version of its own. Raw bytes follow `take` and `piece` alone.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::fs;

/// Version of the messages. There are no rules for others: both ends are of one build.
pub(crate) const PROTOCOL: u32 = 1;

/// A kind of far end: what it is told and answers beyond what all of them understand.
pub trait Speech: 'static {
    /// An order.
    type Order: Serialize + DeserializeOwned + Clone + Debug + Send;
    /// What answers one.
    type Answer: Serialize + DeserializeOwned + Debug + Send;
    /// Words of the far end, behind the executable.
    const WORDS: [&'static str; 2];

    /// What sentences call the one of this number, from 1, which is at `at`: `generator 2 (load-2)`.
    fn called(number: usize, at: &str) -> String;
}

/// A line: its number, and what is said.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line<T> {
    pub(crate) n: u64,
    pub(crate) say: T,
}

/// Orders.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order<O> {
    /// First, and again until it is answered.
    Hello { protocol: u32, build: String, lease_ms: u64 },
    /// So many raw bytes follow.
    Take { name: String, bytes: u64, sha256: String },
    /// Every quarter of a lease.
    Beat,
    /// What is under way ends early, by itself. Nothing answers it.
    Interrupt,
    /// Bytes for a far end that is called for this one, which follow.
    Pass { number: u32, errors: bool, bytes: u64 },
    /// End, also in the middle of something.
    Stop,
    /// One of this kind of far end.
    Own(O),
}

/// Answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer<A> {
    /// Of a shell that lacks the executable: the kind of its machine, as `uname -sm` says it.
    Need {
        machine: String,
    },
    Here(EndInfo),
    Refused {
        why: String,
    },
    Taken,
    Beat {
        mono_ns: u64,
        wall_ns: u64,
    },
    /// Unasked, while an order is followed; so many raw bytes follow.
    Piece {
        of: PieceOf,
        /// Bytes before it; 0 begins anew.
        at: u64,
        bytes: u64,
    },
    Stopped,
    /// One of this kind of far end.
    Own(A),
}

/// Something that is written there and comes here piece by piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PieceOf {
    /// Standard output, whole lines.
    Output,
    /// Standard error, whole lines.
    Errors,
    /// A file, by its path below a directory that both ends know.
    File(String),
    /// What is said to the far end of this number, from 1, that is called for this one; no bytes: it is over.
    Pass(u32),
}

/// In words, for sentences.
impl fmt::Display for PieceOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output => f.write_str("standard output"),
            Self::Errors => f.write_str("standard error"),
            Self::File(path) => f.write_str(path),
            Self::Pass(number) => write!(f, "far end {number}"),
        }
    }
}

/// Description of a far end by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndInfo {
    /// Name of its host.
    pub host: String,
    /// The boot that its kernel is in.
    pub boot: String,
    /// Its network namespace.
    pub network: String,
    /// SHA-256 of its executable.
    pub build: String,
    /// Threads that it offers, at most.
    pub threads: usize,
}

impl EndInfo {
    /// This process; its build is told apart elsewhere.
    pub fn here(threads: usize) -> Self {
        let line =
            |path| fs::read_to_string(path).map(|text: String| text.trim().to_owned()).unwrap_or_default();
        let network = fs::read_link("/proc/self/ns/net").map(|link| link.display().to_string());
        Self {
            host: line("/proc/sys/kernel/hostname"),
            boot: line("/proc/sys/kernel/random/boot_id"),
            network: network.unwrap_or_default(),
            build: String::new(),
            threads,
        }
    }
}

/// A line with its end.
pub(crate) fn line<T: Serialize>(n: u64, say: &T) -> Vec<u8> {
    #[derive(Serialize)]
    struct Borrowed<'a, T> {
        n: u64,
        say: &'a T,
    }
    // Maps have keys that are strings or numbers, and nothing else can fail.
    let mut line = serde_json::to_vec(&Borrowed { n, say }).unwrap_or_default();
    line.push(b'\n');
    line
}
