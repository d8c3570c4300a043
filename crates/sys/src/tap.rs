//! TAP devices: an Ethernet interface whose frames a process reads and writes.
//!
//! Measuring side, the line process. The device lives as long as its descriptor is open.

use nix::fcntl::OFlag;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Makes the device `name` (at most 15 bytes) in the calling thread's network namespace. One read
/// gives one frame, one write takes one; neither waits. Needs `CAP_NET_ADMIN`.
///
/// # Errors
/// No `/dev/net/tun` (`NotFound`), no privilege, or the name is taken or too long.
pub fn create(name: &str) -> io::Result<File> {
    // SAFETY: ifreq is plain integers and a union of such, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of a device has at most 15 bytes"));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open("/dev/net/tun")?;
    // SAFETY: the descriptor is open; TUNSETIFF reads and writes one ifreq, which lives through
    // the call and whose name ends with a zero.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_that_no_device_can_have_is_refused_before_anything_is_opened() {
        assert_eq!(super::create("sixteen-bytes-16").unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
}
