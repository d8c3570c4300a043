//! Endless source: a slice repeated, for loads that end with time and not with work.

use crate::{Ask, Slice, Source};
use bakeoff_units::Nanos;

/// Walks the first list of a slice, from the end back to the beginning.
#[derive(Clone, Debug)]
pub struct EndlessSource {
    slice: Slice,
    /// The next place of each robot, not yet wrapped.
    next: Vec<usize>,
    step: usize,
}

impl EndlessSource {
    /// Open loop: request i, from number `from` on, goes to thread i % threads.
    pub fn by_request(slice: &Slice, threads: usize, from: usize) -> Vec<EndlessSource> {
        let threads = threads.max(1);
        let source =
            |thread| EndlessSource { slice: slice.clone(), next: vec![from + thread], step: threads };
        (0..threads).map(source).collect()
    }

    /// Closed loop: robots begin at places spread over the list, as if all together had made `from` requests; robot r
    /// goes to thread r % threads.
    pub fn by_robot(slice: &Slice, threads: usize, robots: usize, from: usize) -> Vec<EndlessSource> {
        let (threads, robots) = (threads.max(1), robots.max(1));
        let len = slice.lists.first().map_or(0, Vec::len);
        let source = |thread| {
            let places =
                (thread..robots).step_by(threads).map(|robot| robot * len / robots + from.div_ceil(robots));
            EndlessSource { slice: slice.clone(), next: places.collect(), step: 1 }
        };
        (0..threads).map(source).collect()
    }

    /// Number of robots on this thread.
    pub fn robots(&self) -> usize {
        self.next.len()
    }
}

impl Source for EndlessSource {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        let place = self.next.get_mut(robot)?;
        let list = self.slice.lists.first().filter(|list| !list.is_empty())?;
        let index = *list.get(*place % list.len())?;
        *place += self.step;
        let request = self.slice.table.requests.get(index as usize)?;
        Some(Ask {
            method: request.method,
            target: &request.target,
            headers: &request.headers,
            expect: request.expect,
            ..Ask::default()
        })
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        self.next.get(robot)?;
        self.slice.lists.first().filter(|list| !list.is_empty()).map(|_| Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expect, Method, Request, RequestTable};
    use std::sync::Arc;

    fn slice(entries: u32) -> Slice {
        let request = |name: u8| Request {
            method: Method::Get,
            target: Box::new([b'/', name]),
            headers: Box::default(),
            expect: Expect::Anything,
        };
        let requests = (b'a'..=b'z').map(request).collect();
        let lists = Arc::new(vec![(0..entries).collect()]);
        Slice { table: Arc::new(RequestTable { requests }), lists, at: Arc::default() }
    }

    fn targets(source: &mut EndlessSource, robot: usize, count: usize) -> String {
        (0..count).map(|_| char::from(source.next(robot).unwrap().target[1])).collect()
    }

    #[test]
    fn an_open_loop_goes_round_and_no_request_is_left_out() {
        let mut sources = EndlessSource::by_request(&slice(3), 2, 1);
        assert_eq!(targets(&mut sources[0], 0, 4), "bacb");
        assert_eq!(targets(&mut sources[1], 0, 4), "cbac");
        assert_eq!(sources[0].upcoming(0), Some(Nanos::ZERO));
    }

    #[test]
    fn robots_begin_apart_and_never_end() {
        let mut sources = EndlessSource::by_robot(&slice(4), 2, 3, 0);
        assert_eq!((sources[0].robots(), sources[1].robots()), (2, 1));
        assert_eq!(targets(&mut sources[0], 0, 5), "abcda");
        assert_eq!(targets(&mut sources[1], 0, 5), "bcdab");
        assert_eq!(targets(&mut sources[0], 1, 5), "cdabc");
        assert!(sources[0].next(2).is_none() && sources[0].upcoming(2).is_none());
    }

    #[test]
    fn nothing_is_asked_for_from_nothing() {
        let mut sources = EndlessSource::by_request(&slice(0), 1, 0);
        assert!(sources[0].next(0).is_none() && sources[0].upcoming(0).is_none());
    }
}
