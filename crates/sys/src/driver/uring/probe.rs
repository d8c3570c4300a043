//! Whether this kernel lets us have a ring that does what the driver counts on. Cold: once a driver.

use super::super::{SystemCalls, Wait};
use super::ring::{Receive, Ring};
use super::tag::Op;
use bakeoff_units::Nanos;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{self, Error};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// Tries it on a thread of its own: the kernel tells the thread of a ring that was closed to let go of it by
/// interrupting what it does, and a caller that reads with a time limit would take that for a failure.
pub(super) fn probe() -> io::Result<()> {
    let thread = std::thread::Builder::new().spawn(try_all)?;
    thread.join().unwrap_or_else(|_| Err(Error::other("the trial of io_uring came to no end")))
}

/// A send that cannot go out whole, and a receive that stands.
fn try_all() -> io::Result<()> {
    let much = vec![b'x'; 256 * 1024];
    let (left, right) = UnixStream::pair()?;
    setsockopt(&left, sockopt::SndBuf, &(much.len() / 16))?; // less than that, whatever the default
    let mut ring = Ring::new().map_err(in_words)?;
    // SAFETY: the bytes are dropped after the ring.
    unsafe { ring.send(left.as_raw_fd(), 1, &much)? };
    let now = Wait { at_most: Some(Nanos::ZERO), batch: None };
    ring.enter(now, &mut SystemCalls::default()).map_err(in_words)?;
    match ring.cut() {
        Some(sent) if sent.op == Op::Send && sent.token == 1 && sent.result > 0 => {}
        other => return Err(unfit("a send that was not to wait", &other)),
    }
    ring.receive(right.as_raw_fd(), 2, Receive::default())?;
    ring.enter(now, &mut SystemCalls::default()).map_err(in_words)?;
    match ring.next() {
        Some(got) if got.op == Op::Receive && got.token == 2 && got.result > 0 && got.buffer.is_some() => {
            Ok(())
        }
        other => Err(unfit("a receive into provided buffers", &other)),
    }
}

fn unfit(what: &str, came: &impl std::fmt::Debug) -> Error {
    Error::other(format!("io_uring of this kernel does not do {what}: {came:?}"))
}

fn in_words(error: Error) -> Error {
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no io_uring",
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here, by a seccomp filter (containers) or by kernel.io_uring_disabled"
        }
        Some(libc::EINVAL) => "io_uring of this kernel is too old; it takes Linux 6.1",
        Some(libc::ENOMEM) => "io_uring has no memory; see `ulimit -l`",
        Some(libc::EMFILE | libc::ENFILE) => "no descriptor is left for io_uring",
        _ => "io_uring could not be set up",
    };
    Error::new(error.kind(), format!("{why} ({error})"))
}
