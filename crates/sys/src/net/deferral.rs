//! `TCP_DEFER_ACCEPT`: the time for which a listening socket keeps back a connection without a byte.
//!
//! Both sides of the wall, cold. The kernel counts it in retransmissions, so a value read back may be more than the
//! value set; a value that was read sets the same again.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Seconds; 0: a connection is handed out at once.
///
/// # Errors
/// It is no TCP socket.
pub fn deferral_s(listener: impl AsFd) -> io::Result<u32> {
    Ok(u32::try_from(option(listener, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT)?).unwrap_or(0))
}

/// Whether a socket is one of Multipath TCP.
///
/// # Errors
/// It is no socket.
pub fn is_multipath(listener: impl AsFd) -> io::Result<bool> {
    Ok(option(listener, libc::SOL_SOCKET, libc::SO_PROTOCOL)? == libc::IPPROTO_MPTCP)
}

fn option(listener: impl AsFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the descriptor is open, and the kernel writes at most `length` bytes, which are those of the integer.
    let done = unsafe {
        libc::getsockopt(listener.as_fd().as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// Sets it, for all holders of this socket.
///
/// # Errors
///
/// It is no TCP socket.
pub fn set_deferral(listener: impl AsFd, seconds: u32) -> io::Result<()> {
    let seconds = libc::c_int::try_from(seconds).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open, and the pointer is to an integer that outlives the call, with its true length.
    let done = unsafe {
        libc::setsockopt(
            listener.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_sets_the_same_again() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(deferral_s(&listener).unwrap(), 0);
        for seconds in [1, 10, 30] {
            set_deferral(&listener, seconds).unwrap();
            let read = deferral_s(&listener).unwrap();
            assert!(read >= seconds, "{read}");
            set_deferral(&listener, 0).unwrap();
            set_deferral(&listener, read).unwrap();
            assert_eq!(deferral_s(&listener).unwrap(), read);
        }
        assert!(deferral_s(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
