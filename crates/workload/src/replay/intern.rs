//! Table of distinct requests, numbered in the order of first appearance.

use super::{LogSource, Replayable};
use crate::{Expect, Method, Request, WorkloadError};
use std::collections::HashMap;

/// The form in which a logged request is asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As it is.
    Plain,
    /// Only if changed since the site was made: a logged 304.
    IfModified,
    /// Its first bytes, so many: a logged 206.
    Range(u64),
}

impl Kind {
    pub(super) const fn of(request: &Replayable<'_>, conditional: bool) -> Self {
        match (conditional, request.status, request.method, request.bytes) {
            (true, 304, _, _) => Self::IfModified,
            (true, 206, Method::Get, Some(bytes @ 1..)) => Self::Range(bytes),
            _ => Self::Plain,
        }
    }
}

/// A distinct request of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct DistinctRequest {
    pub(super) method: Method,
    pub(super) kind: Kind,
    /// Number of its lines.
    pub(super) count: u64,
    /// The largest size that was logged.
    pub(super) bytes: u64,
    /// The largest size of a reply with status 200, if there was one.
    pub(super) success: Option<u64>,
    /// Whether all of its replies were good: a status below 400.
    pub(super) good: bool,
}

/// What a distinct request is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestKey<'a> {
    pub(super) method: Method,
    pub(super) kind: Kind,
    pub(super) target: &'a [u8],
    /// The virtual host that was asked for, if the log has one.
    pub(super) host: Option<&'a [u8]>,
}

impl RequestKey<'_> {
    /// The request, its own `Host` first among the header lines.
    pub(super) fn request(&self, headers: Box<[u8]>, expect: Expect) -> Request {
        let headers = match self.host {
            Some(host) => [b"Host: ", host, b"\r\n", &headers].concat().into(),
            None => headers,
        };
        Request { method: self.method, target: self.target.into(), headers, expect }
    }
}

/// A target, and the host that it was asked of.
#[derive(Clone, Debug, Default)]
pub(super) struct InternedTarget {
    pub(super) target: Box<[u8]>,
    pub(super) host: Option<Box<[u8]>>,
}

/// The requests of a log or of a slice. A key is one byte for method and kind, the length of the
/// range where there is one, the target, and, behind a line feed, which no target has, the host.
#[derive(Debug, Default)]
pub(super) struct Interned {
    ids: HashMap<Box<[u8]>, u32>,
    pub(super) seen: Vec<DistinctRequest>,
    key: Vec<u8>,
}

impl Interned {
    /// The number of this request, and whether it is new.
    pub(super) fn add(&mut self, request: &Replayable<'_>, kind: Kind) -> Option<(u32, bool)> {
        self.key.clear();
        let head = u8::from(request.method == Method::Head);
        match kind {
            Kind::Plain => self.key.push(head),
            Kind::IfModified => self.key.push(2 + head),
            Kind::Range(bytes) => {
                self.key.push(RANGE);
                self.key.extend_from_slice(&bytes.to_be_bytes());
            }
        }
        self.key.extend_from_slice(request.target);
        if let Some(host) = request.host {
            self.key.push(b'\n');
            self.key.extend_from_slice(host);
        }
        let known = self.ids.get(&self.key[..]).copied();
        let id = match known {
            Some(id) => id,
            None => self.add_new(request.method, kind)?,
        };
        let seen = &mut self.seen[id as usize];
        seen.count += 1;
        let bytes = request.bytes.unwrap_or(0);
        seen.bytes = seen.bytes.max(bytes);
        seen.good &= request.status < 400;
        if request.status == 200 {
            seen.success = seen.success.max(Some(bytes));
        }
        Some((id, known.is_none()))
    }

    fn add_new(&mut self, method: Method, kind: Kind) -> Option<u32> {
        let id = u32::try_from(self.seen.len()).ok().filter(|id| *id < u32::MAX)?;
        self.ids.insert(self.key.as_slice().into(), id);
        self.seen.push(DistinctRequest { method, kind, count: 0, bytes: 0, success: None, good: true });
        Some(id)
    }

    /// The targets by number.
    pub(super) fn into_targets(self) -> Vec<InternedTarget> {
        let mut targets = vec![InternedTarget::default(); self.seen.len()];
        for (key, id) in self.ids {
            let prefix = if key[0] == RANGE { 9 } else { 1 };
            let mut parts = key[prefix..].splitn(2, |&byte| byte == b'\n');
            let target = parts.next().unwrap_or_default().into();
            targets[id as usize] = InternedTarget { target, host: parts.next().map(Box::from) };
        }
        targets
    }
}

/// The first byte of a key with a range.
const RANGE: u8 = 4;

pub(super) fn too_many(source: &LogSource) -> WorkloadError {
    WorkloadError::TooManyDistinct { log: source.name() }
}
