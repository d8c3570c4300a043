//! Orders of the deciding threads to the main thread, so that no open waits for what they ask.

use bakeoff_layers_base::locks::lock;
use bakeoff_layers_base::manifest::FaultAction;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

/// Orders to the main thread.
#[derive(Debug)]
pub(crate) struct Orders {
    /// The sternest pending order, and its file.
    next: Mutex<Option<(FaultAction, String)>>,
    wake: UnixStream,
    woken: UnixStream,
}

impl Orders {
    pub(crate) fn new() -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok(Self { next: Mutex::new(None), wake, woken })
    }

    pub(crate) fn leave(&self, action: FaultAction, path: &str) {
        let mut next = lock(&self.next);
        if next.as_ref().is_none_or(|(waiting, _)| *waiting < action) {
            *next = Some((action, path.to_owned()));
        }
        // A full socket has already woken the main thread.
        let _ = (&self.wake).write(b"!");
    }

    pub(crate) fn take(&self) -> Option<(FaultAction, String)> {
        let mut seen = [0; 64];
        while (&self.woken).read(&mut seen).is_ok_and(|length| length > 0) {}
        lock(&self.next).take()
    }
}

impl AsFd for Orders {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}
