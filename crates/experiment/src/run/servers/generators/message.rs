//! Orders of a run to a generator, and their answers, beyond those of every far end.

use super::super::arm::Entry;
use super::super::hits::ReplyNote;
use super::super::order::{LanesOrder, LoadPace, Recipe};
use bakeoff_loadgen::HandshakeLedger;
use bakeoff_meter::{EncodedTimes, SliceCounters};
use bakeoff_plan::Extent;
use bakeoff_reach::Speech;
use bakeoff_results::PlaceSetup;
use serde::{Deserialize, Serialize};

/// Words of a generator, behind the executable.
pub const GENERATOR: [&str; 2] = ["generator", "--stdio"];

/// What runs and generators say.
pub(super) enum ToGenerators {}

impl Speech for ToGenerators {
    type Order = Order;
    type Answer = Answer;
    const WORDS: [&'static str; 2] = GENERATOR;

    fn called(number: usize, at: &str) -> String {
        PlaceSetup::in_words(number, at)
    }
}

/// Orders.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// All that the plan needs has been taken: read it.
    Plan(PlanTerms),
    /// Make the slices and be ready.
    Load(LoadOrder),
    /// Send what was made.
    Go,
}

/// Answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    Read,
    Armed { digest: String },
    Done(Done),
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
