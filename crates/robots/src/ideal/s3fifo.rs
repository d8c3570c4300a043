//! S3-FIFO replacement, weighted by bytes. Cold; O(1) a request on average.
//!
//! As in the paper: the small queue has a tenth of the room. An object that was requested more than once there moves to
//! the main queue; any other leaves its name with the ghosts. An object that comes back from the ghosts goes to the
//! main queue at once. The main queue gives requested objects another round. The ghosts' names stand for as many bytes
//! as the main queue may hold.

use super::Cache;
use super::queue::Queue;

/// The cap on an object's request count: two bits in the paper.
const OFTEN: u8 = 3;
/// Repeats from which an object of the small queue moves to the main queue.
const MOVES_ON: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueOf {
    Nowhere,
    Small,
    Main,
    Ghost,
}

#[derive(Clone, Copy, Debug)]
struct State {
    place: QueueOf,
    repeats: u8,
    bytes: u64,
}

/// A queue and the bytes of its objects.
#[derive(Debug)]
struct Filled {
    queue: Queue,
    bytes: u64,
}

#[derive(Debug)]
pub(super) struct S3Fifo {
    objects: Vec<State>,
    small: Filled,
    main: Filled,
    ghost: Filled,
    capacity: u64,
}

impl S3Fifo {
    pub(super) fn new(objects: usize, capacity: u64) -> Self {
        let empty = || Filled { queue: Queue::new(objects), bytes: 0 };
        let nowhere = State { place: QueueOf::Nowhere, repeats: 0, bytes: 0 };
        Self { objects: vec![nowhere; objects], small: empty(), main: empty(), ghost: empty(), capacity }
    }

    fn queue(&mut self, place: QueueOf) -> Option<&mut Filled> {
        match place {
            QueueOf::Nowhere => None,
            QueueOf::Small => Some(&mut self.small),
            QueueOf::Main => Some(&mut self.main),
            QueueOf::Ghost => Some(&mut self.ghost),
        }
    }

    /// Puts an object that is in no queue at the head of one.
    fn put(&mut self, object: u32, place: QueueOf) {
        let state = &mut self.objects[object as usize];
        state.place = place;
        let bytes = state.bytes;
        if let Some(filled) = self.queue(place) {
            filled.queue.push(object);
            filled.bytes += bytes;
        }
    }

    /// Takes the oldest out of a queue.
    fn pop(&mut self, place: QueueOf) -> Option<u32> {
        let object = self.queue(place)?.queue.pop()?;
        let state = &mut self.objects[object as usize];
        state.place = QueueOf::Nowhere;
        let bytes = state.bytes;
        if let Some(filled) = self.queue(place) {
            filled.bytes -= bytes;
        }
        Some(object)
    }

    /// Makes some room, or moves an object so that it then can.
    fn evict(&mut self) {
        let small_share = self.capacity / 10;
        if self.small.bytes > small_share || self.main.bytes == 0 {
            self.evict_small();
        } else {
            self.evict_main();
        }
    }

    fn evict_small(&mut self) {
        let Some(object) = self.pop(QueueOf::Small) else { return };
        if self.objects[object as usize].repeats >= MOVES_ON {
            self.objects[object as usize].repeats = 0;
            self.put(object, QueueOf::Main);
            return;
        }
        self.put(object, QueueOf::Ghost);
        while self.ghost.bytes > self.capacity - self.capacity / 10 {
            if self.pop(QueueOf::Ghost).is_none() {
                break;
            }
        }
    }

    fn evict_main(&mut self) {
        let Some(object) = self.pop(QueueOf::Main) else { return };
        let state = &mut self.objects[object as usize];
        if state.repeats > 0 {
            state.repeats -= 1;
            self.put(object, QueueOf::Main);
        }
    }
}

impl Cache for S3Fifo {
    fn ask(&mut self, _place: usize, object: u32, bytes: u64) -> bool {
        let state = &mut self.objects[object as usize];
        let place = state.place;
        if matches!(place, QueueOf::Small | QueueOf::Main) {
            state.repeats = (state.repeats + 1).min(OFTEN);
            return true;
        }
        if bytes > self.capacity {
            return false;
        }
        if place == QueueOf::Ghost {
            let was = state.bytes;
            self.ghost.queue.remove(object);
            self.ghost.bytes -= was;
            self.objects[object as usize].place = QueueOf::Nowhere;
        }
        // Objects without bytes need no room, and would make none.
        while self.small.bytes + self.main.bytes > self.capacity - bytes {
            self.evict();
        }
        self.objects[object as usize] = State { place: QueueOf::Nowhere, repeats: 0, bytes };
        self.put(object, if place == QueueOf::Ghost { QueueOf::Main } else { QueueOf::Small });
        false
    }
}
