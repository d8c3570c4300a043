//! Effects, intervals, looks and verdicts as pure functions
