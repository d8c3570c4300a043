//! `[front.NAME]` as it is typed: what may stand before a server.

use super::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `[front.NAME]`: a proxy or gateway with a port of its own, or what is attached to a running server. Words may hold
/// `{host}` and `{port}` (where it listens), `{upstream}` (whom it asks, as `host:port`; `{upstream_host}`,
/// `{upstream_port}`) and `{dir}` (its private directory).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontSection {
    /// A product that bakeoff knows, such as `varnish` or `haproxy`. Default: the section's name.
    pub product: Option<Spanned<String>>,
    /// product: your configuration, with the same substitutions. Default: one of ours, which keeps what it may and obeys
    /// the server.
    pub config: Option<Spanned<String>>,
    /// product: lines for our own configuration.
    pub directives: Option<Spanned<String>>,
    /// product: room for objects in memory. Default "256MB".
    pub memory: Option<Spanned<String>>,
    /// product: room for objects on disk. Default none, but for products that keep objects on disk only.
    pub disk: Option<Spanned<String>>,
    /// It speaks TLS with clients, and plain HTTP with what is behind it. Default false.
    pub tls: Option<Spanned<bool>>,
    /// Any other program that listens on `{host}:{port}` and asks `{upstream}`.
    pub command: Option<Spanned<Vec<String>>>,
    /// command: environment variables.
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    /// command: a path that answers below 500 when it is ready. Default: its port accepts. attach: it is ready when it
    /// prints a line that begins so. Default: at once.
    pub ready: Option<Spanned<String>>,
    /// A program that is started beside the running server and has no port of its own. It may say `{pid}` (the server's
    /// first process), `{pids}` (all, with commas), `{host}`, `{port}`, `{interface}` (the device with that address) and
    /// `{layers}` (the executable with bakeoff's own layers).
    pub attach: Option<Spanned<Vec<String>>>,
    /// A command that tells whether it is on, as the arm's own `proof`.
    pub proof: Option<Spanned<Vec<String>>>,
    /// A file with a line `NAME NUMBER` for each of its counters.
    pub status: Option<Spanned<String>>,
    /// The counter of violations that it noticed.
    pub violations: Option<Spanned<String>>,
}
