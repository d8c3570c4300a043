//! In-order replay: a log in its own order, streamed.
//!
//! Cold: before a slice. For open-loop clocks: the log's own times, or a constant or random rate that the pacer makes
//! up. The log is read once for a survey (paths and sizes, bad lines), then again as slices ask for it, from the start
//! when it ends. No line is held longer than the slice it is in; only the distinct paths that were answered with 200
//! are kept.

use super::intern::{Interned, Kind, RequestKey, too_many};
use super::pass::Pass;
use super::served::{Served, Sizes, unjudged};
use super::timeline::{Placed, Timeline, offsets};
use super::{LogSource, ReplayOptions, Summary};
use crate::{Request, RequestTable, Site, Slice, Workload, WorkloadError};
use bakeoff_content::Catalogue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The replay in order.
pub struct InOrder {
    source: LogSource,
    options: ReplayOptions,
    stamps: bool,
    seed: u64,
    summary: Summary,
    /// The expected replies; shares the catalogue with the site.
    served: Option<Served>,
    site: Option<Site>,
    pass: Pass,
    /// Number of requests that `pass` has given.
    position: u64,
}

impl InOrder {
    /// Reads the log once. With `stamps` a slice says when each request was made (the `original`
    /// clock).
    ///
    /// # Errors
    /// The log cannot be read, or is not worth replaying, or has no times where they are asked
    /// for, or its site is too large.
    pub fn new(
        source: &LogSource,
        options: &ReplayOptions,
        stamps: bool,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let (summary, sizes) = survey(source, options, stamps)?;
        let served = options.expect.then(|| Served::new(sizes, options.compressible));
        let site = served.as_ref().map(|served| Site::new(served.catalogue.clone(), options.max_site));
        let options = ReplayOptions { format: Some(summary.format), ..options.clone() };
        let pass = Pass::open(source, options.format)?;
        let (source, site) = (source.clone(), site.transpose()?);
        Ok(Self { source, options, stamps, seed, summary, served, site, pass, position: 0 })
    }

    /// The summary of the first reading.
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Goes to request number `start` of the log; back means from the beginning.
    fn seek(&mut self, start: u64) -> Result<(), WorkloadError> {
        if start < self.position {
            self.rewind()?;
        }
        while self.position < start {
            if !self.pass.advance()? {
                return Err(self.changed());
            }
            self.position += 1;
        }
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), WorkloadError> {
        self.pass = Pass::open(&self.source, self.options.format)?;
        self.position = 0;
        Ok(())
    }

    /// Goes on by one request; true if the log began again before it.
    fn advance(&mut self) -> Result<bool, WorkloadError> {
        let wrapped = self.position == self.summary.requests;
        if wrapped {
            self.rewind()?;
        }
        if !self.pass.advance()? {
            return Err(self.changed());
        }
        self.position += 1;
        Ok(wrapped)
    }

    fn changed(&self) -> WorkloadError {
        WorkloadError::LogChanged { log: self.source.name(), expected: self.summary.requests }
    }
}

/// The first reading: surveys the log, and judges whether it can be used.
fn survey(
    source: &LogSource,
    options: &ReplayOptions,
    stamps: bool,
) -> Result<(Summary, Sizes), WorkloadError> {
    let mut pass = Pass::open(source, options.format)?;
    let (mut sizes, mut timeline, mut successes) = (Sizes::default(), Timeline::default(), 0_u64);
    while pass.advance()? {
        let request = pass.request();
        timeline.place(request.at, 0);
        successes += u64::from(request.status < 400);
        if options.expect && request.status == 200 {
            sizes.add(request.path, request.bytes.unwrap_or(0));
        }
    }
    let summary = pass.finish(source, options)?;
    if successes == 0 || (options.expect && sizes.is_empty()) {
        return Err(WorkloadError::OnlyErrors { log: source.name(), requests: summary.requests });
    }
    if stamps && timeline.stamped == 0 {
        return Err(WorkloadError::NoStamps { log: source.name() });
    }
    let Timeline { out_of_order, clock_steps, unstamped, .. } = timeline;
    Ok((Summary { out_of_order, clock_steps, unstamped, ..summary }, sizes))
}

impl Workload for InOrder {
    /// The next `requests` of the log after the first round x requests.
    fn slice(&mut self, round: u64, requests: usize) -> Result<Slice, WorkloadError> {
        let start = u128::from(round) * requests as u128 % u128::from(self.summary.requests);
        self.seek(start as u64)?;
        let mut interned = Interned::default();
        let mut table = Vec::new();
        let mut timeline = Timeline::default();
        let mut placed: Vec<Placed> = Vec::with_capacity(requests);
        for _ in 0..requests {
            let wrapped = self.advance()?;
            let request = self.pass.request();
            if let (true, Some(stamp)) = (wrapped, request.at) {
                timeline.wrap(stamp.nanos);
            }
            let kind = Kind::of(&request, self.options.conditional);
            let (id, new) = interned.add(&request, kind).ok_or_else(|| too_many(&self.source))?;
            if new {
                table.push(self.resolved(kind));
            }
            placed.push(timeline.place(request.at, id));
        }
        let at = if self.stamps { offsets(&mut placed, self.seed) } else { Vec::new() };
        let list = placed.iter().map(|request| request.request).collect();
        let table = Arc::new(RequestTable { requests: table });
        Ok(Slice { table, lists: Arc::new(vec![list]), at: Arc::new(at) })
    }

    fn closed(&self) -> Option<usize> {
        None
    }

    /// The requests of the log.
    fn total(&self) -> Option<u64> {
        Some(self.summary.requests)
    }

    fn skipped(&self) -> BTreeMap<String, u64> {
        self.summary.skips.by_label()
    }

    fn log_lines(&self) -> Option<u64> {
        Some(self.summary.lines)
    }

    fn catalogue(&self) -> Option<&Catalogue> {
        self.site.as_ref().map(Site::catalogue)
    }

    fn site(&self) -> Option<&Site> {
        self.site.as_ref()
    }
}

impl InOrder {
    fn resolved(&self, kind: Kind) -> Request {
        let request = self.pass.request();
        let key = RequestKey { method: request.method, kind, target: request.target, host: request.host };
        match &self.served {
            Some(served) => served.request(&key, request.path),
            None => unjudged(&key, request.status < 400),
        }
    }
}
