//! Queues of objects as linked lists in an array: an object is in at most one place of each.
//!
//! Cold, no hashing: objects are small numbers.

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A queue; the newest is at the head.
#[derive(Debug)]
pub(super) struct Queue {
    /// For each object its neighbours: towards the head and towards the tail.
    links: Vec<(u32, u32)>,
    head: u32,
    tail: u32,
}

impl Queue {
    pub(super) fn new(objects: usize) -> Self {
        Self { links: vec![(NONE, NONE); objects], head: NONE, tail: NONE }
    }

    /// Puts an object that is not in it at the head.
    pub(super) fn push(&mut self, object: u32) {
        self.links[object as usize] = (NONE, self.head);
        match self.head {
            NONE => self.tail = object,
            head => self.links[head as usize].0 = object,
        }
        self.head = object;
    }

    /// Takes an object out that is in it.
    pub(super) fn remove(&mut self, object: u32) {
        let (newer, older) = self.links[object as usize];
        match newer {
            NONE => self.head = older,
            newer => self.links[newer as usize].1 = older,
        }
        match older {
            NONE => self.tail = newer,
            older => self.links[older as usize].0 = newer,
        }
    }

    /// Takes the oldest out.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let oldest = self.tail;
        if oldest == NONE {
            return None;
        }
        self.remove(oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_comes_first_and_any_can_leave() {
        let mut queue = Queue::new(5);
        assert_eq!(queue.pop(), None);
        (0..5).for_each(|object| queue.push(object));
        for object in [2, 0, 4] {
            queue.remove(object);
        }
        queue.push(2);
        let left: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(left, [1, 3, 2]);
        queue.push(4);
        assert_eq!((queue.pop(), queue.pop()), (Some(4), None));
    }
}
