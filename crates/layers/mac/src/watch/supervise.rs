//! Supervisor of a permissive domain: the processes that look at its watched calls.
//!
//! Measured side, hot. Two processes. A worker answers. A keeper holds the same listener, so that calls wait instead
//! of failing when the worker is killed, and starts the next worker. When the keeper is killed the worker becomes
//! one. A call that a worker had received and not answered would wait for ever: its number is one more than the last
//! one noted, and the next worker lets it go on. Only when both are killed at once do watched calls fail, with
//! ENOSYS.

use super::needs::{WATCHED, leads_elsewhere, missing, needs};
use super::observed::Observed;
use crate::confine::calls::watching;
use crate::grant::DomainGrant;
use crate::log::messages::{READING, WRITTEN, complain, hear};
use crate::log::start::{alone, apart, let_go};
use crate::log::{AccessVerdict, Book, DomainLog, STATUS_DELAY};
use crate::status::DomainState;
use bakeoff_layers_base::daemon::status::read_back;
use bakeoff_sys::notify::{Call, CallListener};
use bakeoff_sys::process::{end_of, fork};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::SigSet;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Interval at which gathered log lines are checked when nothing happens.
const LOOK: Duration = Duration::from_secs(1);

/// The launcher's end.
#[derive(Debug)]
pub struct Watch(UnixStream);

impl Watch {
    /// Starts both processes. For a process with one thread.
    ///
    /// # Errors
    /// They cannot be started, or log or status cannot be written.
    pub fn start(reading: DomainLog) -> io::Result<Self> {
        let (own, theirs) = UnixStream::pair()?;
        apart(|| i32::from(life(reading, &theirs).is_err()))?;
        drop(theirs);
        hear(&own, READING)?;
        Ok(Self(own))
    }

    /// Watches this process and all its descendants from now on; `lines` go into the status. When it returns the
    /// program may be executed.
    ///
    /// # Errors
    /// The supervisor is gone, or the kernel refuses the filter.
    pub fn enter(&mut self, attributes: bool, lines: &str) -> io::Result<()> {
        self.0.write_all(format!("{}\n\n", lines.trim_end()).as_bytes())?;
        hear(&self.0, READING)?;
        let listener = CallListener::from(watching(attributes, WATCHED).listen()?);
        listener.hand_over(&self.0)?;
        hear(&self.0, WRITTEN)
    }
}

/// Main function of the keeper, which begins as a copy of the launcher.
fn life(reading: DomainLog, socket: &UnixStream) -> io::Result<()> {
    let nowhere = alone(socket)?;
    let (grant, status) = (reading.grant.clone(), reading.status.clone().unwrap_or_default());
    // It is read back by its path.
    let status = std::path::absolute(status).unwrap_or_default();
    let mut book =
        Book::open(reading).inspect_err(|error| complain(socket, error)).map_err(io::Error::other)?;
    let_go(&nowhere)?;
    // A signal to all of the program's processes must not end us before them.
    SigSet::all().thread_block()?;
    let mut told = socket;
    told.write_all(READING.as_bytes())?;
    let lines =
        BufReader::new(socket).lines().take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty()));
    book.status.fixed = lines.collect::<io::Result<_>>()?;
    told.write_all(READING.as_bytes())?;
    let listener = CallListener::take_over(socket)?;
    listener.wake_here();
    let last = File::from(memfd_create("bakeoff-last-call", MFdFlags::MFD_CLOEXEC)?);
    book.status.state = DomainState::Armed;
    book.write();
    told.write_all(WRITTEN.as_bytes())?;
    Worker { listener, grant, book, last, status, elsewhere: false }.keep()
}

struct Worker {
    listener: CallListener,
    grant: DomainGrant,
    book: Book,
    /// Number of the last received call: eight bytes in a file shared by all workers.
    last: File,
    status: PathBuf,
    /// Whether a watched process may have another root than we have.
    elsewhere: bool,
}

impl Worker {
    /// Holds the listener until nobody is watched any more.
    fn keep(&mut self) -> io::Result<()> {
        loop {
            let keeper = std::process::id();
            let worker =
                i32::try_from(fork(|| i32::from(self.work(keeper).is_err()))?).map_err(io::Error::other)?;
            if let WaitStatus::Exited(_, 0) = waitpid(Pid::from_raw(worker), None)? {
                return Ok(());
            }
            self.succeed();
        }
    }

    /// Takes over from a killed worker.
    fn succeed(&mut self) {
        let mut number = [0; 8];
        if self.last.read_exact_at(&mut number, 0).is_ok() {
            let number = u64::from_ne_bytes(number);
            // One call was being answered, or the next was received: either may not exist.
            let left =
                [number, number.wrapping_add(1)].into_iter().filter(|id| self.listener.go_on(*id).is_ok());
            let left = left.count() as u64;
            self.book.succeed(&read_back(&self.status));
            self.book.status.add("lost", left);
        }
        self.book.status.add("restarts", 1);
        self.book.write();
        // The killed worker's knowledge of it is lost.
        self.elsewhere = true;
    }

    /// Looks at calls until nobody is watched any more.
    fn work(&mut self, keeper: u32) -> io::Result<()> {
        let keeper = end_of(keeper);
        loop {
            let wait = PollTimeout::try_from(self.book.rest().map_or(LOOK, |_| STATUS_DELAY));
            let Ok(kept) = &keeper else { return self.stand_alone() };
            let mut ready = [
                PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
                PollFd::new(kept.as_fd(), PollFlags::POLLIN),
            ];
            let _ = poll(&mut ready, wait.unwrap_or(PollTimeout::ZERO));
            let found = ready[0].revents().unwrap_or(PollFlags::empty());
            if ready[1].any().unwrap_or(false) {
                return self.stand_alone();
            }
            if found.contains(PollFlags::POLLIN) {
                if let Some(call) = self.listener.receive()? {
                    self.look(&call)?;
                }
            } else if found.contains(PollFlags::POLLHUP) {
                self.book.status.state = DomainState::Ended;
                self.book.turn(true);
                return Ok(());
            }
            self.book.turn(false);
        }
    }

    /// Becomes the keeper, as that was killed.
    fn stand_alone(&mut self) -> io::Result<()> {
        self.book.status.add("restarts", 1);
        self.book.write();
        self.keep()
    }

    fn look(&mut self, call: &Call) -> io::Result<()> {
        self.last.write_all_at(&call.id.to_ne_bytes(), 0)?;
        self.elsewhere |= leads_elsewhere(call);
        let who = Observed { thread: call.thread, elsewhere: self.elsewhere };
        let needed = needs(who, call);
        // If the call no longer waits, the data was another process's.
        if !self.listener.is_waiting(call.id) {
            return Ok(());
        }
        if needed.is_none() {
            self.book.status.add("unseen", 1);
        }
        let lacking = missing(needed.unwrap_or_default(), &self.grant);
        let about = (!lacking.is_empty()).then(|| (who.process(), who.exe()));
        let _ = self.listener.go_on(call.id);
        if let Some((pid, exe)) = about {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let t_ms = u64::try_from(now.as_millis()).unwrap_or_default();
            self.book.note(AccessVerdict::WouldDeny, (t_ms, Some(pid), exe.as_deref()), lacking);
        }
        Ok(())
    }
}
