//! `[wrap.NAME]` as typed: words put before a program's own.

use super::spanned::Spanned;
use crate::needs::Need;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[wrap.NAME]`: a sandbox or launcher that an arm's server or command is started through.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrapSection {
    /// Program and arguments, put before those of the server or the command; the same substitutions.
    pub words: Spanned<Vec<String>>,
    /// A command that tells whether it is on, as the arm's own `proof`.
    pub proof: Option<Spanned<Vec<String>>>,
    /// A file with a line `NAME NUMBER` for each of its counters.
    pub status: Option<Spanned<String>>,
    /// The counter of violations that it noticed.
    pub violations: Option<Spanned<String>>,
    /// As an arm's: every arm with this wrap needs them.
    pub needs: Option<Spanned<Vec<Need>>>,
}

/// `[file.NAME]`: a text that lies in every arm's private directory, as `{dir}/NAME`, before anything is started there.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSection {
    /// What is in it, without substitutions.
    pub text: String,
}
