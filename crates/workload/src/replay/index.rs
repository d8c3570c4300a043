//! Index of a whole log: distinct requests with their counts.
//!
//! Cold: made once. Equal requests share one entry, so that a log of any length takes no more memory than its distinct
//! requests: line number n of the log *sorted by reply size* is found by search in the running sums of the counts.
//! Robots walk those numbers.

use super::intern::{DistinctRequest, Interned, InternedTarget, Kind, RequestKey, too_many};
use super::pass::Pass;
use super::served::{Served, Sizes, unjudged};
use super::{Classifier, LogSource, ReplayOptions, Summary};
use crate::{Expect, Method, Request, RequestTable, Site, WorkloadError};
use bakeoff_wire::access_log::LogEntry;
use std::sync::Arc;

/// The index of a log.
#[derive(Clone, Debug)]
pub struct LogIndex {
    table: Arc<RequestTable>,
    /// Requests sorted by reply size, smallest first, each with the end of its lines among the sorted lines.
    sorted: Vec<(u32, u64)>,
    site: Option<Site>,
    /// Summary of the log; a synthetic index has none.
    summary: Option<Summary>,
}

impl LogIndex {
    /// Reads a log.
    ///
    /// # Errors
    /// The log cannot be read, or is not worth replaying, or its site is too large.
    pub fn read(source: &LogSource, options: &ReplayOptions) -> Result<Self, WorkloadError> {
        let mut pass = Pass::open(source, options.format)?;
        let mut interned = Interned::default();
        let mut successes = 0_u64;
        while pass.advance()? {
            let request = pass.request();
            let kind = Kind::of(&request, options.conditional);
            interned.add(&request, kind).ok_or_else(|| too_many(source))?;
            successes += u64::from(request.status < 400);
        }
        let summary = pass.finish(source, options)?;
        let seen = interned.seen.clone();
        let targets = interned.into_targets();
        let sizes = sizes(&targets, &seen);
        if successes == 0 || (options.expect && sizes.is_empty()) {
            return Err(WorkloadError::OnlyErrors { log: source.name(), requests: summary.requests });
        }
        let served = options.expect.then(|| Served::new(sizes, options.compressible));
        let (requests, sorted) = resolve(&targets, &seen, served.as_ref());
        let site = served.map(|served| Site::new(served.catalogue, options.max_site)).transpose()?;
        Ok(Self { table: Arc::new(RequestTable { requests }), sorted, site, summary: Some(summary) })
    }

    /// Requests that are in no log, each once, with the size of its reply, and the site they are of.
    pub(crate) fn of(requests: Vec<(Request, u64)>, site: Site) -> Self {
        let mut order: Vec<(u64, u32)> =
            requests.iter().zip(0..).map(|((_, size), at)| (*size, at)).collect();
        order.sort_unstable();
        let sorted = order.into_iter().zip(1..).map(|((_, request), end)| (request, end)).collect();
        let requests = requests.into_iter().map(|(request, _)| request).collect();
        Self { table: Arc::new(RequestTable { requests }), sorted, site: Some(site), summary: None }
    }

    /// The distinct requests.
    pub const fn table(&self) -> &Arc<RequestTable> {
        &self.table
    }

    /// Number of lines that can be replayed.
    pub fn lines(&self) -> u64 {
        self.sorted.last().map_or(0, |(_, end)| *end)
    }

    /// The request of a line, lines being sorted by reply size; `None` from `lines` on.
    pub fn request_of(&self, line: u64) -> Option<u32> {
        let at = self.sorted.partition_point(|(_, end)| *end <= line);
        self.sorted.get(at).map(|(request, _)| *request)
    }

    /// The site rebuilt from the log, where replies are judged.
    pub const fn site(&self) -> Option<&Site> {
        self.site.as_ref()
    }

    /// The summary of the log; `None` when there is no log.
    pub const fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }
}

/// The paths that were answered with 200, and their largest sizes.
fn sizes(targets: &[InternedTarget], seen: &[DistinctRequest]) -> Sizes {
    let mut classifier = Classifier::default();
    let mut sizes = Sizes::default();
    for (target, seen) in targets.iter().zip(seen) {
        if let Some(bytes) = seen.success {
            sizes.add(path_of(&mut classifier, &target.target), bytes);
        }
    }
    sizes
}

/// Gives each request its expected reply, and sorts them by the size of that.
fn resolve(
    targets: &[InternedTarget],
    seen: &[DistinctRequest],
    served: Option<&Served>,
) -> (Vec<Request>, Vec<(u32, u64)>) {
    let mut classifier = Classifier::default();
    let mut requests = Vec::with_capacity(seen.len());
    let mut sizes = Vec::with_capacity(seen.len());
    for (target, seen) in targets.iter().zip(seen) {
        let InternedTarget { target, host } = target;
        let key = RequestKey { method: seen.method, kind: seen.kind, target, host: host.as_deref() };
        let request = match served {
            Some(served) => served.request(&key, path_of(&mut classifier, target)),
            None => unjudged(&key, seen.good),
        };
        sizes.push((reply_size(&request, seen.bytes), requests.len() as u32, seen.count));
        requests.push(request);
    }
    sizes.sort_unstable();
    let mut end = 0;
    let sorted = sizes.into_iter().map(|(_, request, count)| {
        end += count;
        (request, end)
    });
    (requests, sorted.collect())
}

/// The path of a target that has been classified before: then as good as now.
fn path_of<'c>(classifier: &'c mut Classifier, target: &[u8]) -> &'c [u8] {
    let entry = LogEntry {
        at: None,
        method: b"GET",
        target,
        query: None,
        escaped: false,
        status: 0,
        bytes: None,
        vhost: None,
    };
    classifier.classify(&entry).map_or(b"/", |request| request.path)
}

/// Bytes of the reply's body, as far as they are known.
fn reply_size(request: &Request, logged: u64) -> u64 {
    match request.expect {
        _ if request.method == Method::Head => 0,
        Expect::Anything | Expect::Good => logged,
        Expect::Body(body) | Expect::BodyOrRedirect(body) => body.len(),
        Expect::Status(_) | Expect::Refusal => 0,
        Expect::FirstBytes { len, .. } | Expect::Selected { len, .. } => len,
    }
}
