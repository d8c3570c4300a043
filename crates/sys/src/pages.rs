//! Page cache of a file: pages are given up, so that the next read comes from the disk.
//!
//! Measured side, once for each file that is checked. A page that is in use cannot be given up: by a mapping, by a
//! pipe, or by a read from elsewhere that goes into it. Such a read may end, and change the file, long after its
//! mapping and descriptor are gone. Owns the calls; decides nothing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// Number of tries: as it is, written to disk, and twice after a reader of the moment.
const TRIES: u32 = 4;
/// Between the last of them.
const PAUSE: Duration = Duration::from_millis(1);
/// Bytes that are checked at a time.
const PART_BYTES: u64 = 64 << 20;

/// Gives up all pages of a file of `size_bytes`; unwritten data is written first. False when some pages stay, since
/// they are in use.
///
/// # Errors
///
/// What the file system reports; or it cannot be told which pages are in memory.
pub fn give_up(file: impl AsFd, size_bytes: u64) -> io::Result<bool> {
    let file = file.as_fd();
    for attempt in 0..TRIES {
        match attempt {
            0 => {}
            1 => nix::unistd::fdatasync(file)?,
            _ => std::thread::sleep(PAUSE),
        }
        // SAFETY: posix_fadvise takes integers; the descriptor is open for as long as it is borrowed.
        let failed = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        if !any_in_memory(file, size_bytes)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn any_in_memory(file: BorrowedFd<'_>, size_bytes: u64) -> io::Result<bool> {
    let mut at = 0;
    while at < size_bytes {
        let length = PART_BYTES.min(size_bytes - at);
        if part_in_memory(file, at, length)? {
            return Ok(true);
        }
        at += length;
    }
    Ok(false)
}

/// By a mapping that is never read: no page comes into memory by it. Without the right to know the kernel calls every
/// page present.
fn part_in_memory(file: BorrowedFd<'_>, at: u64, length: u64) -> io::Result<bool> {
    let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let bytes = usize::try_from(length).map_err(too_large)?;
    let at = libc::off_t::try_from(at).map_err(too_large)?;
    let page = usize::try_from(crate::process::page_size()).unwrap_or(4096);
    let mut present = vec![0_u8; bytes.div_ceil(page)];
    // SAFETY: a new mapping at an address that the kernel chooses; the descriptor is open.
    let start = unsafe {
        let (read, private) = (libc::PROT_READ, libc::MAP_PRIVATE);
        libc::mmap(std::ptr::null_mut(), bytes, read, private, file.as_raw_fd(), at)
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping was just made with this length, and there is a byte for each of its pages.
    let done = unsafe { libc::mincore(start, bytes, present.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping was made above and nothing points into it.
    unsafe { libc::munmap(start, bytes) };
    if done < 0 { Err(error) } else { Ok(present.iter().any(|page| page & 1 != 0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn pages_go_and_those_of_a_pipe_stay() {
        let path = std::env::temp_dir().join(format!("bakeoff-sys-pages-{}", std::process::id()));
        let mut file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        assert!(any_in_memory(file.as_fd(), 10_000).unwrap(), "what was just written");
        let gone = give_up(&file, 10_000).unwrap();
        let on_tmpfs = !gone && give_up(&file, 0).unwrap();
        if gone {
            let (reader, writer) = io::pipe().unwrap();
            let mut from = 0;
            // SAFETY: descriptors that are open, and a place that lives through the call.
            let moved = unsafe {
                let to = std::ptr::null_mut();
                libc::splice(file.as_raw_fd(), &raw mut from, writer.as_raw_fd(), to, 4096, 0)
            };
            assert_eq!(moved, 4096);
            let held = give_up(&file, 10_000).unwrap();
            drop((reader, writer));
            let let_go = give_up(&file, 10_000).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert_eq!((held, let_go), (false, true));
        } else {
            std::fs::remove_file(&path).unwrap();
            assert!(on_tmpfs, "a file system without a disk keeps them all");
        }
    }
}
