//! A ring of one thread: what is asked for, one call that hands it over and waits, what came of it.
//!
//! Hot. Completions are made only while the thread is in that call (`DEFER_TASKRUN`), so that a batch costs
//! one waking up. In return the kernel lets no other thread use the ring.

use super::super::{SystemCalls, Wait};
use super::buffers::{self, Buffers};
use super::tag::Op;
use bakeoff_units::Nanos;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::RawFd;
use std::thread::ThreadId;

/// Requests between two calls; more of them make an extra call.
const REQUESTS: u32 = 512;
/// Completions between two looks; more of them are kept by the kernel, at a price.
const COMPLETIONS: u32 = 8192;
/// A wait without limit ends all the same now and then, with nothing.
const FOREVER: Nanos = Nanos::from_secs(3600);

/// See the module. The ring is dropped, and so closed, before its buffers.
pub(super) struct Ring {
    uring: IoUring,
    pub(super) buffers: Buffers,
    owner: ThreadId,
    min_wait: bool,
    /// What came by the last call, in order, but for sends.
    came: VecDeque<Completion>,
    /// Sends of the last call that did not go out whole.
    cut: Vec<Completion>,
    /// What a stamped receive has beside its bytes: no name, room for one control message.
    message: Box<libc::msghdr>,
}

// SAFETY: the message header holds null pointers and lengths alone; all else is `Send` by itself.
unsafe impl Send for Ring {}

/// How bytes are received.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Receive {
    /// With stamps before them.
    pub(super) stamped: bool,
    /// Into large buffers.
    pub(super) large: bool,
}

/// What came of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) op: Op,
    pub(super) token: u64,
    pub(super) result: i32,
    /// The buffer that holds what was received.
    pub(super) buffer: Option<u16>,
    /// The request stands, and there will be more.
    pub(super) more: bool,
}

impl Ring {
    /// A ring for this thread.
    pub(super) fn new() -> io::Result<Self> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(REQUESTS)?;
        let mut buffers = Buffers::new();
        // SAFETY: both go into one value, which drops the ring first; if it comes to no value, `uring`, made
        // first, would be dropped last, but then nothing was asked of it.
        unsafe { buffers.register(&uring)? };
        // SAFETY: all-zero is a valid `msghdr` (null pointers, zero lengths).
        let mut message: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        message.msg_controllen = CONTROL_BYTES as _;
        let min_wait = uring.params().is_feature_min_timeout();
        let (came, cut) = (VecDeque::new(), Vec::new());
        let owner = std::thread::current().id();
        Ok(Self { uring, buffers, owner, min_wait, came, cut, message })
    }

    pub(super) fn is_of_this_thread(&self) -> bool {
        self.owner == std::thread::current().id()
    }

    /// Asks for all that comes from a socket, from now on.
    pub(super) fn receive(&mut self, fd: RawFd, token: u64, how: Receive) -> io::Result<()> {
        let group = if how.large { buffers::LARGE.number } else { buffers::SMALL.number };
        let entry = if how.stamped {
            opcode::RecvMsgMulti::new(Fd(fd), &raw const *self.message, group).build()
        } else {
            opcode::RecvMulti::new(Fd(fd), group).build()
        };
        // SAFETY: the kernel writes into registered buffers, which outlive the ring, and reads the header,
        // which lives as long; both are dropped after the ring.
        unsafe { self.push(&entry.user_data(Op::Receive.tag(token))) }
    }

    /// Asks to be told when a socket can be written to, or is gone; once.
    pub(super) fn ready(&mut self, fd: RawFd, token: u64) -> io::Result<()> {
        let entry = opcode::PollAdd::new(Fd(fd), libc::POLLOUT as u32).build();
        // SAFETY: the request has no memory.
        unsafe { self.push(&entry.user_data(Op::Ready.tag(token))) }
    }

    /// Asks for all who connect to a listener.
    pub(super) fn accept(&mut self, fd: RawFd, token: u64) -> io::Result<()> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let entry = opcode::AcceptMulti::new(Fd(fd)).flags(flags).build();
        // SAFETY: the request has no memory: no address is asked for.
        unsafe { self.push(&entry.user_data(Op::Accept.tag(token))) }
    }

    /// Asks to send what the kernel takes at once. There is a completion only if that is not all, and then
    /// it says how much was taken, or [`libc::EAGAIN`].
    ///
    /// # Safety
    /// The bytes have to stay where they are until [`Ring::enter`] has returned `Ok` or the ring is dropped.
    pub(super) unsafe fn send(&mut self, fd: RawFd, token: u64, bytes: &[u8]) -> io::Result<()> {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let flags = libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let entry = opcode::Send::new(Fd(fd), bytes.as_ptr(), len).flags(flags).build();
        let entry = entry.flags(Flags::SKIP_SUCCESS).user_data(Op::Send.tag(token));
        // SAFETY: with MSG_DONTWAIT a send is over when it has been handed over: it is never armed for later
        // (`probe` tries it). The bytes stay until then, as the caller promises.
        unsafe { self.push(&entry) }
    }

    /// # Safety
    /// What the entry points at has to live until the request is over.
    unsafe fn push(&mut self, entry: &Entry) -> io::Result<()> {
        loop {
            // SAFETY: as the caller promises.
            if unsafe { self.uring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit()?;
        }
    }

    /// Hands over all that is asked for, and waits. Nothing that was asked for is left in the queue, and
    /// nothing that came is left in the other.
    pub(super) fn enter(&mut self, wait: Wait, calls: &mut SystemCalls) -> io::Result<()> {
        let at_most = wait.at_most.unwrap_or(FOREVER);
        let batch = wait.batch.filter(|batch| batch.events > 1 && batch.within > Nanos::ZERO);
        calls.waits += 1;
        let done = match batch {
            _ if at_most == Nanos::ZERO => self.look(),
            Some(batch) if self.min_wait => {
                self.sleep(batch.events as usize, at_most, batch.within.min(at_most))
            }
            Some(batch) => {
                let nap = batch.within.min(at_most);
                self.submit()?;
                std::thread::sleep(nap.as_duration());
                calls.waits += 1;
                calls.naps += 1;
                self.sleep(1, at_most.since(nap), Nanos::ZERO)
            }
            None => self.sleep(1, at_most, Nanos::ZERO),
        };
        match done {
            Err(error) if !is_nothing(&error) => return Err(error),
            _ => {}
        }
        while !self.uring.submission().is_empty() {
            calls.waits += 1;
            self.submit()?;
        }
        self.take_in();
        while self.uring.submission().cq_overflow() {
            calls.waits += 1;
            self.look()?; // brings what did not fit
            self.take_in();
        }
        Ok(())
    }

    fn take_in(&mut self) {
        for entry in self.uring.completion() {
            let (op, token) = Op::of(entry.user_data());
            let (result, flags) = (entry.result(), entry.flags());
            let buffer = cqueue::buffer_select(flags);
            let came = Completion { op, token, result, buffer, more: cqueue::more(flags) };
            if op == Op::Send { self.cut.push(came) } else { self.came.push_back(came) }
        }
    }

    fn sleep(&mut self, events: usize, at_most: Nanos, within: Nanos) -> io::Result<usize> {
        let time = Timespec::from(at_most.as_duration());
        let within = u32::try_from(within.get().div_ceil(1000)).unwrap_or(u32::MAX);
        let args = SubmitArgs::new().min_wait_usec(within).timespec(&time);
        self.uring.submitter().submit_with_args(events.min(COMPLETIONS as usize / 2), &args)
    }

    /// Takes what is there without sleeping.
    fn look(&mut self) -> io::Result<usize> {
        const GET_EVENTS: u32 = 1; // IORING_ENTER_GETEVENTS
        let requests = self.uring.submission().len() as u32;
        // SAFETY: there are so many entries in the queue, each with what it points at alive; there is no
        // argument.
        unsafe { self.uring.submitter().enter::<libc::sigset_t>(requests, 0, GET_EVENTS, None) }
    }

    fn submit(&mut self) -> io::Result<()> {
        match self.uring.submit() {
            Err(error) if !is_nothing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// What came next.
    pub(super) fn next(&mut self) -> Option<Completion> {
        self.came.pop_front()
    }

    /// What comes after that.
    pub(super) fn peek(&self) -> Option<&Completion> {
        self.came.front()
    }

    /// A send that did not go out whole.
    pub(super) fn cut(&mut self) -> Option<Completion> {
        self.cut.pop()
    }

    /// Tells of a send that failed, before all else.
    pub(super) fn put_first(&mut self, failed: Completion) {
        self.came.push_front(failed);
    }

    /// Where the bytes of a completed receive lie in their buffer.
    pub(super) fn place(stamped: bool, len: usize) -> Range<usize> {
        let start = if stamped { HEAD_BYTES + CONTROL_BYTES } else { 0 };
        start..len.max(start)
    }

    /// The control bytes of a completed receive that was to be stamped; what else lies in their place is old.
    pub(super) fn control(&self, buffer: u16) -> &[u8] {
        let head = self.buffers.bytes(buffer, 0..HEAD_BYTES);
        let len = head[4..].first_chunk().map_or(0, |len| u32::from_ne_bytes(*len) as usize);
        self.buffers.bytes(buffer, HEAD_BYTES..HEAD_BYTES + len.min(CONTROL_BYTES))
    }
}

/// `struct io_uring_recvmsg_out`, which stands before the control bytes: four numbers of 32 bits, of which the
/// second is how many of the control bytes are used.
const HEAD_BYTES: usize = 16;
/// Room for a timespec as control message.
const CONTROL_BYTES: usize = 32;

/// The time was over, or a signal came.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR))
}

#[cfg(test)]
mod tests {
    use super::super::super::Batch;
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    #[test]
    fn a_kernel_that_cannot_wait_for_a_batch_gets_a_nap() {
        let (mut left, right) = UnixStream::pair().unwrap();
        let Ok(mut ring) = Ring::new() else {
            println!("skipped: no io_uring here");
            return;
        };
        ring.min_wait = false;
        ring.receive(right.as_raw_fd(), 1, Receive::default()).unwrap();
        left.write_all(b"x").unwrap();
        let within = Nanos::from_millis(10);
        let wait = Wait { at_most: None, batch: Some(Batch { events: 8, within }) };
        let (start, mut calls) = (Instant::now(), SystemCalls::default());
        ring.enter(wait, &mut calls).unwrap();
        assert!(start.elapsed() >= within.as_duration());
        assert_eq!((calls.naps, calls.waits), (1, 2));
        assert!(ring.next().is_some_and(|came| came.token == 1 && came.result == 1));
    }
}
