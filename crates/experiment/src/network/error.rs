//! Why the network could not be measured.

use bakeoff_units::Nanos;
use std::io;
use std::net::SocketAddr;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {why}; give an address of this machine and a free port")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's word.
        why: io::Error,
    },
    /// The listener cannot be reached.
    #[error(
        "cannot connect to {address}: {why}; start `bakeoff doctor --listen {address}` there first, and see that no \
         firewall is between"
    )]
    Connect {
        /// The address.
        address: SocketAddr,
        /// The system's word.
        why: io::Error,
    },
    /// Nobody came.
    #[error(
        "nobody came in {waited} ({strangers} strangers were turned away); run `bakeoff doctor --to ADDR:PORT` on the other host"
    )]
    Nobody {
        /// How long it was waited.
        waited: Nanos,
        /// Connections that were not bakeoff's.
        strangers: u64,
    },
    /// What answers does not speak this.
    #[error(
        "{peer} is no bakeoff that listens: it answered something else; look at the address and the port"
    )]
    Stranger {
        /// Who.
        peer: SocketAddr,
    },
    /// Another version.
    #[error(
        "the bakeoff at {peer} speaks version {theirs} of this exchange and this one {ours}; use the same on both hosts"
    )]
    Version {
        /// Who.
        peer: SocketAddr,
        /// Its version.
        theirs: u8,
        /// Our version.
        ours: u8,
    },
    /// The other side broke the rules.
    #[error("{peer} broke off or broke the rules: {what}; try again")]
    Broken {
        /// Who.
        peer: SocketAddr,
        /// What happened.
        what: String,
    },
    /// The exchange took too long.
    #[error(
        "{peer} did not answer in time; the network or the other host is very slow, or the connection is lost"
    )]
    Late {
        /// Who.
        peer: SocketAddr,
    },
    /// Somebody pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The system refused something.
    #[error("the system refused: {0}")]
    System(#[from] io::Error),
}
