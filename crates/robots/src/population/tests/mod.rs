//! Populations against a simulated network: replies take as long as a test says, caches are ideal.

mod best_effort;
mod mixes;
mod request_text;
mod schedule;
mod stage;
