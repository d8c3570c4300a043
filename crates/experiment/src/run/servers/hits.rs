//! Cache hits of a store before the server, told by numbered replies; and the filling of a store before it is measured.
//!
//! Measuring side, the generator's process. While load runs, the generator's threads only note the number of each
//! reply; hits are judged afterwards. Our servers number the replies that they make: a new number was fetched for this
//! reply, a repeated number is from a store. So no product's own words count, and requests need no mark. A proxy that
//! makes up numbers is found out by the bodies, which are compared.

use crate::run::RunError;
use bakeoff_loadgen::{Continuation, RequestEnd, RequestListener};
use bakeoff_meter::HitCounts;
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::serial_of;
use bakeoff_workload::{Ask, Slice, Source, Workload};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// Status of a reply whose body the client already has: it has no number of its own.
const NOT_MODIFIED: u16 = 304;

/// A source of requests, with the numbers of their good replies.
pub(super) struct Numbered<S> {
    source: S,
    replies: Vec<ReplyNote>,
    /// Time at which everything ends, and requests in flight are cut off; `None`: with the requests.
    until: Option<Nanos>,
}

/// A good reply.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ReplyNote {
    serial: Option<u64>,
    body_bytes: u64,
    /// From when the request was due.
    response_ns: u64,
}

impl<S> Numbered<S> {
    pub(super) fn new(source: S) -> Self {
        Self::until(source, None)
    }

    /// The same for a load that is cut off at this time from the job's start.
    pub(super) fn until(source: S, until: Option<Nanos>) -> Self {
        Self { source, replies: Vec::new(), until }
    }

    /// The notes of all threads.
    pub(super) fn noted(all: Vec<Self>) -> Vec<ReplyNote> {
        all.into_iter().flat_map(|source| source.replies).collect()
    }
}

impl<S: Source> Source for Numbered<S> {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        self.source.next(robot)
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        self.source.upcoming(robot)
    }
}

impl<S> RequestListener for Numbered<S> {
    fn ended(&mut self, ended: &RequestEnd<'_>) {
        let Ok(reply) = ended.result else { return };
        if reply.status != NOT_MODIFIED {
            let response_ns = ended.done.since(ended.due).get();
            let (serial, body_bytes) = (serial_of(reply.head), reply.body_bytes);
            self.replies.push(ReplyNote { serial, body_bytes, response_ns });
        }
    }

    fn course(&mut self, now: Nanos) -> Continuation {
        if self.until.is_some_and(|until| now >= until) { Continuation::Stop } else { Continuation::GoOn }
    }
}

/// Numbers seen since the arm was started.
#[derive(Debug, Default)]
pub(super) struct SeenNumbers(HashSet<u64>);

impl SeenNumbers {
    /// Counts the hits in the notes of all threads.
    pub(super) fn judge(&mut self, noted: Vec<ReplyNote>) -> HitCounts {
        let mut counts = HitCounts::default();
        for ReplyNote { serial, body_bytes, response_ns } in noted {
            counts.replies += 1;
            counts.bytes += body_bytes;
            match serial {
                None => counts.unnumbered += 1,
                Some(serial) if self.0.insert(serial) => counts.miss_ns += response_ns,
                Some(_) => {
                    counts.hits += 1;
                    counts.hit_bytes += body_bytes;
                    counts.hit_ns += response_ns;
                }
            }
        }
        counts
    }
}

/// Every distinct request of a workload once, dealt to this number of robots.
pub(super) fn whole_pass(workload: &mut dyn Workload, round: u64, robots: usize) -> Result<Slice, RunError> {
    // A workload with robots knows all its requests at once; one in a log's order has those of the stretch that is
    // read.
    let requests = match workload.closed() {
        Some(_) => 1,
        None => workload.total().and_then(|total| usize::try_from(total).ok()).unwrap_or(1),
    };
    let slice = workload.slice(round, requests)?;
    let all = slice.table.requests.len() as u32; // at most 2^32 by its contract
    let robots = robots.max(1);
    let lists: Vec<Vec<u32>> =
        (0..robots).map(|robot| (robot as u32..all).step_by(robots).collect()).collect();
    Ok(Slice { table: slice.table, lists: Arc::new(lists), at: Arc::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_workload::{Get, GetUrl};

    fn noted(replies: &[(Option<u64>, u64)]) -> Numbered<()> {
        let reply = |&(serial, body_bytes)| ReplyNote { serial, body_bytes, response_ns: 100 * body_bytes };
        Numbered { source: (), replies: replies.iter().map(reply).collect(), until: None }
    }

    #[test]
    fn the_first_reply_with_a_number_was_fetched_and_every_further_one_is_a_hit() {
        let mut seen = SeenNumbers::default();
        let two_threads =
            [noted(&[(Some(1), 10), (Some(2), 20), (Some(1), 10)]), noted(&[(Some(2), 20), (None, 5)])];
        let first = seen.judge(Numbered::noted(two_threads.into()));
        let bytes = HitCounts { replies: 5, hits: 2, bytes: 65, hit_bytes: 30, unnumbered: 1, ..first };
        assert_eq!(first, HitCounts { hit_ns: 3_000, miss_ns: 3_000, ..bytes });
        assert_eq!((first.hit_mean(), first.miss_mean()), (Some(1_500.0), Some(1_500.0)));
        let later = seen.judge(Numbered::noted(vec![noted(&[(Some(2), 20), (Some(3), 1)])]));
        assert_eq!((later.hits, later.hit_bytes), (1, 20), "a number of an earlier slice is still known");
    }

    #[test]
    fn a_whole_pass_asks_for_everything_once() {
        let url = |path: &str| GetUrl::of(path);
        let mut get = Get::new(&[url("/a"), url("/b"), url("/c")], Some(2), 7).unwrap();
        let pass = whole_pass(&mut get, 1, 2).unwrap();
        assert_eq!(*pass.lists, [vec![0, 2], vec![1]]);
    }
}
