//! The buffers that the kernel reads into, and the rings through which it is given them.
//!
//! Hot. A buffer belongs to the kernel from [`Buffers::give`] until a completion names it, and to us from
//! then on. There are few, so that they stay in a core's cache: when they are used up, a receive ends
//! without loss and is asked for again. Connections that fill small ones are given large ones then.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Buffers of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The kernel's name for it.
    pub(super) number: u16,
    /// The number of its first buffer.
    first: u16,
    /// How many; a power of two.
    pub(super) count: u16,
    /// The size of each.
    pub(super) bytes: usize,
    layout: Layout,
}

/// Most replies fit in one, and there are twice as many as the largest batch worth waiting for.
pub(super) const SMALL: Group = Group::new(0, 0, 32, 16 * 1024);
/// What comes in megabytes comes in fewer pieces, as many as epoll reads.
pub(super) const LARGE: Group = Group::new(1, SMALL.count, 8, 64 * 1024);

/// Room for the entries of a group's ring, which lie before its buffers.
const PAGE_BYTES: usize = 4096;

impl Group {
    const fn new(number: u16, first: u16, count: u16, bytes: usize) -> Self {
        assert!(count.is_power_of_two() && count as usize * size_of::<BufRingEntry>() <= PAGE_BYTES);
        match Layout::from_size_align(PAGE_BYTES + count as usize * bytes, PAGE_BYTES) {
            Ok(layout) => Self { number, first, count, bytes, layout },
            Err(_) => panic!("the size is constant"),
        }
    }
}

/// All groups.
#[derive(Debug)]
pub(super) struct Buffers {
    small: Set,
    large: Set,
}

impl Buffers {
    /// Buffers, not yet known to any ring.
    pub(super) fn new() -> Self {
        Self { small: Set::new(SMALL), large: Set::new(LARGE) }
    }

    /// Gives the kernel all of them; once.
    ///
    /// # Safety
    /// The value has to live until the ring is closed.
    pub(super) unsafe fn register(&mut self, uring: &IoUring) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            self.small.register(uring)?;
            self.large.register(uring)
        }
    }

    /// Lets the kernel write into a buffer, which nobody may be reading: `&mut self` sees to that.
    pub(super) fn give(&mut self, buffer: u16) {
        if buffer < LARGE.first { self.small.give(buffer) } else { self.large.give(buffer - LARGE.first) }
    }

    /// What the kernel wrote into a buffer that it has named and was not given again.
    pub(super) fn bytes(&self, buffer: u16, range: Range<usize>) -> &[u8] {
        if buffer < LARGE.first {
            self.small.bytes(buffer, range)
        } else {
            self.large.bytes(buffer - LARGE.first, range)
        }
    }
}

/// The buffers of a group, by their number within it, and its ring: one piece of memory.
#[derive(Debug)]
struct Set {
    group: Group,
    memory: NonNull<u8>,
    tail: u16,
}

// SAFETY: the memory is this value's own, and is reached through it alone (and by the kernel, which does not
// care for threads).
unsafe impl Send for Set {}

impl Set {
    fn new(group: Group) -> Self {
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc_zeroed(group.layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(group.layout) };
        Self { group, memory, tail: 0 }
    }

    /// # Safety
    /// The value has to live until the ring is closed.
    unsafe fn register(&mut self, uring: &IoUring) -> io::Result<()> {
        let Group { number, count, .. } = self.group;
        let entries = self.memory.as_ptr() as u64;
        // SAFETY: the first page is aligned, has room for `count` entries and lives as long as the ring, as
        // the caller promises.
        unsafe { uring.submitter().register_buf_ring_with_flags(entries, count, number, 0)? };
        (0..count).for_each(|buffer| self.give(buffer));
        Ok(())
    }

    fn give(&mut self, buffer: u16) {
        let Group { count, first, bytes, .. } = self.group;
        assert!(buffer < count);
        let at = usize::from(self.tail & (count - 1));
        let start = PAGE_BYTES + usize::from(buffer) * bytes;
        // SAFETY: `at` < `count`, so the entry lies in the first page, which is aligned and zeroed, a valid
        // value. The kernel does not look at it before the tail says so. The first entry's unused field is
        // the tail; none of the three setters writes it. `start` lies in the same piece of memory.
        unsafe {
            let entry = &mut *self.memory.cast::<BufRingEntry>().as_ptr().add(at);
            entry.set_addr(self.memory.as_ptr().add(start) as u64);
            entry.set_len(bytes as u32);
            entry.set_bid(first + buffer);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the pointer is that of the first entry, which is valid as above; the tail is an aligned
        // u16 that the kernel only reads.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.memory.cast().as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    fn bytes(&self, buffer: u16, range: Range<usize>) -> &[u8] {
        let Group { count, bytes, .. } = self.group;
        assert!(buffer < count && range.start <= range.end && range.end <= bytes);
        let start = PAGE_BYTES + usize::from(buffer) * bytes + range.start;
        // SAFETY: the range lies within the memory, which was zeroed at first and is therefore initialised.
        // The kernel writes into buffers that it was given only; giving this one takes `&mut self`, which
        // ends the borrow.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), range.len()) }
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout by `new`. The ring they were registered with is closed, as
        // `register` demands. Receives are carried out by the thread that enters the ring and by nobody
        // else; those of a ring that is closed are cancelled.
        unsafe { dealloc(self.memory.as_ptr(), self.group.layout) }
    }
}
