//! Errors of far ends, in words for whoever called them.

/// Reasons why far ends are of no use any more.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// One is not there, refuses, or says what cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// The first that was lost.
    #[error("{end} was lost: {why}. {said}")]
    Lost {
        /// What it is called, with host and place.
        end: String,
        /// The sign of it.
        why: String,
        /// The last words of its launcher.
        said: String,
    },
}
