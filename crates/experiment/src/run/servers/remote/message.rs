//! Messages between a run and a generator: a JSON object a line, each order with a number and one answer.
//!
//! Cold. Both ends are of one build, so nothing here has a version of its own. Raw bytes follow `take` alone.

use super::super::arm::Entry;
use super::super::hits::ReplyNote;
use super::super::order::{LanesOrder, LoadPace, Recipe};
use bakeoff_loadgen::HandshakeLedger;
use bakeoff_meter::{EncodedTimes, SliceCounters};
use bakeoff_plan::Extent;
use serde::{Deserialize, Serialize};
use std::fs;

/// A line: its number, and what is said.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line<T> {
    pub(super) n: u64,
    pub(super) say: T,
}

/// Orders of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// First, and again until it is answered.
    Hello { protocol: u32, build: String, lease_ms: u64 },
    /// So many raw bytes follow. With the plan come the terms on which it is read.
    Take { name: String, bytes: u64, sha256: String, plan: Option<PlanTerms> },
    /// Make the slices and be ready.
    Load(LoadOrder),
    /// Send what was made.
    Go,
    /// Every quarter of a lease.
    Beat,
    /// End, also in the middle of a load.
    Stop,
}

/// Answers of a generator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// Of a shell that lacks the run's executable: the kind of its machine, as `uname -sm` says it.
    Need {
        machine: String,
    },
    Generator(GeneratorInfo),
    Refused {
        why: String,
    },
    Taken,
    Armed {
        digest: String,
    },
    Done(Done),
    Beat {
        mono_ns: u64,
        wall_ns: u64,
    },
    Stopped,
}

/// Description of a generator by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GeneratorInfo {
    pub(super) host: String,
    pub(super) boot: String,
    /// Its network namespace.
    pub(super) network: String,
    pub(super) build: String,
    /// Lanes that it offers, at most.
    pub(super) lanes: usize,
}

impl GeneratorInfo {
    /// This process.
    pub(super) fn here(lanes: usize) -> Self {
        let line =
            |path| fs::read_to_string(path).map(|text: String| text.trim().to_owned()).unwrap_or_default();
        let network = fs::read_link("/proc/self/ns/net").map(|link| link.display().to_string());
        Self {
            host: line("/proc/sys/kernel/hostname"),
            boot: line("/proc/sys/kernel/random/boot_id"),
            network: network.unwrap_or_default(),
            build: String::new(),
            lanes,
        }
    }
}

/// Terms on which a plan is read there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PlanTerms {
    pub(super) name: String,
    pub(super) extent: Option<Extent>,
    /// Every arm holds the site that the workload knows, so that replies are judged.
    pub(super) expect: bool,
    pub(super) lanes: LanesOrder,
}

/// A load of one or several arms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LoadOrder {
    /// In the order in which their slots are numbered.
    pub(super) arms: Vec<ArmOrder>,
    pub(super) full_check: bool,
    pub(super) limit_ns: u64,
}

/// The load of one arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ArmOrder {
    /// As in `Plan::names`.
    pub(super) name: String,
    pub(super) entry: Entry,
    /// Number of the server's start: connections to an earlier one are no use.
    pub(super) instance: u64,
    /// Begin with new connections.
    pub(super) renew: bool,
    /// Note the numbers of replies.
    pub(super) notes: bool,
    pub(super) recipe: Recipe,
    pub(super) pace: LoadPace,
}

/// Outcome of a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) arms: Vec<ArmDone>,
    /// The moment at which `go` was heard, by the generator's clock.
    pub(super) heard_ns: u64,
}

/// Outcome of the load of one arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ArmDone {
    pub(super) counters: SliceCounters,
    pub(super) times: EncodedTimes,
    pub(super) gave_up: bool,
    pub(super) tls: Option<String>,
    pub(super) violation: Option<String>,
    pub(super) handshakes: HandshakeLedger,
    pub(super) notes: Vec<ReplyNote>,
}

/// A line with its end.
pub(super) fn line<T: Serialize>(n: u64, say: &T) -> Vec<u8> {
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
