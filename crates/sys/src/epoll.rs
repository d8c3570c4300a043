//! epoll wrapper for edge-triggered readiness, used by the load generator and the origin.
//!
//! Hot. Owns the epoll descriptor; does not own the sockets, which deregister themselves by being
//! closed. Waits with nanosecond time-outs where the kernel has `epoll_pwait2` (5.11), with
//! milliseconds, rounded up, elsewhere.

use bakeoff_units::Nanos;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once `epoll_pwait2` turned out to be missing.
static NO_PWAIT2: AtomicBool = AtomicBool::new(false);

/// An epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: Epoll,
    events: Vec<EpollEvent>,
    ready: usize,
}

/// The readiness for which a socket is watched; its end always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Incoming bytes.
    Reading,
    /// Also room for outgoing bytes.
    Both,
}

impl Interest {
    fn flags(self) -> EpollFlags {
        let reading = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        match self {
            Self::Reading => reading,
            Self::Both => reading | EpollFlags::EPOLLOUT,
        }
    }
}

/// Readiness of one registered descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    /// The number it was registered with.
    pub token: u64,
    /// Bytes or end of stream can be read, or the peer is gone.
    pub readable: bool,
    /// A connection attempt ended, or bytes can be written again.
    pub writable: bool,
    /// The peer has ended its half or the connection is gone: read to the end of the stream, for
    /// no further edge will tell of it.
    pub closed: bool,
}

impl Poller {
    /// A poller that hands out up to `capacity` events a wait.
    ///
    /// # Errors
    /// What `epoll_create1` reports, mostly too many open files.
    pub fn new(capacity: usize) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Self { epoll, events: vec![EpollEvent::empty(); capacity.max(1)], ready: 0 })
    }

    /// Watches a socket, edge-triggered. Readiness that is there already is reported as if it came now.
    ///
    /// # Errors
    ///
    /// What `epoll_ctl` reports.
    pub fn watch(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.add(fd, EpollEvent::new(interest.flags(), token))?)
    }

    /// Watches a socket for another readiness from now on; one that is there already is reported again.
    ///
    /// # Errors
    ///
    /// What `epoll_ctl` reports.
    pub fn change(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.modify(fd, &mut EpollEvent::new(interest.flags(), token))?)
    }

    /// Watches a listening socket or an eventfd, level-triggered, for reading.
    ///
    /// # Errors
    /// What `epoll_ctl` reports.
    pub fn add_listener(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        Ok(self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, token))?)
    }

    /// Waits until something is ready or the time is over (`None`: without end). Being interrupted
    /// by a signal counts as nothing ready.
    ///
    /// # Errors
    /// What the kernel reports, never `EINTR`.
    pub fn wait(&mut self, timeout: Option<Nanos>) -> io::Result<usize> {
        self.ready = match self.wait_raw(timeout) {
            Ok(ready) => ready,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(self.ready)
    }

    /// The `index`-th event of the last wait.
    pub fn event(&self, index: usize) -> Readiness {
        let event = &self.events[..self.ready][index];
        let flags = event.events();
        let gone = EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        Readiness {
            token: event.data(),
            readable: flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | gone),
            writable: flags.intersects(EpollFlags::EPOLLOUT | gone),
            closed: flags.intersects(EpollFlags::EPOLLRDHUP | gone),
        }
    }

    fn wait_raw(&mut self, timeout: Option<Nanos>) -> io::Result<usize> {
        if !NO_PWAIT2.load(Ordering::Relaxed) {
            match self.pwait2(timeout) {
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
                    NO_PWAIT2.store(true, Ordering::Relaxed)
                }
                result => return result,
            }
        }
        let millis = timeout.map_or(-1, |t| i32::try_from(t.get().div_ceil(1_000_000)).unwrap_or(i32::MAX));
        let timeout =
            nix::sys::epoll::EpollTimeout::try_from(millis).unwrap_or(nix::sys::epoll::EpollTimeout::MAX);
        Ok(self.epoll.wait(&mut self.events, timeout)?)
    }

    fn pwait2(&mut self, timeout: Option<Nanos>) -> io::Result<usize> {
        let spec = timeout.map(|t| libc::timespec {
            tv_sec: libc::time_t::try_from(t.get() / 1_000_000_000).unwrap_or(libc::time_t::MAX),
            tv_nsec: (t.get() % 1_000_000_000) as libc::c_long,
        });
        let spec = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let capacity = libc::c_int::try_from(self.events.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the descriptor is open for the life of `self`; `EpollEvent` is a transparent
        // wrapper of `epoll_event` and the kernel writes at most `capacity` of them; `spec` is
        // null or points at a timespec that outlives the call; a null signal mask is allowed.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.0.as_raw_fd(),
                self.events.as_mut_ptr().cast::<libc::epoll_event>(),
                capacity,
                spec,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        usize::try_from(ready).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn an_edge_is_told_once_and_a_timeout_tells_nothing() {
        let (mut left, right) = UnixStream::pair().unwrap();
        right.set_nonblocking(true).unwrap();
        let mut poller = Poller::new(8).unwrap();
        poller.watch(&right, 7, Interest::Both).unwrap();
        poller.wait(Some(Nanos::ZERO)).unwrap(); // writable from the start
        left.write_all(b"x").unwrap();
        assert_eq!(poller.wait(Some(Nanos::from_secs(5))).unwrap(), 1);
        let ready = poller.event(0);
        assert!(ready.token == 7 && ready.readable);
        assert_eq!(poller.wait(Some(Nanos::from_micros(100))).unwrap(), 0);
    }

    #[test]
    fn a_peer_that_is_gone_is_readable() {
        let (left, right) = UnixStream::pair().unwrap();
        let mut poller = Poller::new(8).unwrap();
        poller.watch(&right, 1, Interest::Both).unwrap();
        poller.wait(Some(Nanos::ZERO)).unwrap();
        drop(left);
        assert_eq!(poller.wait(Some(Nanos::from_secs(5))).unwrap(), 1);
        assert!(poller.event(0).readable);
    }
}
