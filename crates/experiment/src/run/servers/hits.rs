//! Cache hits of a store before the server, told by numbered replies; and the filling of a store before it is measured.
//!
//! Measuring side, the generator's process. While load runs, the generator's threads only note the number of each
//! reply; hits are judged afterwards. Our servers number the replies that they make: a new number was fetched for this
//! reply, a repeated number is from a store. So no product's own words count, and requests need no mark. A proxy that
//! makes up numbers is found out by the bodies, which are compared; heads are judged by a [sample](super::heads).

use super::heads::{OriginWords, SampledReply, unix_secs};
use crate::run::RunError;
use bakeoff_loadgen::{Continuation, RequestEnd, RequestListener};
use bakeoff_meter::{HeadCounts, HitCounts};
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::serial_of;
use bakeoff_workload::{Ask, Slice, Source, Workload};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// Status of a reply whose body the client already has: it has no number of its own.
const NOT_MODIFIED: u16 = 304;

/// One in so many replies keeps its head: all faults of configurations and programs come with more than a few.
const SAMPLED: usize = 16;

/// A source of requests, with the numbers of their good replies.
pub(super) struct Numbered<S> {
    source: S,
    replies: Vec<ReplyNote>,
    /// Time at which everything ends, and requests in flight are cut off; `None`: with the requests.
    until: Option<Nanos>,
    /// When it was made, in seconds since 1970: no request was sent before.
    begun: u64,
}

/// A good reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReplyNote {
    serial: Option<u64>,
    body_bytes: u64,
    /// From when the request was due.
    response_ns: u64,
    /// Its head, if it is in the sample. What came to another host stays there: its dates are by that one's clock.
    #[serde(skip)]
    head: Option<NotedHead>,
}

/// A head, and a moment before which it was not asked for, in seconds since 1970.
#[derive(Clone, Debug)]
struct NotedHead {
    begun: u64,
    bytes: Box<[u8]>,
}

impl<S> Numbered<S> {
    pub(super) fn new(source: S) -> Self {
        Self::until(source, None)
    }

    /// The same for a load that is cut off at this time from the job's start.
    pub(super) fn until(source: S, until: Option<Nanos>) -> Self {
        Self { source, replies: Vec::new(), until, begun: unix_secs() }
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
            let is_sampled = self.replies.len().is_multiple_of(SAMPLED) && matches!(reply.status, 200 | 206);
            let head = is_sampled.then(|| NotedHead { begun: self.begun, bytes: reply.head.into() });
            self.replies.push(ReplyNote { serial, body_bytes, response_ns, head });
        }
    }

    fn course(&mut self, now: Nanos) -> Continuation {
        if self.until.is_some_and(|until| now >= until) { Continuation::Stop } else { Continuation::GoOn }
    }
}

/// Numbers seen since the arm was started.
#[derive(Debug, Default)]
pub(super) struct SeenNumbers {
    numbers: HashSet<u64>,
    /// What the heads have to say, where that is known.
    words: Option<OriginWords>,
}

impl SeenNumbers {
    /// Of an arm that starts now.
    pub(super) fn with(words: Option<OriginWords>) -> Self {
        Self { words, ..Self::default() }
    }

    /// Counts the hits in the notes of all threads, and the faults of the sampled heads.
    pub(super) fn judge(&mut self, noted: Vec<ReplyNote>) -> (HitCounts, Option<HeadCounts>) {
        let (mut counts, mut heads, now) = (HitCounts::default(), HeadCounts::default(), unix_secs());
        for ReplyNote { serial, body_bytes, response_ns, head } in noted {
            let hits = counts.hits;
            counts.replies += 1;
            counts.bytes += body_bytes;
            match serial {
                None => counts.unnumbered += 1,
                Some(serial) if self.numbers.insert(serial) => counts.miss_ns += response_ns,
                Some(_) => {
                    counts.hits += 1;
                    counts.hit_bytes += body_bytes;
                    counts.hit_ns += response_ns;
                }
            }
            if let Some((words, head)) = self.words.zip(head) {
                let (is_hit, within) = (counts.hits > hits, (head.begun, now));
                words.judge(SampledReply { head: &head.bytes, is_hit, within }, &mut heads);
            }
        }
        (counts, Some(heads).filter(|heads| heads.judged > 0))
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
        let reply = |&(serial, body_bytes)| ReplyNote {
            serial,
            body_bytes,
            response_ns: 100 * body_bytes,
            head: Some(NotedHead { begun: unix_secs(), bytes: Box::default() }),
        };
        Numbered { replies: replies.iter().map(reply).collect(), ..Numbered::new(()) }
    }

    #[test]
    fn the_first_reply_with_a_number_was_fetched_and_every_further_one_is_a_hit() {
        let mut seen = SeenNumbers::default();
        let two_threads =
            [noted(&[(Some(1), 10), (Some(2), 20), (Some(1), 10)]), noted(&[(Some(2), 20), (None, 5)])];
        let (first, heads) = seen.judge(Numbered::noted(two_threads.into()));
        assert_eq!(heads, None, "it is not known what the server said");
        let bytes = HitCounts { replies: 5, hits: 2, bytes: 65, hit_bytes: 30, unnumbered: 1, ..first };
        assert_eq!(first, HitCounts { hit_ns: 3_000, miss_ns: 3_000, ..bytes });
        assert_eq!((first.hit_mean(), first.miss_mean()), (Some(1_500.0), Some(1_500.0)));
        seen.words = Some(OriginWords::from_now(Nanos::ZERO));
        let (later, heads) = seen.judge(Numbered::noted(vec![noted(&[(Some(2), 20), (Some(3), 1)])]));
        assert_eq!(heads.map(|heads| heads.judged), Some(2));
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
