//! Memory for keys, protected from being found.
//!
//! Measured side, cold. Owns pages that the kernel keeps in memory (never on a swap device), leaves out of core dumps
//! and does not give to children, and that are overwritten before they are given back. Copies of their contents are the
//! caller's to wipe; the stack is wiped by [`burn_stack`].

use std::fmt;
use std::hint::black_box;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

/// Secret bytes in pages of their own.
pub struct SecretBytes {
    at: NonNull<u8>,
    length: usize,
}

// SAFETY: the pages belong to this value alone, and are reached by reference to it only.
unsafe impl Send for SecretBytes {}
// SAFETY: as above; a shared reference gives shared access.
unsafe impl Sync for SecretBytes {}

impl SecretBytes {
    /// Memory of so many zeros, at least one.
    ///
    /// # Errors
    /// The kernel has no memory that it may lock for this process: `ulimit -l`.
    pub fn zeroed(length: usize) -> io::Result<Self> {
        let length = length.max(1);
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new pages at a place of the kernel's choice.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, access, kind, -1, 0) };
        let at = match NonNull::new(at.cast::<u8>()) {
            Some(at) if at.as_ptr().cast() != libc::MAP_FAILED => at,
            _ => return Err(io::Error::last_os_error()),
        };
        let own = Self { at, length };
        // SAFETY: the pages are our own, for this length.
        if unsafe { libc::mlock(at.as_ptr().cast(), length) } < 0 {
            return Err(io::Error::last_os_error());
        }
        for advice in [libc::MADV_DONTDUMP, libc::MADV_WIPEONFORK] {
            // SAFETY: as above. A kernel that knows neither has the process undumpable still.
            unsafe { libc::madvise(at.as_ptr().cast(), length, advice) };
        }
        Ok(own)
    }

    /// A copy of these.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub fn copy_of(bytes: &[u8]) -> io::Result<Self> {
        let mut own = Self::zeroed(bytes.len())?;
        if let Some(start) = own.get_mut(..bytes.len()) {
            start.copy_from_slice(bytes);
        }
        Ok(own)
    }
}

impl Deref for SecretBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped for this length while the value lives; zero or written through `deref_mut`.
        unsafe { slice::from_raw_parts(self.at.as_ptr(), self.length) }
    }
}

impl DerefMut for SecretBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed by us alone.
        unsafe { slice::from_raw_parts_mut(self.at.as_ptr(), self.length) }
    }
}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        self.fill(0);
        // The zeros are looked at, so that writing them cannot be left out.
        black_box(&mut **self);
        // SAFETY: our own pages, which nobody has a reference to any more. That unlocks them, too.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.length) };
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretBytes(..)")
    }
}

/// Keeps the present heap off the swap device, as a cipher library has keys there.
///
/// # Errors
///
/// The kernel locks no more memory for this process: `ulimit -l`.
pub fn lock_heap() -> io::Result<()> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let line = maps.lines().find(|line| line.ends_with("[heap]"));
    let range = line.and_then(|line| line.split(' ').next()?.split_once('-'));
    let address = |hex| usize::from_str_radix(hex, 16).map_err(|_| io::ErrorKind::InvalidData);
    let (begin, end) = range.ok_or(io::ErrorKind::NotFound)?;
    let (begin, end) = (address(begin)?, address(end)?);
    // SAFETY: what the addresses stand for is neither read nor changed by it.
    match unsafe { libc::mlock(std::ptr::without_provenance(begin), end.saturating_sub(begin)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Overwrites the stack below the caller, where functions that have returned may have left keys.
#[inline(never)]
pub fn burn_stack() {
    let mut below = [0_u8; 128 << 10];
    black_box(&mut below);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_pages_are_locked_not_dumped_and_gone_afterwards() {
        let mut bytes = SecretBytes::copy_of(b"key").unwrap();
        bytes[0] = b'K';
        assert_eq!(&*bytes, b"Key");
        assert_eq!(format!("{bytes:?}"), "SecretBytes(..)");
        let at = bytes.as_ptr() as usize;
        let about = || -> Option<String> {
            let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let mut parts = text.lines().skip_while(|line| !line.starts_with(&format!("{at:x}-")));
            parts.find(|line| line.starts_with("VmFlags:")).map(str::to_owned)
        };
        let flags = about().unwrap();
        for flag in [" lo", " dd", " wf"] {
            assert!(flags.contains(flag), "{flag}: {flags}");
        }
        drop(bytes);
        // Another thread of the test may have got the same address since; not with these flags.
        assert!(about().is_none_or(|flags| !flags.contains(" wf")));
    }
}
