//! `[arm.NAME]` as it is typed; a level of a factor has the same keys.

use super::Extents;
use super::Spanned;
use super::client::{Http2Entry, TlsClientSection, Words};
use super::workload::{OneOrMany, UrlEntry};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `limits = { ... }` of an arm.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsSection {
    /// Memory, page cache included, such as "512MB".
    pub memory: Option<Spanned<String>>,
    /// CPU time in cores, such as 0.5.
    pub cpus: Option<Spanned<f64>>,
    /// Reading from storage, such as "20MB/s".
    pub read: Option<Spanned<String>>,
    /// Writing to storage.
    pub write: Option<Spanned<String>>,
}

/// `[arm.NAME]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmSection {
    /// `origin`, or a product that serves files, such as `nginx`.
    pub server: Option<Spanned<String>>,
    /// A product: your configuration; `{host}`, `{port}`, `{root}`, `{cert}`, `{key}` and
    /// `{dir}` are filled in.
    pub config: Option<Spanned<String>>,
    /// A product: lines for the server block of our own configuration, with the same
    /// substitutions.
    pub directives: Option<Spanned<String>>,
    /// Whether the server speaks TLS. Default false.
    pub tls: Option<Spanned<bool>>,
    /// A server of your own: program and arguments, the same substitutions. In the command
    /// workload: what is measured.
    pub command: Option<Spanned<Vec<String>>>,
    /// Words put before those of the server or the command.
    pub wrap: Option<Spanned<Vec<String>>>,
    /// What the server or the command is started through, outermost first: names of `[wrap.NAME]`.
    pub wraps: Option<Spanned<Vec<Spanned<String>>>>,
    /// Environment variables of the command.
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    /// command server: a path that answers below 500 when it is ready. Default: its port accepts.
    pub ready: Option<Spanned<String>>,
    /// Time to get ready. Default "10s".
    pub start_timeout: Option<Spanned<String>>,
    /// A running server.
    pub url: Option<Spanned<String>>,
    /// url: its process, so that its CPU can be read.
    pub pid: Option<Spanned<u32>>,
    /// url, and servers with certificates of their own: PEM file with the authority.
    pub cacert: Option<Spanned<String>>,
    /// Accept any certificate. Default false.
    pub insecure: Option<Spanned<bool>>,
    /// origin: extra CPU time on each request, such as "2us".
    pub burn: Option<Spanned<String>>,
    /// Lines added to every request's head, such as ["Accept-Encoding: gzip"].
    pub headers: Option<Spanned<Vec<String>>>,
    /// get: instead of the workload's.
    pub urls: Option<Spanned<Vec<Spanned<UrlEntry>>>>,
    /// Instead of the workload's.
    pub keep_alive: Option<Spanned<bool>>,
    /// Servers, instead of the workload's: what the load generator asks of TLS, where an arm speaks
    /// it. Key by key.
    pub tls_client: Option<Spanned<TlsClientSection>>,
    /// Servers, instead of the workload's: HTTP/2: true, or `{ streams = 10 }` for so many requests
    /// in flight on a connection. Over TLS as the server agrees to it, else as known beforehand.
    pub http2: Option<Spanned<Http2Entry>>,
    /// Servers, instead of the workload's: most requests of a connection.
    pub requests_per_connection: Option<Spanned<u64>>,
    /// Servers, instead of the workload's: local addresses of the connections, used in turn, such as
    /// "127.0.0.0/16" or a list of ranges; each has ports of its own.
    pub from: Option<Spanned<Words>>,
    /// Servers, instead of the workload's: a connection that does not stand after this long has
    /// failed.
    pub connect_timeout: Option<Spanned<String>>,
    /// Servers: requests of a slice of this arm, instead of `[experiment]`'s.
    pub slice_requests: Option<Spanned<Extents<u64>>>,
    /// What is new in every slice: `connection`, `start` (the server itself) or `page-cache`.
    pub fresh: Option<Spanned<String>>,
    /// This arm is the first use of that one: the report tells what a first use costs more, and
    /// after how many requests that no longer matters.
    pub first_use_of: Option<Spanned<String>>,
    /// What the subject may use.
    pub limits: Option<Spanned<LimitsSection>>,
    /// Servers: what stands between the site and the server, from the files up: names of
    /// `[layer.NAME]`, or of the layers that come with bakeoff.
    pub layers: Option<Spanned<Vec<Spanned<String>>>>,
    /// Servers: what stands before the server, outermost first: products such as `varnish` or `haproxy`, or names of
    /// `[front.NAME]`; `none` is nothing.
    pub front: Option<Spanned<Vec<Spanned<String>>>>,
    /// A command that tells whether the layer is on: it exits with 0, and may print `full`,
    /// `partial: REASON` or `none: REASON`.
    pub proof: Option<Spanned<Vec<String>>>,
    /// files workload: the directory under test, below `{dir}` or that of a mounted file system.
    /// Default "{dir}", the arm's private directory.
    pub path: Option<Spanned<String>>,
    /// command workload: instead of the workload's. files workload: run once before anything is
    /// written; what it leaves running belongs to the arm.
    pub setup: Option<Spanned<OneOrMany>>,
    /// files workload with cold caches: run each time before the caches are dropped.
    pub drop: Option<Spanned<OneOrMany>>,
    /// Servers: run before each start. command workload: instead of the workload's.
    pub prepare: Option<Spanned<OneOrMany>>,
    /// command workload: instead of the workload's. files workload: run once at the end.
    pub cleanup: Option<Spanned<OneOrMany>>,
}

/// `[layer.NAME]`: commands that put something between the site and a server. Their words may hold
/// `{under}` (the files as what lies below shows them), `{dir}` (the layer's own directory, kept
/// over all starts of the arm), `{reference}` (the tree that the site's owner signed) and `{layers}`
/// (the executable with bakeoff's own layers).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerSection {
    /// Run once for each arm.
    pub build: Option<Spanned<OneOrMany>>,
    /// Run before each start; what they leave running or mounted belongs to the arm, and goes with
    /// it.
    pub up: Option<Spanned<OneOrMany>>,
    /// Runs as long as the arm.
    pub daemon: Option<Spanned<Vec<String>>>,
    /// The daemon is ready when it prints a line that begins so. Default: at once.
    pub ready: Option<Spanned<String>>,
    /// Where the server, or the next layer, finds the files. Default "{under}".
    pub root: Option<Spanned<String>>,
    /// A command that tells whether the layer is on, as the arm's own `proof`.
    pub proof: Option<Spanned<Vec<String>>>,
    /// A file with a line `NAME NUMBER` for each of its counters.
    pub status: Option<Spanned<String>>,
    /// The counter of violations that it noticed.
    pub violations: Option<Spanned<String>>,
    /// Kernel threads that work for it, in words: the report says that their CPU is not the
    /// subject's.
    pub kernel_threads: Option<Spanned<String>>,
}
