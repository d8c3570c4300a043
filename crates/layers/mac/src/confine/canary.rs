//! Canaries of a domain: forbidden accesses that the launcher tries, and must be refused, before it runs the program.
//! Protection is believed only when it has refused something.
//!
//! Measured side, cold: start alone. Owns the planted objects and the attempts. The launcher itself tries them once
//! it is in the domain: it is the very process that becomes the program. A nameless file is planted where the policy
//! grants less than all, and a port where it grants none. Each attempt succeeds first, outside; otherwise its refusal
//! would prove nothing.

use crate::access::Access;
use crate::confine::error::ConfineError;
use crate::grant::DomainGrant;
use bakeoff_layers_base::plain::open_kernels;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Attempts to make inside the domain.
#[derive(Debug, Default)]
pub(super) struct Canary {
    attempts: Vec<Attempt>,
    /// Planted files, kept open as long as they are needed.
    planted: Vec<File>,
    listener: Option<TcpListener>,
    /// The kernel's status of this process: each read is fresh, and it could not be opened any more inside.
    status: Option<File>,
}

#[derive(Debug)]
enum Attempt {
    /// Open this path for reading, or for writing.
    Open { path: PathBuf, writing: bool, what: String },
    /// Connect to this TCP port.
    Connect(u16),
}

impl Canary {
    /// No attempts: only the kernel's status of the process is checked.
    pub(super) fn of_calls() -> Self {
        Self { status: open_kernels("/proc/self/status").ok(), ..Self::default() }
    }

    /// Plants what the domain must not reach.
    pub(super) fn plant(grant: &DomainGrant, with_ports: bool) -> Self {
        let mut canary = Self::of_calls();
        canary.plant_file(grant);
        let root = Path::new("/");
        if !grant.effective(root).has(Access::List) {
            canary.add(Attempt::Open {
                path: root.to_owned(),
                writing: false,
                what: "listing `/`".to_owned(),
            });
        }
        if with_ports {
            canary.plant_port(grant);
        }
        canary
    }

    /// Whether there is nothing to try.
    pub(super) fn is_untried(&self) -> bool {
        self.attempts.is_empty()
    }

    /// Number of attempts.
    pub(super) fn attempts(&self) -> usize {
        self.attempts.len()
    }

    /// Inside the domain: everything must be refused.
    pub(super) fn hold(&self) -> Result<(), ConfineError> {
        for attempt in &self.attempts {
            let outcome = match attempt.made() {
                Err(error) if error.raw_os_error() == Some(libc::EACCES) => continue,
                Err(error) => format!("failed otherwise: {error}"),
                Ok(()) => "was possible".to_owned(),
            };
            return Err(ConfineError::Canary { what: attempt.what(), outcome });
        }
        Ok(())
    }

    /// After the last step: the kernel's status shows the settings of this process, and at most these capabilities.
    pub(super) fn settled(&self, kept: u64) -> Result<(), ConfineError> {
        let Some(mut status) = self.status.as_ref() else { return Ok(()) };
        let mut text = String::new();
        let found = status.read_to_string(&mut text);
        let value = |name| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let capabilities = value("CapPrm:").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let as_told = [
            ("new privileges", value("NoNewPrivs:") == Some("1")),
            ("every system call", value("Seccomp:") == Some("2")),
            ("capabilities", capabilities.is_some_and(|mask| mask & !kept == 0)),
        ];
        let wrong = as_told.into_iter().find(|(_, right)| !right || found.is_err());
        let outcome = "is what the kernel says it has all the same".to_owned();
        wrong.map_or(Ok(()), |(what, _)| Err(ConfineError::Canary { what: what.to_owned(), outcome }))
    }

    #[expect(clippy::disallowed_methods, reason = "a file without a name, where the policy says")]
    fn plant_file(&mut self, grant: &DomainGrant) {
        let here = std::env::current_dir().unwrap_or_default();
        let places =
            [std::env::temp_dir(), "/dev/shm".into(), "/var/tmp".into(), "/run".into(), here].into_iter();
        for place in places.filter_map(|place| place.canonicalize().ok()) {
            let granted = grant.effective(&place);
            let writing = match (granted.has(Access::Read), granted.has(Access::Write)) {
                (false, _) => false,
                (true, false) => true,
                (true, true) => continue,
            };
            let mut nameless = OpenOptions::new();
            nameless.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
            let Ok(file) = nameless.open(&place) else { continue };
            let verb = if writing { "writing to" } else { "reading" };
            let what = format!("{verb} a file in `{}`", place.display());
            let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
            self.planted.push(file);
            if self.add(Attempt::Open { path, writing, what }) {
                return;
            }
        }
    }

    fn plant_port(&mut self, grant: &DomainGrant) {
        // The kernel chooses a free port; no sensible policy grants all of these few.
        for _ in 0..4 {
            let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) else { return };
            let Ok(address) = listener.local_addr() else { return };
            if !grant.connect.contains(&address.port()) {
                self.listener = Some(listener);
                self.add(Attempt::Connect(address.port()));
                return;
            }
        }
    }

    /// Adds the attempt if it succeeds outside.
    fn add(&mut self, attempt: Attempt) -> bool {
        let possible = attempt.made().is_ok();
        if possible {
            self.attempts.push(attempt);
        }
        possible
    }
}

impl Attempt {
    #[expect(clippy::disallowed_methods, reason = "what the domain must not be able to do")]
    fn made(&self) -> io::Result<()> {
        match self {
            Self::Open { path, writing, .. } => {
                OpenOptions::new().read(!writing).write(*writing).open(path).map(drop)
            }
            Self::Connect(port) => TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).map(drop),
        }
    }

    fn what(&self) -> String {
        match self {
            Self::Open { what, .. } => what.clone(),
            Self::Connect(port) => format!("connecting to TCP port {port}"),
        }
    }
}
