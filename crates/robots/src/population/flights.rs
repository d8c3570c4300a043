//! The requests in flight, by ticket, and the pages they belong to.
//!
//! Measuring side, hot. Tables that grow to what is in flight at a time and then stay; no maps.

use super::asking::posted;
use super::request_text::method;
use crate::judge::{Accepts, RequestKind};
use bakeoff_content::world::ObjectName;
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::Upload;
use bakeoff_workload::Method;

/// A request in flight: its choice and its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// In the request's `X-Bakeoff: ask=`; never 0, and no other request of the run has it.
    pub stamp: u64,
    /// The object.
    pub name: ObjectName,
    /// Its kind.
    pub kind: RequestKind,
    /// Whether the object had been requested before.
    pub repeat: bool,
    /// Whether a page embeds it.
    pub embedded: bool,
    /// The content codings it accepts.
    pub accepts: Accepts,
    /// The phase in which it was due, as its place in the plan.
    pub phase: usize,
    /// When it was due, since the start.
    pub due: Nanos,
    /// When it was written and handed to its connection, since the start: the truth of that moment is in its condition.
    pub written: Nanos,
    /// Bytes of method, target and its own header lines.
    pub words_bytes: u64,
    /// Bytes of what a POST sends.
    pub sends: u64,
    /// Its number among the requests that are asked directly, from 0; 0 for embedded objects.
    pub nth: u64,
    /// Its page's place among those under way.
    pub page: u32,
}

impl Flight {
    /// Its method.
    pub const fn method(&self) -> Method {
        method(self.kind)
    }

    /// The body that it sends, as the origin should get it.
    pub fn upload(&self) -> Upload {
        let mut upload = Upload::default();
        if self.kind == RequestKind::Post {
            let body = posted(self);
            while upload.bytes < body.len() {
                upload.take(body.from(upload.bytes));
            }
        }
        upload
    }
}

/// A page: an object that was requested directly, with all that it embeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// When its first request was due.
    pub begun: Nanos,
    /// Number of objects requested.
    pub objects: u32,
    /// Whether one of them failed.
    pub failed: bool,
    /// Its robot.
    pub robot: u32,
    pub(super) pending: u32,
}

/// Numbered entries whose numbers are used again when free.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    things: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { things: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, thing: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.things[index as usize] = Some(thing);
            return index;
        }
        self.things.push(Some(thing));
        self.things.len() as u32 - 1
    }

    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.things.get(index as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.things.get_mut(index as usize)?.as_mut()
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let thing = self.things.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(thing)
    }

    pub(super) fn len(&self) -> usize {
        self.things.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slab_grows_to_what_it_holds_and_no_further() {
        let mut slab = Slab::new();
        let held: Vec<u32> = (0..10).map(|thing| slab.insert(thing)).collect();
        assert_eq!(held, (0..10).collect::<Vec<_>>());
        for round in 0..100 {
            assert_eq!(slab.remove(round % 10), Some(round % 10));
            assert_eq!((slab.remove(round % 10), slab.len()), (None, 9));
            assert_eq!(slab.insert(round % 10), round % 10);
        }
        assert_eq!((slab.things.len(), slab.get(10)), (10, None));
    }
}
