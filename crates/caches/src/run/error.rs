//! Errors that end a bake-off.

use bakeoff_experiment::environment::{EnvironmentError, PlacementError};
use bakeoff_loadgen::{LocalPorts, PortsRefused, TlsSetupError};
use bakeoff_results::directory::DirectoryError;
use bakeoff_subject::SubjectError;
use bakeoff_units::Nanos;
use bakeoff_wire::parts::{Part, PartRefusal, PartSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An error that ends a bake-off.
#[derive(Debug, thiserror::Error)]
pub enum CachesError {
    /// A cache.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The origin, without which nothing can be measured.
    #[error("the origin: {0}")]
    Origin(#[source] SubjectError),
    /// The results directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Cores.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// Descriptors.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// Local ports that may not be used.
    #[error(transparent)]
    PortsRefused(#[from] PortsRefused),
    /// Fewer local ports than connections.
    #[error(
        "{connections} connections at once need as many local ports, and {addresses} local address(es) have {there} \
         ({ports} of each); give a wider range with --ports, more addresses with --from, such as \
         127.0.0.2-127.0.0.9, or fewer `connections` in the plan"
    )]
    Ports {
        /// Most connections at once.
        connections: usize,
        /// The range.
        ports: LocalPorts,
        /// Local addresses.
        addresses: u64,
        /// Ports of all of them.
        there: u64,
    },
    /// The temporary directory.
    #[error("{path}: {why}; the temporary directory (TMPDIR) must be writable")]
    Scratch {
        /// Path that could not be written.
        path: PathBuf,
        /// Error from the system.
        why: io::Error,
    },
    /// The temporary directory itself.
    #[error("{0}")]
    Temporary(String),
    /// The origin's count.
    #[error("the origin at {address} does not say what it has sent: {why}")]
    Tally {
        /// Address of the origin.
        address: SocketAddr,
        /// Error from the system.
        why: io::Error,
    },
    /// The origin's certificate.
    #[error("TLS to the origin: {0}")]
    Tls(#[from] TlsSetupError),
    /// The robots' threads.
    #[error("the robots cannot run: {0}")]
    Robots(io::Error),
    /// Anything else of the system.
    #[error("{0}")]
    System(io::Error),
    /// The parts of a run do not come together.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// Every request failed.
    #[error(
        "{entrant}: not one good reply in {asked} requests, most of them {class}; nothing can be measured"
    )]
    NoReply {
        /// Name of the entrant.
        entrant: String,
        /// Number of requests.
        asked: u64,
        /// The most frequent failure.
        class: String,
    },
    /// A cache that bakeoff did not start has gone.
    #[error(
        "nobody takes connections at {address} any more: what ran there ended while it was measured; its own log may \
         say why"
    )]
    Gone {
        /// Its address.
        address: SocketAddr,
    },
    /// A cache that bakeoff did not start was away for a time.
    #[error(
        "{address} refused {refused} connections and takes them again: what runs there was not there all the time; its \
         own log may say why it ended"
    )]
    Away {
        /// Its address.
        address: SocketAddr,
        /// Connections that it refused.
        refused: u64,
    },
    /// A cache that takes connections and answers nothing.
    #[error(
        "{entrant} stopped answering: its last {unanswered} requests got no reply within their time; its own log may say \
         why"
    )]
    Stopped {
        /// The entrant.
        entrant: String,
        /// Requests without a reply.
        unanswered: u64,
    },
    /// A cache that was killed, as the plan wants, and did not get ready again.
    #[error("after its outage it did not come back: {0}")]
    NotBack(#[source] SubjectError),
    /// A rate that is too low for the scale.
    #[error("{0}")]
    TooShort(#[from] crate::TooShort),
    /// A built-in text is wrong; a test ensures that none is.
    #[error("{0}")]
    Own(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// Reasons why parts do not come together.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// Some did not come.
    #[error(
        "after {waited} there is no part {missing} of {of}; start it with the same plan, --rate, --scale and origin, or \
         wait longer with --wait"
    )]
    Missing {
        /// Time that they were waited for.
        waited: Nanos,
        /// The missing ones.
        missing: PartSet,
        /// Number of parts there should be.
        of: u8,
    },
    /// The origin refuses.
    #[error("the origin does not take part {part}: {}", .refusal.meaning())]
    Refused {
        /// This part.
        part: Part,
        /// The reason.
        refusal: PartRefusal,
    },
    /// The origin does not answer.
    #[error("the origin at {address} does not say who is there: {why}")]
    Origin {
        /// Its address.
        address: SocketAddr,
        /// Error from the system.
        why: io::Error,
    },
}
