//! Listener for the progress of a guest's run.
//!
//! Measuring side, cold.

/// Listener for the progress of a run.
pub trait GuestProgress {
    /// What is done now.
    fn stage(&mut self, words: &str);
}
