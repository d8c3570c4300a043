//! Belady's MIN, which replaces the object whose next request is furthest away. Cold; O(log n) a request on average.
//!
//! The requested object is taken in, then the object that is needed again last leaves until all fit. That may be the
//! newcomer itself, so an object can be bypassed, which a proxy may do and a processor's cache may not.

use super::{Cache, Dense};
use std::collections::BinaryHeap;

/// Never again.
const NEVER: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Belady {
    /// For each request the place of the next one for its object.
    next: Vec<u32>,
    /// For each object that is held: when it is needed next, and its bytes.
    held: Vec<Option<(u32, u64)>>,
    /// Next uses of objects, the last first. Entries of the past stay in until they come up.
    needs: BinaryHeap<(u32, u32)>,
    used: u64,
    capacity: u64,
}

impl Belady {
    pub(super) fn new(requests: &[Dense], objects: usize, capacity: u64) -> Self {
        let mut next = vec![NEVER; requests.len()];
        let mut soonest = vec![NEVER; objects];
        for (place, request) in requests.iter().enumerate().rev().filter(|(_, request)| request.cachable) {
            next[place] = std::mem::replace(&mut soonest[request.object as usize], place as u32);
        }
        Self { next, held: vec![None; objects], needs: BinaryHeap::new(), used: 0, capacity }
    }

    fn evict_last_needed(&mut self) -> bool {
        while let Some((next, object)) = self.needs.pop() {
            let held = &mut self.held[object as usize];
            if let Some((_, bytes)) = held.filter(|(needed, _)| *needed == next) {
                *held = None;
                self.used -= bytes;
                return true;
            }
        }
        false
    }
}

impl Cache for Belady {
    fn ask(&mut self, place: usize, object: u32, bytes: u64) -> bool {
        let next = self.next[place];
        let held = &mut self.held[object as usize];
        let hit = held.is_some();
        let fits = hit || (next != NEVER && bytes <= self.capacity);
        if !fits {
            return false;
        }
        let bytes = held.map_or(bytes, |(_, bytes)| bytes);
        *held = Some((next, bytes));
        self.needs.push((next, object));
        if !hit {
            self.used = self.used.saturating_add(bytes);
            while self.used > self.capacity && self.evict_last_needed() {}
        }
        hit
    }
}
