//! Calls that one process makes to the kernel alone: null, read, write, select, a pipe to itself.
//!
//! Measuring side, hot.

use crate::failure::{Done, OperationFailure};
use crate::station::{Station, all};
use nix::fcntl::{OFlag, open};
use nix::sys::select::{FdSet, select};
use nix::sys::stat::Mode;
use nix::sys::time::TimeVal;
use nix::unistd::{getppid, pipe2, read, write};
use std::hint::black_box;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Descriptors of select, as lmbench's table has them.
const DESCRIPTORS: usize = 100;
/// Bytes through the pipe, as UnixBench has them.
const PIPED: usize = 512;

pub(crate) struct Null;

impl Station for Null {
    fn run(&mut self, count: u64) -> Done {
        for _ in 0..count {
            black_box(getppid());
        }
        Ok(())
    }
}

pub(crate) struct Read(OwnedFd);

impl Read {
    pub(crate) fn new() -> Done<Self> {
        device(c"/dev/zero", OFlag::O_RDONLY).map(Self)
    }
}

impl Station for Read {
    fn run(&mut self, count: u64) -> Done {
        let mut byte = [0];
        (0..count).try_for_each(|_| all("read", 1)(read(&self.0, &mut byte)))
    }
}

pub(crate) struct Write(OwnedFd);

impl Write {
    pub(crate) fn new() -> Done<Self> {
        device(c"/dev/null", OFlag::O_WRONLY).map(Self)
    }
}

impl Station for Write {
    fn run(&mut self, count: u64) -> Done {
        (0..count).try_for_each(|_| all("write", 1)(write(&self.0, &[0])))
    }
}

fn device(path: &std::ffi::CStr, access: OFlag) -> Done<OwnedFd> {
    open(path, access | OFlag::O_CLOEXEC, Mode::empty()).map_err(OperationFailure::of("open of a device"))
}

/// The descriptors are open during a batch only: a process that forks would pass them on.
#[derive(Default)]
pub(crate) struct Select(Vec<OwnedFd>);

impl Station for Select {
    fn before(&mut self, _count: u64) -> Done {
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC).map_err(OperationFailure::of("pipe"))?;
        let copies: Result<Vec<OwnedFd>, _> = (0..DESCRIPTORS).map(|_| writer.try_clone()).collect();
        self.0 = copies.map_err(OperationFailure::io("dup"))?;
        self.0.push(reader); // a pipe that nobody reads is ready in another way
        Ok(())
    }

    fn run(&mut self, count: u64) -> Done {
        let mut waiting = FdSet::new();
        let writers = &self.0[..DESCRIPTORS];
        writers.iter().for_each(|writer| waiting.insert(writer.as_fd()));
        let highest = writers.iter().map(AsRawFd::as_raw_fd).max();
        for _ in 0..count {
            let (mut ready, mut at_once) = (waiting, TimeVal::new(0, 0));
            let found = select(highest.map(|fd| fd + 1), None, Some(&mut ready), None, Some(&mut at_once));
            let found = found.map_err(OperationFailure::of("select"))?;
            if found as usize != DESCRIPTORS {
                return Err(OperationFailure::Wrong(format!("select: {found} of {DESCRIPTORS} descriptors")));
            }
        }
        Ok(())
    }

    fn after(&mut self) -> Done {
        self.0.clear();
        Ok(())
    }
}

pub(crate) struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Pipe {
    pub(crate) fn new() -> Done<Self> {
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC).map_err(OperationFailure::of("pipe"))?;
        Ok(Self { reader, writer })
    }
}

impl Station for Pipe {
    fn run(&mut self, count: u64) -> Done {
        let mut buffer = [0; PIPED];
        for _ in 0..count {
            all("write", PIPED)(write(&self.writer, &buffer))?;
            all("read", PIPED)(read(&self.reader, &mut buffer))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_batch_reads_and_writes_and_waits_for_what_it_says() {
        Null.run(10).unwrap();
        Read::new().unwrap().run(10).unwrap();
        Write::new().unwrap().run(10).unwrap();
        Pipe::new().unwrap().run(10).unwrap();
        let empty = device(c"/dev/null", OFlag::O_RDONLY).unwrap();
        assert_eq!(Read(empty).run(1).unwrap_err().word(), "wrong");
        let full = device(c"/dev/full", OFlag::O_WRONLY).unwrap();
        assert_eq!(Write(full).run(1).unwrap_err().word(), "ENOSPC");
    }

    #[test]
    fn select_waits_for_a_hundred_and_leaves_none_open() {
        let mut station = Select::default();
        station.before(1).unwrap();
        assert_eq!(station.0.len(), 101);
        station.run(10).unwrap();
        let numbers: Vec<_> = station.0.iter().map(AsRawFd::as_raw_fd).collect();
        let pipe = fs::read_link(format!("/proc/self/fd/{}", numbers[0])).unwrap();
        station.after().unwrap();
        let left = numbers.iter().filter_map(|number| fs::read_link(format!("/proc/self/fd/{number}")).ok());
        assert_eq!(left.filter(|link| *link == pipe).count(), 0);
    }

    #[test]
    fn a_select_that_finds_fewer_is_wrong() {
        let mut station = Select::default();
        station.before(1).unwrap();
        let (_reader, full) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).unwrap();
        while write(&full, &[0; 4096]).is_ok() {}
        station.0[7] = full;
        assert_eq!(station.run(1).unwrap_err().to_string(), "select: 99 of 100 descriptors");
    }
}
