//! Table of distinct requests, numbered in the order of first appearance.

use super::{LogSource, Replayable};
use crate::{Method, WorkloadError};
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
}

/// The requests of a log or of a slice. A key is one byte for method and kind, the length of the
/// range where there is one, and the target.
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
        let known = self.ids.get(&self.key[..]).copied();
        let id = match known {
            Some(id) => id,
            None => self.add_new(request.method, kind)?,
        };
        let seen = &mut self.seen[id as usize];
        seen.count += 1;
        let bytes = request.bytes.unwrap_or(0);
        seen.bytes = seen.bytes.max(bytes);
        if request.status == 200 {
            seen.success = seen.success.max(Some(bytes));
        }
        Some((id, known.is_none()))
    }

    fn add_new(&mut self, method: Method, kind: Kind) -> Option<u32> {
        let id = u32::try_from(self.seen.len()).ok().filter(|id| *id < u32::MAX)?;
        self.ids.insert(self.key.as_slice().into(), id);
        self.seen.push(DistinctRequest { method, kind, count: 0, bytes: 0, success: None });
        Some(id)
    }

    /// The targets by number.
    pub(super) fn into_targets(self) -> Vec<Box<[u8]>> {
        let mut targets = vec![Box::default(); self.seen.len()];
        for (key, id) in self.ids {
            let prefix = if key[0] == RANGE { 9 } else { 1 };
            targets[id as usize] = key[prefix..].into();
        }
        targets
    }
}

/// The first byte of a key with a range.
const RANGE: u8 = 4;

pub(super) fn too_many(source: &LogSource) -> WorkloadError {
    WorkloadError::TooManyDistinct { log: source.name() }
}
