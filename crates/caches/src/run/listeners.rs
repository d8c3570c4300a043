//! Listeners to every request besides the ledger: data kept for the end of the run, and the log of transactions.
//!
//! Measuring side, hot if there is a listener; else it adds no work.

use super::outage::Trace;
use crate::transactions::{Batcher, Transaction};
use bakeoff_robots::stream::StreamRequest;
use bakeoff_robots::{FinishedRequest, Robots};
use std::sync::{Arc, Mutex};

/// Data kept of the requests.
#[derive(Default)]
pub(super) struct Kept {
    /// Requests by which caches may have come to know objects.
    pub(super) stream: Vec<StreamRequest>,
    /// Outcome of every request.
    pub(super) trace: Trace,
}

/// Selection of the data to keep.
#[derive(Clone, Copy)]
pub(super) struct Keeps {
    pub(super) stream: bool,
    pub(super) trace: bool,
}

/// Passes every request to the listeners, if there are any.
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
    robots.telling(move |heard: &FinishedRequest<'_>| {
        if (stream || trace)
            && let Ok(mut kept) = kept.lock()
        {
            if trace {
                kept.trace.hear(heard.flight, heard.entry);
            }
            kept.stream.extend(StreamRequest::answered(heard).filter(|_| stream));
        }
        if let Some(batcher) = &mut batcher {
            batcher.tell(Transaction::of(heard));
        }
    })
}
