//! Weighted URLs: the `get` workload, and the endless source of `bakeoff load`.
//!
//! A slice draws the URLs evenly (each in its share to within one) and puts them in a seeded order. The server's
//! objects are not known, so any status below 400 is good, or one that is expected.

use crate::draw::{Weights, deal};
use crate::{Ask, Expect, Method, Request, RequestTable, Site, Slice, Source, Workload, WorkloadError};
use bakeoff_content::{Catalogue, SplitMix64};
use bakeoff_units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A URL and its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetUrl {
    /// Path and query, percent-encoded, `/` first.
    pub path: String,
    /// Its weight; 0 means never.
    pub weight: u32,
    /// The one status that is right; `None`: any below 400.
    pub expect: Option<u16>,
}

impl GetUrl {
    /// A path of weight 1 whose replies are to be good.
    pub fn of(path: impl Into<String>) -> Self {
        Self { path: path.into(), weight: 1, expect: None }
    }
}

/// The `get` workload.
#[derive(Clone, Debug)]
pub struct Get {
    table: Arc<RequestTable>,
    weights: Weights,
    seed: u64,
    robots: Option<usize>,
}

impl Get {
    /// With `robots` in a closed loop, or in an open one.
    ///
    /// # Errors
    /// No URL, one that cannot be sent, or no robot.
    pub fn new(urls: &[GetUrl], robots: Option<usize>, seed: u64) -> Result<Self, WorkloadError> {
        let (table, weights) = prepare(urls)?;
        if robots == Some(0) {
            return Err(WorkloadError::NoRobots);
        }
        Ok(Self { table, weights, seed, robots })
    }
}

impl Workload for Get {
    fn slice(&mut self, round: u64, requests: usize) -> Result<Slice, WorkloadError> {
        let drawn = self.weights.draw(requests, round, self.seed);
        let lists = Arc::new(deal(drawn, self.robots.unwrap_or(1)));
        Ok(Slice { table: self.table.clone(), lists, at: Arc::default() })
    }

    fn closed(&self) -> Option<usize> {
        self.robots
    }

    fn total(&self) -> Option<u64> {
        None
    }

    fn skipped(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    fn catalogue(&self) -> Option<&Catalogue> {
        None
    }

    fn site(&self) -> Option<&Site> {
        None
    }
}

fn prepare(urls: &[GetUrl]) -> Result<(Arc<RequestTable>, Weights), WorkloadError> {
    let requests = urls.iter().map(request).collect::<Result<_, _>>()?;
    let weights = Weights::new(urls.iter().map(|url| url.weight)).ok_or(WorkloadError::NoUrls)?;
    Ok((Arc::new(RequestTable { requests }), weights))
}

fn request(url: &GetUrl) -> Result<Request, WorkloadError> {
    let path = url.path.as_bytes();
    let reason = match path {
        [b'/', ..] if path.contains(&b'#') => "a fragment (#) is never sent",
        [b'/', rest @ ..] if rest.iter().all(u8::is_ascii_graphic) => {
            let (target, headers) = (path.into(), Box::default());
            let expect = url.expect.map_or(Expect::Good, Expect::Status);
            return Ok(Request { method: Method::Get, target, headers, expect });
        }
        [b'/', ..] => "spaces, controls and letters beyond ASCII must be percent-encoded",
        _ => "it must start with /",
    };
    Err(WorkloadError::BadUrl { url: url.path.clone(), reason })
}

/// Asks for weighted URLs without end: a wheel that is prepared once and turned for ever.
#[derive(Clone, Debug)]
pub struct CycleSource {
    table: Arc<RequestTable>,
    wheel: Vec<u32>,
    next: usize,
}

/// The wheel's shortest length where there is more than one URL, so that the order is no short
/// pattern.
const WHEEL_MIN: u64 = 1024;
/// The wheel's greatest length: within it weights are kept to 1 in 65,536.
const WHEEL_MAX: u64 = 65_536;

impl CycleSource {
    /// The source of one thread; each thread has an order of its own.
    ///
    /// # Errors
    /// No URL, or one that cannot be sent.
    pub fn new(urls: &[GetUrl], seed: u64, thread: u64) -> Result<Self, WorkloadError> {
        let (table, weights) = prepare(urls)?;
        let total = weights.total();
        let len = if urls.len() == 1 { 1 } else { total * WHEEL_MIN.div_ceil(total) };
        let seed = SplitMix64::for_purpose(seed, thread).next_u64();
        Ok(Self { table, wheel: weights.draw(len.min(WHEEL_MAX) as usize, 0, seed), next: 0 })
    }
}

impl Source for CycleSource {
    fn next(&mut self, _robot: usize) -> Option<Ask<'_>> {
        let index = *self.wheel.get(self.next)?;
        self.next = if self.next + 1 == self.wheel.len() { 0 } else { self.next + 1 };
        let request = self.table.requests.get(index as usize)?;
        let Request { method, target, headers, expect } = request;
        Some(Ask { method: *method, target, headers, expect: *expect, ..Ask::default() })
    }

    fn upcoming(&self, _robot: usize) -> Option<Nanos> {
        Some(Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(list: &[(&str, u32)]) -> Vec<GetUrl> {
        list.iter().map(|(path, weight)| GetUrl { weight: *weight, ..GetUrl::of(*path) }).collect()
    }

    #[test]
    fn slices_hold_the_weights_and_depend_on_the_seed_alone() {
        let list = urls(&[("/f", 1), ("/g", 3)]);
        let mut get = Get::new(&list, Some(3), 7).unwrap();
        let slice = get.slice(4, 1001).unwrap();
        assert_eq!((slice.len(), slice.lists.len()), (1001, 3));
        let g = slice.lists.iter().flatten().filter(|&&index| index == 1).count();
        assert!((750..=751).contains(&g), "{g}");
        let mut again = Get::new(&list, Some(3), 7).unwrap();
        assert_eq!(again.slice(4, 1001).unwrap().lists, slice.lists);
        assert_ne!(again.slice(5, 1001).unwrap().lists, slice.lists);
        assert_ne!(Get::new(&list, Some(3), 8).unwrap().slice(4, 1001).unwrap().lists, slice.lists);
        assert_eq!(Get::new(&list, None, 7).unwrap().slice(4, 1001).unwrap().lists.len(), 1);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for wrong in ["", "f", "http://h/f", "/a b", "/a\r\nX: y", "/é", "/a#b"] {
            assert!(
                matches!(Get::new(&urls(&[(wrong, 1)]), None, 1), Err(WorkloadError::BadUrl { .. })),
                "{wrong}"
            );
        }
        assert!(matches!(Get::new(&[], None, 1), Err(WorkloadError::NoUrls)));
        assert!(matches!(Get::new(&urls(&[("/", 0)]), None, 1), Err(WorkloadError::NoUrls)));
        assert!(matches!(Get::new(&urls(&[("/", 1)]), Some(0), 1), Err(WorkloadError::NoRobots)));
    }

    #[test]
    fn the_endless_source_turns_its_wheel() {
        let mut source = CycleSource::new(&urls(&[("/f", 1), ("/g", 3)]), 7, 0).unwrap();
        let mut f = 0;
        for _ in 0..4096 {
            f += usize::from(source.next(0).unwrap().target == b"/f");
        }
        assert_eq!(f, 1024);
        let one = CycleSource::new(&urls(&[("/f", u32::MAX)]), 7, 0).unwrap();
        assert_eq!(one.wheel, [0]);
        let many = CycleSource::new(&urls(&[("/f", u32::MAX), ("/g", 1)]), 7, 0).unwrap();
        assert_eq!(many.wheel.len(), 65_536);
    }
}
