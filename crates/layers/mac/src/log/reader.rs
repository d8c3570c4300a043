//! Reader process: reads the kernel's refusals and keeps log and status.
//!
//! Measured side, a process of its own; cold unless something is refused. Of the confined program it holds only two
//! things: a descriptor that signals the end of the launcher's process, and a socket over which the launcher reports
//! its steps until it executes the program. Refuses nothing: when it dies enforcement stays, and only the log ends.

use super::book::{Book, DomainLog, ReadError, STATUS_DELAY};
use super::gather::{DomainEvent, Gather, Whose};
use super::lines::AccessVerdict;
use super::messages::{CONFINED, FAILED, READING, WRITTEN};
use super::record;
use super::switch::Switch;
use crate::status::DomainState;
use bakeoff_layers_base::daemon::rights::DaemonRights;
use bakeoff_layers_base::daemon::status::try_writing;
use bakeoff_sys::audit::{AuditRead, Records};
use bakeoff_sys::namespace::Namespace;
use bakeoff_sys::privilege::Capability;
use bakeoff_sys::process;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval between checks of the audit's settings.
const LOOK: Duration = Duration::from_secs(1);
/// Longest wait for the missing records of a refusal.
const PIECES: Duration = Duration::from_millis(50);
/// Longest wait for records after the launcher's process has ended, if a domain had none, or may have lost the one
/// that announces its end.
const GRACE: Duration = Duration::from_secs(1);
/// Limit on records read before the status is looked after again.
const TURN: usize = 4096;
/// Limit on the bytes that a launcher sends.
const MOST_TOLD: usize = 64 << 10;

/// Reads the refusals of every launcher's domains, until SIGTERM. Calls `say` once reading has begun.
///
/// # Errors
/// Nothing can be read or written.
pub fn read(reading: DomainLog, say: impl FnOnce(&str)) -> Result<(), ReadError> {
    read_of(reading, Whose::Any, None, || {
        say("reading the kernel's audit");
        Ok(())
    })
}

/// The same for one launcher, which waits at the other end of a socket, until its domain is gone. Calls `ready` once
/// all files are open.
pub(super) fn read_of(
    reading: DomainLog,
    whose: Whose,
    socket: Option<UnixStream>,
    ready: impl FnOnce() -> io::Result<()>,
) -> Result<(), ReadError> {
    let status = reading.status.clone();
    let book = Book::open(reading)?;
    let launcher = match whose {
        Whose::Launcher(pid) => Some(process::end_of(pid)?),
        Whose::Any => None,
    };
    let (records, switch) = sources().map_err(ReadError::Audit)?;
    // Rights are given up only once the status is known to be writable.
    DaemonRights::least(&[Capability::AuditControl], || try_writing(status.as_deref())).give_up()?;
    let mut reader = Reader {
        gather: Gather::new(whose, &std::env::current_exe()?),
        book,
        records,
        switch,
        signals: signals()?,
        launcher,
        told: LauncherWord { socket, ..LauncherWord::default() },
        dropped: 0,
        gone: None,
    };
    ready()?;
    reader.begin()?;
    Ok(reader.run()?)
}

/// The audit records, with the audit switched on.
fn sources() -> io::Result<(Records, Switch)> {
    // The kernel sends records in its first network namespace only.
    let there = Namespace::open(Path::new("/proc/1/ns/net")).and_then(|first| first.run(Records::subscribe));
    Ok((there.unwrap_or_else(|_| Records::subscribe())?, Switch::on()?))
}

fn signals() -> io::Result<SignalFd> {
    let wanted: SigSet = [Signal::SIGTERM, Signal::SIGINT].into_iter().collect();
    wanted.thread_block()?;
    Ok(SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

struct Reader {
    gather: Gather,
    book: Book,
    records: Records,
    switch: Switch,
    signals: SignalFd,
    /// Signals the end of the launcher's process.
    launcher: Option<OwnedFd>,
    told: LauncherWord,
    /// Records that the kernel dropped as we were too slow.
    dropped: u64,
    /// Time at which the launcher's process was found gone.
    gone: Option<Instant>,
}

/// Input from the launcher.
#[derive(Default)]
struct LauncherWord {
    /// Open until the launcher executes the program, or is gone.
    socket: Option<UnixStream>,
    text: String,
    /// Time since it waits for an answer, and its number of own refusals.
    asks: Option<(Instant, usize)>,
    /// Its own refusals so far.
    own: usize,
    answered: bool,
}

impl LauncherWord {
    /// The first complete line, and the rest.
    fn next_line(&self) -> Option<(String, String)> {
        self.text.split_once('\n').map(|(line, rest)| (line.to_owned(), rest.to_owned()))
    }

    fn say_written(&mut self) {
        if let Some(socket) = &mut self.socket {
            let _ = socket.write_all(WRITTEN.as_bytes());
        }
    }
}

impl Reader {
    /// Writes the first status, and sends the word that the launcher waits for.
    fn begin(&mut self) -> io::Result<()> {
        match &mut self.told.socket {
            None => self.book.status.state = DomainState::Armed,
            Some(socket) => {
                socket.write_all(READING.as_bytes())?;
                socket.set_nonblocking(true)?;
            }
        }
        self.book.write();
        Ok(())
    }

    fn run(mut self) -> io::Result<()> {
        let mut looked = Instant::now();
        loop {
            let asked = self.wait()?;
            let drained = self.take_records()?;
            self.hear();
            self.answer(drained);
            let now = Instant::now();
            if now.duration_since(looked) >= LOOK {
                looked = now;
                self.look();
            }
            let over = asked || (drained && self.is_over(now));
            if over {
                self.end();
                return Ok(());
            }
            self.book.turn(false);
        }
    }

    /// Sleeps until there is work; returns whether we were asked to end.
    fn wait(&mut self) -> io::Result<bool> {
        let busy = self.gone.is_some() || self.told.asks.is_some();
        let time = match self.book.rest() {
            _ if self.gather.is_pending() => PIECES,
            None if !busy => LOOK,
            _ => STATUS_DELAY,
        };
        let (ended, gone) = {
            let mut ready = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            let mut add = |fd| ready.push(PollFd::new(fd, PollFlags::POLLIN));
            self.launcher.iter().filter(|_| self.gone.is_none()).for_each(|fd| add(fd.as_fd()));
            add(self.records.as_fd());
            self.told.socket.iter().for_each(|socket| add(socket.as_fd()));
            if poll(&mut ready, PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO)) == Ok(0) {
                // Records that have not come by now will not come.
                self.flush();
                return Ok(false);
            }
            let is_ready = |fd: Option<&PollFd<'_>>| fd.and_then(PollFd::any).unwrap_or(false);
            let launcher = self.launcher.is_some() && self.gone.is_none();
            (is_ready(ready.first()), launcher && is_ready(ready.get(1)))
        };
        if gone {
            self.gone = Some(Instant::now());
        }
        Ok(ended && self.signals.read_signal()?.is_some())
    }

    /// Takes the pending records; returns whether there are no more now.
    fn take_records(&mut self) -> io::Result<bool> {
        let mut events = Vec::new();
        let mut drained = false;
        for _ in 0..TURN {
            match self.records.read()? {
                AuditRead::Record(kind, text) => {
                    let record = record::parse(kind, text);
                    record
                        .into_iter()
                        .for_each(|record| self.gather.take(record, |event| events.push(event)));
                }
                AuditRead::Dropped => self.dropped += 1,
                AuditRead::Nothing => {
                    drained = true;
                    break;
                }
            }
        }
        events.into_iter().for_each(|event| self.happened(event));
        Ok(drained)
    }

    fn flush(&mut self) {
        let mut events = Vec::new();
        self.gather.flush(|event| events.push(event));
        events.into_iter().for_each(|event| self.happened(event));
    }

    fn happened(&mut self, event: DomainEvent) {
        let (t_ms, pid, exe, wanted) = match event {
            DomainEvent::Refused { t_ms, pid, exe, wanted } => (t_ms, pid, exe, wanted),
            DomainEvent::Unclaimed => return self.book.status.add("unclaimed", 1),
            DomainEvent::Changed => return self.look(),
        };
        if self.launcher.is_some() && !self.told.answered {
            // The program does not run yet: these are the launcher's canaries.
            self.told.own += 1;
            return;
        }
        self.book.note(AccessVerdict::Denied, (t_ms, pid, exe.as_deref()), wanted);
    }

    /// Checks whether the audit is still on, and how many records it lost.
    fn look(&mut self) {
        match self.switch.look() {
            Ok((on, lost)) => {
                if !on {
                    self.book.status.no_log = Some("somebody has switched the kernel's audit off".to_owned());
                }
                self.book.status.set("lost", lost + self.dropped);
            }
            Err(error) => self.book.status.no_log = Some(error.to_string()),
        }
    }

    /// Reads the launcher's messages, until it executes the program.
    fn hear(&mut self) {
        let Some(socket) = &mut self.told.socket else { return };
        let mut buffer = [0; 4096];
        match socket.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Ok(length @ 1..) if self.told.text.len() < MOST_TOLD => {
                self.told.text += &String::from_utf8_lossy(buffer.get(..length).unwrap_or_default());
            }
            _ => {
                self.told.socket = None;
                if !self.told.answered {
                    self.book.status.state = DomainState::Failed;
                }
            }
        }
        while let Some((line, rest)) = self.told.next_line() {
            if let Some(own) = line.strip_prefix(CONFINED) {
                self.told.asks = Some((Instant::now(), own.parse().unwrap_or(0)));
            } else if line == FAILED {
                self.book.status.state = DomainState::Failed;
                self.book.write();
                self.told.say_written();
            } else {
                self.book.status.fixed.push(line);
            }
            self.told.text = rest;
        }
    }

    /// Answers once all of the launcher's own refusals have come: then the status has its lines, and it may go on.
    /// Gives up after a time, as a record may have been lost.
    fn answer(&mut self, drained: bool) {
        let Some((since, own)) = self.told.asks else { return };
        if drained {
            self.flush();
        }
        if self.told.own < own && since.elapsed() < GRACE {
            return;
        }
        self.told.asks = None;
        self.told.answered = true;
        self.book.status.state = DomainState::Armed;
        self.book.write();
        self.told.say_written();
    }

    /// Whether nothing more can come of a launcher's domain.
    fn is_over(&self, now: Instant) -> bool {
        if self.launcher.is_none() {
            return false;
        }
        if self.book.status.state == DomainState::Failed && !self.told.answered {
            return true;
        }
        let Some(gone) = self.gone else { return false };
        let unsure = self.book.status.no_log.is_some() || self.dropped > 0;
        now.duration_since(gone) >= GRACE && (unsure || !self.gather.has_domain()) || self.gather.is_gone()
    }

    /// Restores the audit before anybody reads that this has ended.
    fn end(mut self) {
        self.flush();
        self.look();
        let Self { mut book, switch, .. } = self;
        drop(switch);
        if book.status.state != DomainState::Failed {
            book.status.state = DomainState::Ended;
        }
        book.turn(true);
    }
}
