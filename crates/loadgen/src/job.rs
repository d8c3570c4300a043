//! What a station is told to do.

use crate::pacer::Pacer;
use bakeoff_units::Nanos;
use bakeoff_workload::Statuses;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where requests go. Fixed for the life of a station.
#[derive(Clone, Debug)]
pub struct Target {
    /// Address.
    pub address: SocketAddr,
    /// `Host` header value.
    pub host: String,
    /// TLS settings and the name that the certificate must have; `None` for plain HTTP.
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Whether connections carry more than one request.
    pub keep_alive: bool,
    /// Further header lines of every request, each ended by CRLF.
    pub headers: Vec<u8>,
}

/// How much of a body is compared with what the workload knows. Lengths always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyCheck {
    /// The first 64 bytes: enough to tell every object from every other.
    #[default]
    Start,
    /// Every byte.
    Full,
}

/// Who decides when the next request is due.
pub enum Pace {
    /// Closed loop: each robot asks again when its reply is complete and it has thought.
    Closed {
        /// Think time between a reply and the robot's next request.
        think: Nanos,
    },
    /// Open loop: the pacers decide (one a thread), however late replies are.
    Open {
        /// One for each thread.
        pacers: Vec<Box<dyn Pacer>>,
        /// Most connections, all threads together; each thread has at least one.
        connections: usize,
    },
}

/// One run of a station.
pub struct Job<'a, S> {
    /// One source for each thread.
    pub sources: Vec<S>,
    /// Robots of each thread in a closed loop; ignored in an open loop.
    pub robots: Vec<usize>,
    /// When requests are due.
    pub pace: Pace,
    /// Time limit of each request, connecting included.
    pub timeout: Nanos,
    /// Stop asking for new requests after this long; `None`: when the sources end.
    pub until: Option<Nanos>,
    /// How closely bodies are compared.
    pub check: BodyCheck,
    /// Statuses by which a layer refuses: what a planted violation must get, and nothing else.
    pub refused: Statuses,
    /// Set by somebody else to end the run at once.
    pub interrupted: &'a AtomicBool,
}
