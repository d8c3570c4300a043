//! LRU replacement (least recently used). Cold; O(1) a request.

use super::Cache;
use super::queue::Queue;

#[derive(Debug)]
pub(super) struct Lru {
    queue: Queue,
    /// Bytes of each object that is held.
    held: Vec<Option<u64>>,
    used: u64,
    capacity: u64,
}

impl Lru {
    pub(super) fn new(objects: usize, capacity: u64) -> Self {
        Self { queue: Queue::new(objects), held: vec![None; objects], used: 0, capacity }
    }
}

impl Cache for Lru {
    fn ask(&mut self, _place: usize, object: u32, bytes: u64) -> bool {
        if self.held[object as usize].is_some() {
            self.queue.remove(object);
            self.queue.push(object);
            return true;
        }
        if bytes > self.capacity {
            return false;
        }
        while self.used > self.capacity - bytes {
            let Some(oldest) = self.queue.pop() else { break };
            self.used -= self.held[oldest as usize].take().unwrap_or_default();
        }
        self.queue.push(object);
        self.held[object as usize] = Some(bytes);
        self.used += bytes;
        false
    }
}
