//! `[workload]` as typed. The groups of keys that it has depend on its kind.

use super::client::{Http2Entry, TlsClientSection, Words};
use super::clock::{BURSTS, CLOSED, CONSTANT, Clock, ClockReader, ClockSection, ORIGINAL, POISSON, SHUFFLED};
use super::extent::Extents;
use super::keys::{TableKeys, names_of};
use super::spanned::Spanned;
use crate::PlanError;
use crate::error::suggestion;
use schemars::JsonSchema;
use serde::Deserialize;

/// Reads the groups of a kind.
type KindReader = fn(&mut TableKeys<'_>, &ClockReader<'_>) -> Result<WorkloadSection, PlanError>;

/// The kinds of workload, by the words of `kind`.
const KINDS: [(&str, KindReader); 7] = [
    ("get", |keys, clock| {
        RequestsSection::read(
            SourceSection::Get(keys.group()?),
            keys,
            clock,
            &[CLOSED, CONSTANT, POISSON, BURSTS],
        )
    }),
    ("replay", |keys, clock| {
        let clocks = [SHUFFLED, ORIGINAL, CONSTANT, POISSON, BURSTS];
        RequestsSection::read(SourceSection::Replay(keys.group()?), keys, clock, &clocks)
    }),
    ("walk", |keys, clock| {
        RequestsSection::read(SourceSection::Walk(keys.group()?), keys, clock, &[SHUFFLED])
    }),
    ("webstone", |keys, clock| RequestsSection::read(SourceSection::Webstone, keys, clock, &[CLOSED])),
    ("command", |keys, _| Ok(WorkloadSection::Command(keys.group()?))),
    ("files", |keys, _| Ok(WorkloadSection::Files(keys.group()?))),
    ("calls", |keys, _| Ok(WorkloadSection::Calls(keys.group()?))),
];

/// Keys of some kind of workload.
fn all_names() -> Vec<&'static str> {
    let others = [names_of::<ClientSection>(), names_of::<CommandSection>()];
    let operations = [names_of::<FilesSection>(), names_of::<CallsSection>()];
    let requests = [RequestsSection::source_names(), ClockSection::names(), vec!["max_age"]];
    [requests.concat(), others.concat(), operations.concat()].concat()
}

/// `[workload]`, by its `kind`.
#[derive(Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "lowercase")]
pub enum WorkloadSection {
    /// Commands that run to their end.
    #[schemars(extend("unevaluatedProperties" = false))]
    Command(CommandSection),
    /// Operations on files.
    #[schemars(extend("unevaluatedProperties" = false))]
    Files(FilesSection),
    /// Single system calls and short programs.
    #[schemars(extend("unevaluatedProperties" = false))]
    Calls(CallsSection),
    /// Requests to servers.
    #[schemars(untagged)]
    Requests(Box<RequestsSection>),
}

/// A workload of requests: which, when and how.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RequestsSection {
    /// Its kind, as it is typed.
    #[schemars(skip)]
    pub kind: Spanned<String>,
    /// Which requests.
    #[schemars(flatten)]
    pub source: SourceSection,
    /// When they are due.
    #[schemars(flatten)]
    pub clock: ClockSection,
    /// How they come.
    #[schemars(flatten)]
    pub client: ClientSection,
    /// Requests: how long caches may keep what the built-in origin sends, and servers with our configuration. Default "24h"
    /// where an arm has a front, else nothing is said of it.
    pub max_age: Option<Spanned<String>>,
}

/// Which requests.
#[derive(Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "lowercase")]
pub enum SourceSection {
    /// Weighted paths.
    Get(GetSection),
    /// An access log.
    Replay(ReplaySection),
    /// All of a made-up site.
    Walk(WalkSection),
    /// The WebStone 2.5 standard file set.
    Webstone,
}

/// `kind = "get"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GetSection {
    /// get: paths, each a string or a table with `path` and `weight`.
    pub urls: Option<Spanned<Vec<Spanned<UrlEntry>>>>,
    /// get: the one status that is right, such as 404. Default: any below 400.
    pub expect: Option<Spanned<u16>>,
}

/// `kind = "replay"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReplaySection {
    /// replay: the access log, plain, .gz or .zst; `builtin:weblog` is the bundled one.
    pub log: Option<Spanned<String>>,
    /// replay: `common`, `combined`, `vhost-combined`, `nginx-json`, `caddy`, `traefik` or `squid`, or where things stand in
    /// lines of JSON, as in `json:path=request.uri,method=request.method,status=status,size=size,time=ts`, or what nginx'
    /// `log_format` would be, as in `nginx:$time_local|$request_method|$request_uri`. Default: told from the log.
    pub format: Option<Spanned<String>>,
    /// replay: ask for a logged 304 with `If-Modified-Since` and for a logged 206 with `Range`.
    pub conditional: Option<Spanned<bool>>,
    /// replay: whether pages, styles, scripts and other texts of the site compress, as such do. Default false: nothing does.
    pub compressible: Option<Spanned<bool>>,
    /// replay and walk: largest site to make, on disk. Default "2GB".
    pub max_site: Option<Spanned<String>>,
    /// replay: share of lines that may be unreadable. Default "10%".
    pub max_unparsable: Option<Spanned<String>>,
}

/// `kind = "walk"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WalkSection {
    /// walk: what the made-up site is like.
    pub site: Option<Spanned<SiteSection>>,
    /// replay and walk: largest site to make, on disk. Default "2GB".
    pub max_site: Option<Spanned<String>>,
}

/// How requests come, whatever they are.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ClientSection {
    /// Whether connections carry more than one request. Default true, webstone false.
    pub keep_alive: Option<Spanned<bool>>,
    /// Requests: what the load generator asks of TLS, where an arm speaks it.
    pub tls_client: Option<Spanned<TlsClientSection>>,
    /// Requests: lines added to the head of every request, such as ["Accept-Encoding: gzip"].
    pub headers: Option<Spanned<Vec<String>>>,
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
    /// Time limit of a request. Default "10s".
    pub timeout: Option<Spanned<String>>,
}

/// `kind = "command"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CommandSection {
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
    /// command: a run that takes longer is ended and fails. Default "10min".
    pub time_limit: Option<Spanned<String>>,
}

/// `kind = "files"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FilesSection {
    /// files: of `open`, `read`, `write`, `create`, `append`, `truncate`, `rename`, `replace`, `remove`, `stat`, `list`,
    /// `tree-walk`, `tree-read` and `tree-copy`. Default ["read", "write"].
    pub operations: Option<Spanned<Vec<Spanned<String>>>>,
    /// files: sizes of the files. Default ["1B", "10MB"].
    pub sizes: Option<Spanned<Extents<Vec<String>>>>,
    /// files: how many of each size. Default: as many as 64 MB hold, 8 to 1000.
    pub files: Option<Spanned<usize>>,
    /// files: what the caches hold when operations begin: `cold` (nothing; needs root), `warm`
    /// (names and attributes; needs root), `cached` (everything; the default), `remote` (the server's everything, the
    /// client's nothing) or `first` (the same, and no connection; before each operation).
    pub cache: Option<Spanned<String>>,
    /// files: when what is written is on disk: `none` (the default), `file`, `file+dir` or `dsync`.
    pub fsync: Option<Spanned<String>>,
    /// files: the tree that `tree-walk`, `tree-read` and `tree-copy` are about.
    pub tree: Option<Spanned<TreeSection>>,
    /// files: a hook or an operation that takes longer ends the run. Default "1min".
    pub time_limit: Option<Spanned<String>>,
}

/// `kind = "calls"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CallsSection {
    /// calls: which operations, such as `open-close`. Default: all.
    pub operations: Option<Spanned<Vec<Spanned<String>>>>,
    /// calls: how many directories deep the files lie. Default 8.
    pub depth: Option<Spanned<u64>>,
    /// calls: how long a batch of one operation takes the fastest arm. Default "5ms".
    pub batch: Option<Spanned<String>>,
    /// calls: whether a partner runs on the `same` core (the default) or on the `other` of two.
    pub peers: Option<Spanned<String>>,
    /// calls: a batch that takes longer ends the run. Default "1min".
    pub time_limit: Option<Spanned<String>>,
}

impl WorkloadSection {
    /// `peak`: a search for the highest rate, which sets the clock.
    pub(super) fn read(mut keys: TableKeys<'_>, peak: bool) -> Result<Self, PlanError> {
        let kind: Spanned<String> = keys.required("kind")?;
        let word = kind.as_ref().as_str();
        let Some((_, read)) = KINDS.iter().find(|(name, _)| *name == word) else {
            let help = suggestion(word, &KINDS.map(|(name, _)| name));
            return Err(keys.wrong(kind.span(), &format!("there is no workload `{word}`"), &help));
        };
        let read = read(&mut keys, &ClockReader { kind: &kind, peak })?;
        keys.none_left(&format!("in a `{word}` workload"), &all_names())?;
        Ok(read)
    }

    /// The section, if the workload is of requests.
    pub(crate) fn requests(&self) -> Option<&RequestsSection> {
        match self {
            Self::Requests(requests) => Some(requests),
            Self::Command(_) | Self::Files(_) | Self::Calls(_) => None,
        }
    }
}

impl RequestsSection {
    /// Keys that define the requests, its kind among them.
    pub(super) fn source_names() -> Vec<&'static str> {
        let groups = [names_of::<GetSection>(), names_of::<ReplaySection>(), names_of::<WalkSection>()];
        [&["kind"], groups.concat().as_slice()].concat()
    }

    /// `clocks`: those of the kind, its default first.
    fn read(
        source: SourceSection,
        keys: &mut TableKeys<'_>,
        clock: &ClockReader<'_>,
        clocks: &[Clock],
    ) -> Result<WorkloadSection, PlanError> {
        let (client, max_age) = (keys.group()?, keys.optional("max_age")?);
        let ClockReader { kind, peak } = clock;
        let clock =
            if *peak { ClockSection::searched(keys)? } else { ClockSection::read(keys, kind, clocks)? };
        let kind = Spanned::clone(kind);
        Ok(WorkloadSection::Requests(Box::new(Self { kind, source, clock, client, max_age })))
    }
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
