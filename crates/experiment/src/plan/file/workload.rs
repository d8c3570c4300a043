//! `[workload]` as it is typed.

use super::Spanned;
use super::client::{Http2Entry, TlsClientSection, Words};
use schemars::JsonSchema;
use serde::Deserialize;

/// `[workload]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSection {
    /// `get`, `replay`, `walk`, `webstone`, `command` or `files`.
    pub kind: Spanned<String>,
    /// get: paths, each a string or a table with `path` and `weight`.
    pub urls: Option<Spanned<Vec<Spanned<UrlEntry>>>>,
    /// replay: the access log, plain, .gz or .zst; `builtin:weblog` is the bundled one.
    pub log: Option<Spanned<String>>,
    /// replay: `common`, `combined`, `vhost-combined`, `nginx-json` or `squid`. Default: told from
    /// the log.
    pub format: Option<Spanned<String>>,
    /// replay: `shuffled` (default), `original`, `constant` or `poisson`; get: `closed` (default),
    /// `constant` or `poisson`.
    pub clock: Option<Spanned<String>>,
    /// Closed loop and shuffled: how many ask at the same time. Default 15, webstone 32.
    pub robots: Option<Spanned<usize>>,
    /// Closed loop: time between a reply and the robot's next request. Default none.
    pub think: Option<Spanned<String>>,
    /// constant and poisson: such as "1000/s".
    pub rate: Option<Spanned<String>>,
    /// original: how many times as fast as the log. Default 1.
    pub speed: Option<Spanned<f64>>,
    /// walk: what the made-up site is like.
    pub site: Option<Spanned<SiteSection>>,
    /// shuffled and walk: a slice is the whole log or site, walked so many times by every robot.
    pub passes: Option<Spanned<u32>>,
    /// replay: ask for a logged 304 with `If-Modified-Since` and for a logged 206 with `Range`.
    pub conditional: Option<Spanned<bool>>,
    /// replay and walk: largest site to make, on disk. Default "2GB".
    pub max_site: Option<Spanned<String>>,
    /// replay: share of lines that may be unreadable. Default "10%".
    pub max_unparsable: Option<Spanned<String>>,
    /// Whether connections carry more than one request. Default true, webstone false.
    pub keep_alive: Option<Spanned<bool>>,
    /// Requests: what the load generator asks of TLS, where an arm speaks it.
    pub tls_client: Option<Spanned<TlsClientSection>>,
    /// Requests: HTTP/2: true, or `{ streams = 10 }` for so many requests in flight on a connection.
    /// Over TLS as the server agrees to it, else as known beforehand. Default false.
    pub http2: Option<Spanned<Http2Entry>>,
    /// Requests: most requests of a connection. Default: as many as the server lets it.
    pub requests_per_connection: Option<Spanned<u64>>,
    /// Requests: local addresses of the connections, used in turn, such as "127.0.0.0/16" or a list
    /// of ranges; each has ports of its own. Default: the kernel chooses.
    pub from: Option<Spanned<Words>>,
    /// Requests: a connection that does not stand after this long has failed. Default: `timeout`.
    pub connect_timeout: Option<Spanned<String>>,
    /// Requests: what counts as refused, and not as failed: statuses such as 429, or classes of failures such as "reset" and
    /// "connect-timeout". The verdict then stands on CPU per served request. Default: nothing, every refusal is a failure.
    pub refused: Option<Spanned<Vec<Spanned<RefusedEntry>>>>,
    /// Requests: how long caches may keep what the built-in origin sends, and servers with our configuration. Default "24h"
    /// where an arm has a front, else nothing is said of it.
    pub max_age: Option<Spanned<String>>,
    /// Time limit of a request. Default "10s".
    pub timeout: Option<Spanned<String>>,
    /// Open loop: most connections. Default 1000.
    pub connections: Option<Spanned<usize>>,
    /// command: what every arm runs that gives no command of its own; program and arguments.
    pub command: Option<Spanned<Vec<String>>>,
    /// command: run once for each arm before the first run.
    pub setup: Option<Spanned<OneOrMany>>,
    /// command: run before each run.
    pub prepare: Option<Spanned<OneOrMany>>,
    /// command: run once for each arm after the last run.
    pub cleanup: Option<Spanned<OneOrMany>>,
    /// command: drop the page cache before each run (needs root).
    pub cold: Option<Spanned<bool>>,
    /// command: a run that takes longer is ended and fails. Default "10min". files: a hook or an
    /// operation that takes longer ends the run. Default "1min".
    pub time_limit: Option<Spanned<String>>,
    /// files: of `read`, `write`, `create`, `remove`, `stat`, `list`, `tree-walk`, `tree-read` and
    /// `tree-copy`. Default ["read", "write"].
    pub operations: Option<Spanned<Vec<Spanned<String>>>>,
    /// files: sizes of the files. Default ["1B", "10MB"].
    pub sizes: Option<Spanned<Vec<Spanned<String>>>>,
    /// files: how many of each size. Default: as many as 64 MB hold, 8 to 1000.
    pub files: Option<Spanned<usize>>,
    /// files: what the caches hold when operations begin: `cold` (nothing; needs root), `warm`
    /// (names and attributes; needs root) or `cached` (everything; the default).
    pub cache: Option<Spanned<String>>,
    /// files: when what is written is on disk: `none` (the default), `file`, `file+dir` or `dsync`.
    pub fsync: Option<Spanned<String>>,
    /// files: the tree that `tree-walk`, `tree-read` and `tree-copy` are about.
    pub tree: Option<Spanned<TreeSection>>,
}

/// A site made up from the seed: every URL is asked for once in a walk.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteSection {
    /// Files.
    pub files: Spanned<usize>,
    /// Their bytes together, such as "664MB".
    pub bytes: Spanned<String>,
    /// Distinct URLs that are asked for.
    pub urls: Spanned<usize>,
    /// Share of them for files that do not exist. Default none.
    pub missing: Option<Spanned<String>>,
    /// Bytes of a reply's body over all URLs, missing ones counted as empty.
    pub mean_reply: Spanned<String>,
}

/// A tree of files, drawn from the seed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TreeSection {
    /// Files. Default 1000.
    pub files: Option<Spanned<usize>>,
    /// Directories below the tree's root. Default 50.
    pub directories: Option<Spanned<usize>>,
    /// Mean size of a file. Default "13KB".
    pub mean: Option<Spanned<String>>,
}

/// What counts as refused.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a status such as 429 or a class of failures such as \"reset\"")]
pub enum RefusedEntry {
    /// Of a reply.
    Status(u16),
    /// Of a failure.
    Class(String),
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
