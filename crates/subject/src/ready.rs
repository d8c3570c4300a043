//! Readiness of a subject: polled until it is ready, has ended, or its time is over.

use crate::SubjectError;
use crate::port::{self, Owner};
use crate::supervisor::{Supervisor, still_there};
use crate::words::last_words;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time that a stranger on our port is watched before it is reported: a server that meets it usually dies by itself
/// within that time, and then its own words are better.
const STRANGER_PATIENCE: Nanos = Nanos::from_secs(1);

/// Timeout of one request to a server under start.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The subject that is waited for.
pub(crate) struct Waiting<'a> {
    pub(crate) arm: &'a str,
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) host: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) dir: &'a Path,
    /// Files it writes messages to, besides standard output and error.
    pub(crate) logs: &'a [PathBuf],
    /// A path that must answer below 500; none: the port must accept.
    pub(crate) ready: Option<&'a str>,
    pub(crate) tls: bool,
    /// Time that it may take.
    pub(crate) timeout: Nanos,
    pub(crate) interrupted: &'a AtomicBool,
}

impl Waiting<'_> {
    /// Returns when the subject is ready.
    pub(crate) fn wait(&self) -> Result<(), SubjectError> {
        let clock = MonotonicClock::new();
        let mut pause = Duration::from_millis(2);
        let mut stranger_since = None;
        loop {
            let arm = || self.arm.to_owned();
            let words = || last_words(self.dir, self.logs);
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(SubjectError::Interrupted { arm: arm() });
            }
            match still_there(self.supervisor) {
                Ok(None) => {}
                Ok(Some(ending)) => {
                    return Err(SubjectError::DiedAtStart { arm: arm(), ending, said: words() });
                }
                Err(source) => {
                    let log = self.dir.join("supervisor.log");
                    return Err(SubjectError::Supervisor { arm: arm(), source, log });
                }
            }
            let missing = match self.look() {
                Ok(()) => return Ok(()),
                Err(missing) => missing,
            };
            let passed = clock.now();
            // An owner that ends while it is looked at is no stranger, and is gone at the next look.
            let since = *stranger_since.get_or_insert(passed);
            if missing != Missing::Stranger {
                stranger_since = None;
            } else if passed.since(since) > STRANGER_PATIENCE {
                return Err(SubjectError::Stranger {
                    arm: arm(),
                    address: self.address().to_string(),
                    said: words(),
                });
            }
            if passed > self.timeout {
                let waited = self.timeout;
                let missing = missing.describe(self.address(), self.ready);
                return Err(SubjectError::NotReady { arm: arm(), waited, missing, said: words() });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(25));
        }
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from((self.host, self.port))
    }

    fn look(&self) -> Result<(), Missing> {
        let tree = bakeoff_sys::process::descendants(self.supervisor.pid()).unwrap_or_default();
        let pids: Vec<u32> = tree.iter().map(|stat| stat.pid).collect();
        match port::owner(self.host, self.port, &pids) {
            Owner::Nobody => return Err(Missing::Listener),
            Owner::Stranger => return Err(Missing::Stranger),
            Owner::Ours | Owner::Unknown => {}
        }
        match self.ready {
            Some(path) if !self.tls => match status(self.address(), path) {
                Ok(status) if status < 500 => Ok(()),
                Ok(status) => Err(Missing::Good(status)),
                Err(_) => Err(Missing::Answer),
            },
            _ => TcpStream::connect_timeout(&self.address(), ANSWER_TIMEOUT)
                .map(drop)
                .map_err(|_| Missing::Listener),
        }
    }
}

/// The condition that keeps it from being ready.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Listener,
    Stranger,
    Answer,
    Good(u16),
}

impl Missing {
    fn describe(self, address: SocketAddr, ready: Option<&str>) -> String {
        let path = ready.unwrap_or("/");
        match self {
            Self::Listener => format!("nobody listens on {address}"),
            Self::Stranger => format!("somebody else listens on {address}"),
            Self::Answer => format!("http://{address}{path} gives no HTTP answer"),
            Self::Good(status) => format!("http://{address}{path} answers with status {status}"),
        }
    }
}

/// The status of one GET.
fn status(address: SocketAddr, path: &str) -> io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut head = [0; 12]; // "HTTP/1.1 200"
    stream.read_exact(&mut head)?;
    let digits = head.strip_prefix(b"HTTP/1.").and_then(|rest| std::str::from_utf8(&rest[2..]).ok());
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
