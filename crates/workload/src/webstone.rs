//! The standard static file set of WebStone 2.5.
//!
//! Five files; the classes and weights are the benchmark's. It names sizes only roughly (500 B,
//! 5 KB ...): the exact bytes here, powers of 1024 times 5 beside 500, are our choice. The original
//! rolls dice; one request in 1000 then carries a quarter of all bytes, and runs differ by luck.
//! Here each slice draws the classes evenly (each in its share to within one), in a seeded order.
//! Clients in a closed loop without think time. Whether a connection serves one request, as in the
//! original, or many, is the load generator's matter.

use crate::draw::{Weights, deal};
use crate::{Expect, Method, Request, RequestTable, Site, Slice, Workload, WorkloadError};
use bakeoff_content::Catalogue;
use bakeoff_units::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The `webstone` workload.
#[derive(Clone, Debug)]
pub struct Webstone {
    table: Arc<RequestTable>,
    weights: Weights,
    site: Site,
    robots: usize,
    seed: u64,
}

impl Webstone {
    /// Path, bytes, and requests per thousand.
    pub const FILES: [(&'static str, u64, u32); 5] = [
        ("/file500.html", 500, 350),
        ("/file5k.html", 5_120, 500),
        ("/file50k.html", 51_200, 140),
        ("/file500k.html", 512_000, 9),
        ("/file5m.html", 5_242_880, 1),
    ];

    /// With this many clients (the original's word for robots).
    ///
    /// # Errors
    /// No robot.
    pub fn new(robots: usize, seed: u64) -> Result<Self, WorkloadError> {
        if robots == 0 {
            return Err(WorkloadError::NoRobots);
        }
        let mut catalogue = Catalogue::default();
        let mut requests = Vec::new();
        for (path, size, _) in Self::FILES {
            let expect = Expect::Body(catalogue.insert(path.as_bytes(), size));
            let (target, headers) = (path.as_bytes().into(), Box::default());
            requests.push(Request { method: Method::Get, target, headers, expect });
        }
        let table = Arc::new(RequestTable { requests });
        let weights = Weights::new(Self::FILES.map(|(_, _, weight)| weight)).ok_or(WorkloadError::NoUrls)?;
        let site = Site::new(catalogue, Bytes::new(u64::MAX))?;
        Ok(Self { table, weights, site, robots, seed })
    }
}

impl Workload for Webstone {
    fn slice(&mut self, round: u64, requests: usize) -> Result<Slice, WorkloadError> {
        let drawn = self.weights.draw(requests, round, self.seed);
        let lists = Arc::new(deal(drawn, self.robots));
        Ok(Slice { table: self.table.clone(), lists, at: Arc::default() })
    }

    fn closed(&self) -> Option<usize> {
        Some(self.robots)
    }

    fn total(&self) -> Option<u64> {
        None
    }

    fn skipped(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    fn catalogue(&self) -> Option<&Catalogue> {
        Some(self.site.catalogue())
    }

    fn site(&self) -> Option<&Site> {
        Some(&self.site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_requests_are_the_mix_exactly() {
        let mut webstone = Webstone::new(32, 7).unwrap();
        for round in 0..20 {
            let slice = webstone.slice(round, 1000).unwrap();
            assert_eq!(slice.lists.len(), 32);
            let mut counts = [0; 5];
            slice.lists.iter().flatten().for_each(|&index| counts[index as usize] += 1);
            assert_eq!(counts, [350, 500, 140, 9, 1]);
        }
        let mean: u64 = Webstone::FILES.iter().map(|(_, size, weight)| size * u64::from(*weight)).sum();
        assert_eq!(mean / 1000, 19_753, "bytes a request");
        assert_eq!(webstone.catalogue().unwrap().get(b"/file50k.html").unwrap().len(), 51_200);
        assert!(Webstone::new(0, 7).is_err());
    }
}
