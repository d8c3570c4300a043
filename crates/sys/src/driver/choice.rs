//! Which driver is used: the one that is asked for, or the best that the kernel lets us have.

use super::{Driver, EpollDriver, UringDriver};
use bakeoff_units::MonotonicClock;
use std::io;

/// Which driver is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// io_uring where the kernel lets us have it, epoll elsewhere.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// io_uring, or none.
    Uring,
}

/// A driver, and in words why it is not the better one.
///
/// # Errors
/// When io_uring is refused though it was asked for by name, or there are no descriptors.
pub fn best(clock: MonotonicClock, choice: Choice) -> io::Result<(Box<dyn Driver>, Option<String>)> {
    let why_not = match choice {
        Choice::Epoll => None,
        Choice::Uring => return Ok((Box::new(UringDriver::new(clock)?), None)),
        Choice::Auto => match UringDriver::new(clock) {
            Ok(driver) => return Ok((Box::new(driver), None)),
            Err(error) => Some(error.to_string()),
        },
    };
    Ok((Box::new(EpollDriver::new(clock)?), why_not))
}
