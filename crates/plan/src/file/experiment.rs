//! `[experiment]`, `[peak]` and `[violations]` as typed.

use super::extent::Extents;
use super::factors::FactorLevel;
use super::spanned::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// `[experiment]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentSection {
    /// `compare` (default): what the arms cost; `peak`: the highest rate each sustains.
    pub kind: Option<Spanned<String>>,
    /// `auto` (default): a duet where it is honest; `duet`: the arms of a stratum in one slice, in slots of some 20 ms, which tells
    /// CPU per request sharply, then rounds in turn for times and rates; `pairs`: one arm after the other.
    pub design: Option<Spanned<String>>,
    /// Rounds in turn after a duet, so many at its load and at full speed each. Default 10, and 20 where a rule names a
    /// quantile; 0: none.
    pub paired_rounds: Option<Spanned<u32>>,
    /// Loads at which the cost is measured in every round: rates such as "2000/s", or shares of what the slowest arm
    /// answers in the pilot, such as "50%". Two to eight. Default: one, chosen.
    pub loads: Option<Spanned<Vec<Spanned<String>>>>,
    /// With `loads`: the one of them that the verdict stands on. Default: the middle one.
    pub decide_at: Option<Spanned<String>>,
    /// The rate at which a cost is also told in cores. Default "1000/s".
    pub at: Option<Spanned<String>>,
    /// All arms are started anew every so many rounds; 0: never. Default: 3 if a start takes less
    /// than 1 s, else never.
    pub restart_every: Option<Spanned<u32>>,
    /// The meter that the verdict stands on. Default: CPU per request, for commands the time they
    /// take.
    pub primary: Option<Spanned<String>>,
    /// Rate of the link between generator and subject, such as "100Mbit". Default: loopback.
    pub link: Option<Spanned<String>>,
    /// Delay of the link, one way, such as "10ms". Default none.
    pub delay: Option<Spanned<String>>,
    /// Share of packets that the link loses, such as "0.1%". Default none.
    pub loss: Option<Spanned<String>>,
    /// The published study that the report sets the figures beside.
    pub study: Option<Spanned<String>>,
    /// Seed of everything that is drawn. Default 1.
    pub seed: Option<u64>,
    /// Name of the arm that the others are compared with; or levels of factors, such as
    /// `{ state = "off" }`: then each arm is compared with the one that has these levels and
    /// otherwise its own. A baseline runs as two processes.
    pub baseline: Spanned<BaselineEntry>,
    /// The smallest cost that matters: a share, such as "1%" (the default), or a time, such as "0.5us".
    pub margin: Option<Spanned<String>>,
    /// Wall time of the whole command, such as "5min" (the default).
    pub budget: Option<Spanned<Extents<String>>>,
    /// Most rounds, 3 or more. Default 1280.
    pub max_rounds: Option<Spanned<Extents<u32>>>,
    /// How sharply each cost is to be known, as a share of it, such as "10%": rounds go on until half its interval is no
    /// more, or the budget ends. Default: a verdict suffices.
    pub precision: Option<Spanned<String>>,
    /// Share of failed requests above which an arm is invalid. Default "0.1%".
    pub max_errors: Option<Spanned<String>>,
    /// Cores of the load generator. Default: chosen apart from the subjects'.
    pub generator_cores: Option<Spanned<Vec<usize>>>,
    /// Cores of the subjects. Default: chosen.
    pub subject_cores: Option<Spanned<Vec<usize>>>,
    /// Requests of a slice. Default: sized in the pilot.
    pub slice_requests: Option<Spanned<Extents<u64>>>,
    /// Length of a slice, such as "20s", longer than `timeout`, in place of a number of requests: every arm is asked for so long. What is in flight at
    /// the end is cut.
    pub slice: Option<Spanned<String>>,
    /// With `slice`: how long the same load runs before it and does not count. Default: a tenth of it.
    pub warm: Option<Spanned<String>>,
    /// Allow arms that do not differ: for calibration, where no difference must be found.
    pub allow_equal_arms: Option<bool>,
}

/// `[peak]`
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeakSection {
    /// Bound on the quantile of the response time. Default: five times that of the unloaded arm,
    /// at least "50ms".
    pub slo: Option<Spanned<String>>,
    /// Which quantile, such as "99%" (the default).
    pub quantile: Option<Spanned<String>>,
    /// How narrow the interval of the highest rate must be. Default "3%".
    pub precision: Option<Spanned<String>>,
    /// How long the last trial takes, just below the rate that was found; never less than twenty times `slo`. Default
    /// "60s".
    pub confirm: Option<Spanned<String>>,
    /// No higher rate is tried, such as "5000/s". Default: found by a closed loop.
    pub max_rate: Option<Spanned<String>>,
}

/// `[violations]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViolationsSection {
    /// urls and files: share of the requests that ask for something the layer must refuse. Default
    /// "0.5%".
    pub share: Option<Spanned<String>>,
    /// Paths that must be refused. One of `urls`, `files` and `digests`; `denied` in `files` workloads.
    pub urls: Option<Spanned<Vec<Spanned<String>>>>,
    /// So many files of the site are altered on disk after the site was written: an integrity
    /// layer must refuse them.
    pub files: Option<Spanned<u64>>,
    /// So many files in the tree that the owner signs are not as those that are served: a layer
    /// that only notes violations must count every request for one of them.
    pub digests: Option<Spanned<u64>>,
    /// files workload: so many files that the arm must not let anybody open, made so by its `deny`.
    pub denied: Option<Spanned<u64>>,
    /// Statuses that mean refused. Default [403, 451, 500, 503].
    pub refused: Option<Spanned<Vec<u16>>>,
    /// Arms in which the layer is on and must notice. Default: all but the baseline.
    pub enforced_by: Option<Spanned<Vec<Spanned<String>>>>,
}

impl ViolationsSection {
    /// Place of its first key in the file.
    pub(in super::super) fn span(&self) -> Range<usize> {
        let spans = [
            self.share.as_ref().map(Spanned::span),
            self.urls.as_ref().map(Spanned::span),
            self.files.as_ref().map(Spanned::span),
            self.digests.as_ref().map(Spanned::span),
            self.denied.as_ref().map(Spanned::span),
        ];
        spans.into_iter().flatten().min_by_key(|span| span.start).unwrap_or(0..0)
    }
}

/// What arms are compared with.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected the name of an arm, or levels of factors such as { state = \"off\" }"
)]
pub enum BaselineEntry {
    /// One arm, by its name.
    Arm(String),
    /// The arm with these levels and otherwise one's own.
    Levels(BTreeMap<String, FactorLevel>),
}
