//! Traces of the way that a request came: what an intermediary has to change in it, and did or did not.
//!
//! Hot. Data alone; the reading of heads is the world's, the counting that of the counters.

/// What a request shows of the intermediaries that it came through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// Whether one of them has put itself into `Via`.
    pub(crate) via: bool,
    /// Whether one of them has passed on a field that was meant for it alone.
    pub(crate) hop_passed: bool,
    /// Whether one of them has asked for another host.
    pub(crate) other_host: bool,
}
