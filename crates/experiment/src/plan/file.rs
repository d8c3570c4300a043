//! A plan as it is typed: every key, nothing decided. The published JSON schema comes from here.

use super::PlanError;
use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// A plan file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// How to experiment.
    pub experiment: ExperimentSection,
    /// What to ask for, or to run.
    pub workload: WorkloadSection,
    /// The arms, by name.
    #[serde(deserialize_with = "in_order")]
    #[schemars(with = "BTreeMap<String, ArmSection>")]
    pub arm: Vec<(Spanned<String>, ArmSection)>,
}

/// `[experiment]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentSection {
    /// Seed of everything that is drawn. Default 1.
    pub seed: Option<u64>,
    /// Name of the arm that the others are compared with. It runs as two processes.
    #[schemars(with = "String")]
    pub baseline: Spanned<String>,
    /// The smallest cost that matters, such as "1%" (the default).
    #[schemars(with = "Option<String>")]
    pub margin: Option<Spanned<String>>,
    /// Wall time of the whole command, such as "5min" (the default).
    #[schemars(with = "Option<String>")]
    pub budget: Option<Spanned<String>>,
    /// Most rounds, 3 or more. Default 80.
    #[schemars(with = "Option<u32>")]
    pub max_rounds: Option<Spanned<u32>>,
    /// Share of failed requests above which an arm is invalid. Default "0.1%".
    #[schemars(with = "Option<String>")]
    pub max_errors: Option<Spanned<String>>,
    /// Cores of the load generator. Default: chosen apart from the subjects'.
    #[schemars(with = "Option<Vec<usize>>")]
    pub generator_cores: Option<Spanned<Vec<usize>>>,
    /// Cores of the subjects. Default: chosen.
    #[schemars(with = "Option<Vec<usize>>")]
    pub subject_cores: Option<Spanned<Vec<usize>>>,
    /// Requests of a slice. Default: sized in the pilot.
    #[schemars(with = "Option<u64>")]
    pub slice_requests: Option<Spanned<u64>>,
    /// Allow arms that do not differ: for calibration, where no difference must be found.
    pub allow_equal_arms: Option<bool>,
}

/// `[workload]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSection {
    /// `get`, `replay`, `webstone` or `command`.
    #[schemars(with = "String")]
    pub kind: Spanned<String>,
    /// get: paths, each a string or a table with `path` and `weight`.
    #[schemars(with = "Option<Vec<UrlEntry>>")]
    pub urls: Option<Spanned<Vec<Spanned<UrlEntry>>>>,
    /// replay: the access log, plain, .gz or .zst; `builtin:weblog` is the bundled one.
    #[schemars(with = "Option<String>")]
    pub log: Option<Spanned<String>>,
    /// replay: `common`, `combined`, `vhost-combined`, `nginx-json` or `squid`. Default: told from
    /// the log.
    #[schemars(with = "Option<String>")]
    pub format: Option<Spanned<String>>,
    /// replay: `shuffled` (default), `original`, `constant` or `poisson`; get: `closed` (default),
    /// `constant` or `poisson`.
    #[schemars(with = "Option<String>")]
    pub clock: Option<Spanned<String>>,
    /// Closed loop and shuffled: how many ask at the same time. Default 15, webstone 32.
    #[schemars(with = "Option<usize>")]
    pub robots: Option<Spanned<usize>>,
    /// Closed loop: time between a reply and the robot's next request. Default none.
    #[schemars(with = "Option<String>")]
    pub think: Option<Spanned<String>>,
    /// constant and poisson: such as "1000/s".
    #[schemars(with = "Option<String>")]
    pub rate: Option<Spanned<String>>,
    /// original: how many times as fast as the log. Default 1.
    #[schemars(with = "Option<f64>")]
    pub speed: Option<Spanned<f64>>,
    /// shuffled: a slice is the whole log, walked so many times by every robot.
    #[schemars(with = "Option<u32>")]
    pub passes: Option<Spanned<u32>>,
    /// replay: ask for a logged 304 with `If-Modified-Since` and for a logged 206 with `Range`.
    #[schemars(with = "Option<bool>")]
    pub conditional: Option<Spanned<bool>>,
    /// replay: largest site to rebuild, on disk. Default "2GB".
    #[schemars(with = "Option<String>")]
    pub max_site: Option<Spanned<String>>,
    /// replay: share of lines that may be unreadable. Default "10%".
    #[schemars(with = "Option<String>")]
    pub max_unparsable: Option<Spanned<String>>,
    /// Whether connections carry more than one request. Default true, webstone false.
    #[schemars(with = "Option<bool>")]
    pub keep_alive: Option<Spanned<bool>>,
    /// Time limit of a request. Default "10s".
    #[schemars(with = "Option<String>")]
    pub timeout: Option<Spanned<String>>,
    /// Open loop: most connections. Default 1000.
    #[schemars(with = "Option<usize>")]
    pub connections: Option<Spanned<usize>>,
    /// command: what every arm runs that gives no command of its own; program and arguments.
    #[schemars(with = "Option<Vec<String>>")]
    pub command: Option<Spanned<Vec<String>>>,
    /// command: run once for each arm before the first run.
    #[schemars(with = "Option<OneOrMany>")]
    pub setup: Option<Spanned<OneOrMany>>,
    /// command: run before each run.
    #[schemars(with = "Option<OneOrMany>")]
    pub prepare: Option<Spanned<OneOrMany>>,
    /// command: run once for each arm after the last run.
    #[schemars(with = "Option<OneOrMany>")]
    pub cleanup: Option<Spanned<OneOrMany>>,
    /// command: drop the page cache before each run (needs root).
    #[schemars(with = "Option<bool>")]
    pub cold: Option<Spanned<bool>>,
    /// command: a run that takes longer is ended and fails. Default "10min".
    #[schemars(with = "Option<String>")]
    pub time_limit: Option<Spanned<String>>,
}

/// A path of the `get` workload.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a path such as \"/f\" or a table { path = \"/f\", weight = 3 }")]
pub enum UrlEntry {
    /// With weight 1.
    Path(String),
    /// With a weight.
    Weighted(WeightedUrl),
}

/// A weighted path.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedUrl {
    /// Path and query.
    pub path: String,
    /// Weight in proportion to the others. Default 1.
    pub weight: Option<u32>,
}

/// A command, or several one after the other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected program and arguments such as [\"make\", \"clean\"], or a list of such"
)]
pub enum OneOrMany {
    /// Program and arguments.
    One(Vec<String>),
    /// Several.
    Many(Vec<Vec<String>>),
}

/// `[arm.NAME]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmSection {
    /// `origin`, `nginx` or `apache`.
    #[schemars(with = "Option<String>")]
    pub server: Option<Spanned<String>>,
    /// nginx and apache: your configuration; `{host}`, `{port}`, `{root}`, `{cert}`, `{key}` and
    /// `{dir}` are filled in.
    #[schemars(with = "Option<String>")]
    pub config: Option<Spanned<String>>,
    /// Whether the server speaks TLS. Default false.
    #[schemars(with = "Option<bool>")]
    pub tls: Option<Spanned<bool>>,
    /// A server of your own: program and arguments, the same substitutions. In the command
    /// workload: what is measured.
    #[schemars(with = "Option<Vec<String>>")]
    pub command: Option<Spanned<Vec<String>>>,
    /// command workload: put before the workload's command, as a layer would be.
    #[schemars(with = "Option<Vec<String>>")]
    pub wrap: Option<Spanned<Vec<String>>>,
    /// Environment variables of the command.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    /// command server: a path that answers below 500 when it is ready. Default: its port accepts.
    #[schemars(with = "Option<String>")]
    pub ready: Option<Spanned<String>>,
    /// Time to get ready. Default "10s".
    #[schemars(with = "Option<String>")]
    pub start_timeout: Option<Spanned<String>>,
    /// A running server.
    #[schemars(with = "Option<String>")]
    pub url: Option<Spanned<String>>,
    /// url: its process, so that its CPU can be read.
    #[schemars(with = "Option<u32>")]
    pub pid: Option<Spanned<u32>>,
    /// url, and servers with certificates of their own: PEM file with the authority.
    #[schemars(with = "Option<String>")]
    pub cacert: Option<Spanned<String>>,
    /// Accept any certificate. Default false.
    #[schemars(with = "Option<bool>")]
    pub insecure: Option<Spanned<bool>>,
    /// origin: extra CPU time on each request, such as "2us".
    #[schemars(with = "Option<String>")]
    pub burn: Option<Spanned<String>>,
    /// command workload: instead of the workload's.
    #[schemars(with = "Option<OneOrMany>")]
    pub setup: Option<Spanned<OneOrMany>>,
    /// command workload: instead of the workload's.
    #[schemars(with = "Option<OneOrMany>")]
    pub prepare: Option<Spanned<OneOrMany>>,
    /// command workload: instead of the workload's.
    #[schemars(with = "Option<OneOrMany>")]
    pub cleanup: Option<Spanned<OneOrMany>>,
}

impl PlanFile {
    /// Reads the text; checks form and names of keys only.
    pub(super) fn parse(origin: &str, text: &str) -> Result<Self, PlanError> {
        toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..text.len().min(1));
            PlanError::of_toml(origin, text, span, error.message())
        })
    }
}

/// The tables of a map in the order of the file.
fn in_order<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(Spanned<String>, ArmSection)>, D::Error> {
    struct InOrder;
    impl<'de> Visitor<'de> for InOrder {
        type Value = Vec<(Spanned<String>, ArmSection)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("tables [arm.NAME]")
        }
        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut arms = Vec::new();
            while let Some(entry) = map.next_entry()? {
                arms.push(entry);
            }
            Ok(arms)
        }
    }
    deserializer.deserialize_map(InOrder)
}
