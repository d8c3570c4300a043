//! The buffers that the kernel reads into, and the ring through which it is given them.
//!
//! Hot. A buffer belongs to the kernel from [`Buffers::give`] until a completion names it, and to us from
//! then on. There are few, so that they stay in a core's cache: when they are used up, a receive ends
//! without loss and is asked for again.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// How many; a power of two. Twice the largest batch worth waiting for.
pub(super) const COUNT: u16 = 32;
/// Most replies fit in one; all of them in the second-level cache.
pub(super) const BYTES: usize = 16 * 1024;
/// The kernel's name for the group.
pub(super) const GROUP: u16 = 0;

/// Both lie in one piece of memory: the entries of the ring in its first page, the buffers behind it.
#[derive(Debug)]
pub(super) struct Buffers {
    memory: NonNull<u8>,
    tail: u16,
}

// SAFETY: the memory is this value's own, and is reached through it alone (and by the kernel, which does not
// care for threads).
unsafe impl Send for Buffers {}

const PAGE_BYTES: usize = 4096;
const LAYOUT: Layout = match Layout::from_size_align(PAGE_BYTES + COUNT as usize * BYTES, PAGE_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("a layout of constant size"),
};
const _: () = assert!(COUNT as usize * size_of::<BufRingEntry>() <= PAGE_BYTES && COUNT.is_power_of_two());

impl Buffers {
    /// Buffers, not yet known to any ring.
    pub(super) fn new() -> Self {
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc_zeroed(LAYOUT) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(LAYOUT) };
        Self { memory, tail: 0 }
    }

    /// Gives the kernel all of them; once.
    ///
    /// # Safety
    /// The value has to live until the ring is closed.
    pub(super) unsafe fn register(&mut self, uring: &IoUring) -> io::Result<()> {
        // SAFETY: the first page is aligned, has room for `COUNT` entries and lives as long as the ring, as
        // the caller promises.
        unsafe {
            uring.submitter().register_buf_ring_with_flags(self.memory.as_ptr() as u64, COUNT, GROUP, 0)?;
        }
        (0..COUNT).for_each(|buffer| self.give(buffer));
        Ok(())
    }

    /// Lets the kernel write into a buffer, which nobody may be reading: `&mut self` sees to that.
    pub(super) fn give(&mut self, buffer: u16) {
        debug_assert!(buffer < COUNT);
        let at = usize::from(self.tail & (COUNT - 1));
        let start = PAGE_BYTES + usize::from(buffer) * BYTES;
        // SAFETY: `at` < COUNT, so the entry lies in the first page, which is aligned and zeroed, a valid
        // value. The kernel does not look at it before the tail says so. The first entry's unused field is
        // the tail; none of the three setters writes it. `start` lies in the same piece of memory.
        unsafe {
            let entry = &mut *self.memory.cast::<BufRingEntry>().as_ptr().add(at);
            entry.set_addr(self.memory.as_ptr().add(start) as u64);
            entry.set_len(BYTES as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the pointer is that of the first entry, which is valid as above; the tail is an aligned
        // u16 that the kernel only reads.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.memory.cast().as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// What the kernel wrote into a buffer that it has named and was not given again.
    pub(super) fn bytes(&self, buffer: u16, range: Range<usize>) -> &[u8] {
        assert!(buffer < COUNT && range.start <= range.end && range.end <= BYTES);
        let start = PAGE_BYTES + usize::from(buffer) * BYTES + range.start;
        // SAFETY: the range lies within the memory, which was zeroed at first and is therefore initialised.
        // The kernel writes into buffers that it was given only; giving this one takes `&mut self`, which
        // ends the borrow.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), range.len()) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout by `new`. The ring they were registered with is closed, as
        // `register` demands; a ring that is closed cancels its receives and does not carry them out.
        unsafe { dealloc(self.memory.as_ptr(), LAYOUT) }
    }
}
