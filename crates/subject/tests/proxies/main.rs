//! Real proxy caches between a client and a scripted origin: they cache what may be cached and nothing else,
//! revalidate, tell how full they are, and end without a trace.
//!
//! `origin` is the scripted origin, `stage` starts a proxy and sends it requests. The tests are in `caching` (what
//! every product must do), `starts` (starts and refusals), `outage` (killed and started again) and `size` (many
//! requests, a full store, a large object).

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod caching;
mod origin;
mod outage;
mod size;
mod stage;
mod starts;
#[path = "../support/mod.rs"]
mod support;
