//! Receive time stamps of the kernel, requested for a socket and read beside its bytes.
//!
//! The kernel stamps with the real-time clock. A stamp is worth its age: how long before the last look at that clock it
//! was made. A clock that is set meanwhile would falsify it; callers therefore take no stamp that lies before the
//! request that its bytes answer, or in the future.

use bakeoff_units::{Clock, MonotonicClock, Nanos};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Switches stamps on. The kernel stamps as long as any socket wants it, and begins and ends with it a little late and
/// at a price; one socket without use therefore wants it from the first to the last.
#[derive(Debug, Default)]
pub(super) struct Stamping {
    held: Option<OwnedFd>,
}

impl Stamping {
    pub(super) fn ask(&mut self, fd: &impl AsFd) -> io::Result<()> {
        if self.held.is_none() {
            let held = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
            setsockopt(&held, sockopt::ReceiveTimestampns, &true)?;
            self.held = Some(held);
        }
        Ok(setsockopt(fd, sockopt::ReceiveTimestampns, &true)?)
    }
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    own: Nanos,
    real: Nanos,
}

impl Moment {
    pub(super) fn now(clock: &MonotonicClock) -> Self {
        let mut before = clock.now();
        for _ in 0..ATTEMPTS {
            let real = real_time();
            let after = clock.now();
            if after.since(before) < AT_ONE_MOMENT {
                return Self { own: after, real };
            }
            before = after; // something came between
        }
        Self { own: before, real: real_time() }
    }

    /// A moment of the real-time clock on the own one.
    pub(super) fn convert(&self, stamp: Nanos) -> Nanos {
        if stamp <= self.real {
            self.own.since(self.real.since(stamp))
        } else {
            self.own + stamp.since(self.real)
        }
    }
}

/// Three looks at clocks take less than a tenth of it.
const AT_ONE_MOMENT: Nanos = Nanos::from_micros(2);
const ATTEMPTS: u32 = 5;

fn real_time() -> Nanos {
    clock_gettime(ClockId::CLOCK_REALTIME).map_or(Nanos::ZERO, |time| nanos(*time.as_ref()))
}

fn nanos(time: libc::timespec) -> Nanos {
    let (secs, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    Nanos::new(secs.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// Room for the one control message that is asked for, aligned as the kernel writes it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Reads into `buffer`; returns the number of bytes, and the real-time stamp of the last packet among them.
pub(super) fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<Nanos>)> {
    let mut control = Control([0; 64]);
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all-zero is a valid `msghdr` (null pointers, zero lengths).
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the descriptor is open; `message` points at one iovec over `buffer` and at `control`, all of
    // which outlive the call, with their true lengths.
    let n = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    Ok((n, stamp_of(&message)))
}

/// The stamp among the control messages of a message that was received.
pub(super) fn stamp_of(message: &libc::msghdr) -> Option<Nanos> {
    // SAFETY: the kernel has filled `message`; the header pointer is null or lies in its control buffer,
    // which the caller keeps alive.
    let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    if header.cmsg_level != libc::SOL_SOCKET || header.cmsg_type != libc::SCM_TIMESTAMPNS {
        return None;
    }
    // SAFETY: a message of this type holds a timespec; it is read without assuming its alignment.
    let time = unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
    Some(nanos(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_its_age() {
        let moment = Moment { own: Nanos::from_secs(5), real: Nanos::from_secs(1000) };
        assert_eq!(moment.convert(Nanos::from_secs(999)), Nanos::from_secs(4));
        assert_eq!(moment.convert(Nanos::from_secs(1001)), Nanos::from_secs(6));
        assert_eq!(moment.convert(Nanos::from_secs(1)), Nanos::ZERO); // the clock was set
    }
}
