//! Description of a wrap in a plan: its command, proof and status file.

/// A wrap as a plan describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrapSpec {
    /// Its name.
    pub name: String,
    /// Program and arguments, with the substitutions of what they are put before; no shell.
    pub words: Vec<String>,
    /// A command that tells whether it is on, as for a layer.
    pub proof: Option<Vec<String>>,
    /// A file with a line `NAME NUMBER` for each of its counters.
    pub status: Option<String>,
    /// The counter of violations that it noticed.
    pub violations: Option<String>,
}
