//! Start, readiness, processes and stop of what is measured
