//! Who hears of every request besides the ledger: what is kept for when the run is over, and the log of transactions.
//!
//! Measuring side, hot where somebody wants to hear; else nothing is in the way.

use super::outage::Trace;
use crate::transactions::{Batcher, Transaction};
use bakeoff_robots::stream::Request;
use bakeoff_robots::{Heard, Robots};
use std::sync::{Arc, Mutex};

/// What is kept of the requests.
#[derive(Default)]
pub(super) struct Kept {
    /// Those by which caches may have come to know objects.
    pub(super) stream: Vec<Request>,
    /// What became of every one.
    pub(super) trace: Trace,
}

/// Which of it.
#[derive(Clone, Copy)]
pub(super) struct Keeps {
    pub(super) stream: bool,
    pub(super) trace: bool,
}

/// Tells of every request where somebody wants to hear of it.
pub(super) fn with_listeners(
    robots: Robots,
    keeps: Keeps,
    kept: Arc<Mutex<Kept>>,
    mut batcher: Option<Batcher>,
) -> Robots {
    let Keeps { stream, trace } = keeps;
    if !stream && !trace && batcher.is_none() {
        return robots;
    }
    robots.telling(move |heard: &Heard<'_>| {
        if (stream || trace)
            && let Ok(mut kept) = kept.lock()
        {
            if trace {
                kept.trace.hear(heard.flight, heard.entry);
            }
            kept.stream.extend(Request::answered(heard).filter(|_| stream));
        }
        if let Some(batcher) = &mut batcher {
            batcher.tell(Transaction::of(heard));
        }
    })
}
