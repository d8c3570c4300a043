//! Client settings as typed: keys of `[workload]` and of arms.

use super::spanned::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

/// `tls_client = { ... }`: what the load generator asks of TLS.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsClientSection {
    /// Offer this version alone: "1.2" or "1.3". Default: both.
    pub version: Option<Spanned<String>>,
    /// Offer these cipher suites, the preferred one first, such as "TLS13_AES_128_GCM_SHA256". Default:
    /// all, AES-256 first.
    pub cipher: Option<Spanned<Words>>,
    /// Offer these key-exchange groups, the preferred one first, such as "X25519". Default: all, X25519
    /// first.
    pub group: Option<Spanned<Words>>,
    /// Whether post-quantum groups may be offered. Default true.
    pub post_quantum: Option<bool>,
    /// PEM file of the client's own certificate chain, for servers that ask for one; "made": one of the run's authority,
    /// which servers find at `{client_ca}`.
    pub cert: Option<Spanned<String>>,
    /// PEM file of its private key.
    pub key: Option<Spanned<String>>,
    /// Share of the connections that go on with an earlier one's session, such as "60%"; an arm that is
    /// off by more than stated is invalid. Default: all that can, and nothing is demanded.
    pub resume: Option<Spanned<String>>,
}

impl TlsClientSection {
    /// These keys with those of another put over them.
    pub(in super::super) fn under(self, over: &Self) -> Self {
        Self {
            version: over.version.clone().or(self.version),
            cipher: over.cipher.clone().or(self.cipher),
            group: over.group.clone().or(self.group),
            post_quantum: over.post_quantum.or(self.post_quantum),
            cert: over.cert.clone().or(self.cert),
            key: over.key.clone().or(self.key),
            resume: over.resume.clone().or(self.resume),
        }
    }
}

/// A word, or several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, or a list of texts")]
pub enum Words {
    /// One.
    One(String),
    /// Several, the preferred one first.
    Many(Vec<String>),
}

impl Words {
    /// All of them.
    pub(in super::super) fn all(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Many(words) => words,
        }
    }
}

/// `http2 = ...`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or { streams = 10 }")]
pub enum Http2Entry {
    /// With one request in flight on a connection, or HTTP/1.1.
    Switch(bool),
    /// With several.
    Table(Http2Section),
}

/// `http2 = { streams = 10 }`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http2Section {
    /// Most requests in flight on a connection, as far as the server allows. Default 1.
    pub streams: Option<u16>,
}
