//! Job of a station, and its target: addresses, connections, pace and limits.

use crate::listener::Deaf;
use crate::local::LocalAddresses;
use crate::pacer::Pacer;
use crate::ports::LocalPorts;
use crate::tls::TlsSettings;
use bakeoff_units::Nanos;
use bakeoff_workload::Statuses;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The target of requests. Fixed for the life of a station.
#[derive(Clone, Debug)]
pub struct Target {
    /// Address.
    pub address: SocketAddr,
    /// The proxy that connections go through, each in a tunnel of its own that it is asked for by CONNECT;
    /// `None`: straight to the address. HTTP/1.1 only.
    pub via: Option<SocketAddr>,
    /// `Host` header value.
    pub host: String,
    /// Whether requests that bring a `Host` of their own are sent with this one, too.
    pub host_is_fixed: bool,
    /// TLS settings and the server's name; `None`: no TLS.
    pub tls: Option<(TlsSettings, ServerName<'static>)>,
    /// Number of requests that a connection carries.
    pub reuse: Reuse,
    /// Connections without a request for so long are closed; `None`: not by the generator.
    pub idle_timeout: Option<Nanos>,
    /// Local addresses of the connections, in turn; none leaves it to the kernel.
    pub from: LocalAddresses,
    /// Local ports of the connections, in turn; none leaves it to the kernel.
    pub ports: Option<LocalPorts>,
    /// The protocol of the connections.
    pub protocol: Protocol,
    /// Further header lines of every request, each ended by CRLF.
    pub headers: Vec<u8>,
    /// Body of every request that has none of its own; empty: none. HTTP/1.1 only.
    pub body: Vec<u8>,
}

impl Target {
    /// HTTP/1.1 without TLS, over connections that stay.
    pub fn plain(address: SocketAddr, host: String) -> Self {
        Self {
            address,
            via: None,
            host,
            host_is_fixed: false,
            tls: None,
            reuse: Reuse::Always,
            idle_timeout: None,
            from: LocalAddresses::default(),
            ports: None,
            protocol: Protocol::Http1,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// The address that connections lead to.
    pub(crate) fn next_hop(&self) -> SocketAddr {
        self.via.unwrap_or(self.address)
    }

    /// Whether the server closes each connection, as its one request says (`Connection: close`): TIME_WAIT then
    /// stays on its side.
    pub(crate) fn closed_by_server(&self) -> bool {
        self.reuse == Reuse::Never && self.protocol == Protocol::Http1
    }
}

impl Reuse {
    /// Connections that stay, or one for every request.
    pub const fn kept(kept: bool) -> Self {
        if kept { Self::Always } else { Self::Never }
    }
}

/// Number of requests that a connection carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// One; the request says so (`Connection: close`) and the server closes.
    Never,
    /// Up to this number; then the connection is closed from this side, and the next request opens another.
    UpTo(NonZeroU64),
    /// The same, with a number of its own for each connection.
    Drawn(ConnectionLimits),
    /// As many as the server lets it.
    Always,
}

impl Reuse {
    /// Most requests of any connection; `None`: as many as the server lets it.
    pub fn at_most(&self) -> Option<u64> {
        match self {
            Self::Never => Some(1),
            Self::UpTo(most) => Some(most.get()),
            Self::Drawn(limits) => limits.0.iter().max().map(|most| u64::from(most.get())),
            Self::Always => None,
        }
    }

    /// Mean number of requests of a connection, where this side closes it; `None` where the server does.
    pub fn closed_here_after(&self) -> Option<f64> {
        match self {
            Self::Never | Self::Always => None,
            Self::UpTo(most) => Some(most.get() as f64),
            Self::Drawn(limits) => {
                let all: u64 = limits.0.iter().map(|most| u64::from(most.get())).sum();
                Some(all as f64 / limits.0.len() as f64)
            }
        }
    }

    /// Number of requests that the `n`-th connection carries.
    pub(crate) fn most(&self, n: u64) -> u64 {
        match self {
            Self::Never => 1,
            Self::UpTo(most) => most.get(),
            Self::Drawn(limits) => limits.nth(n),
            Self::Always => u64::MAX,
        }
    }
}

/// Numbers of requests for connections, drawn beforehand from any distribution: the n-th connection has the n-th draw,
/// and after the last the first is used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits(Arc<[NonZeroU32]>);

impl ConnectionLimits {
    /// `None` without draws. A connection carries at least one request: a draw of 0 means 1.
    pub fn new(draws: impl IntoIterator<Item = u32>) -> Option<Self> {
        let draws: Arc<[_]> =
            draws.into_iter().map(|draw| NonZeroU32::new(draw).unwrap_or(NonZeroU32::MIN)).collect();
        (!draws.is_empty()).then_some(Self(draws))
    }

    fn nth(&self, n: u64) -> u64 {
        u64::from(self.0[(n % self.0.len() as u64) as usize].get())
    }
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1: one request after the other.
    #[default]
    Http1,
    /// HTTP/2: over TLS where the server agrees to it (ALPN), else as known beforehand.
    Http2 {
        /// Most requests in flight on a connection, as far as the server allows.
        streams: NonZeroU16,
    },
}

impl Protocol {
    /// Most requests in flight on a connection.
    pub const fn streams(self) -> usize {
        match self {
            Self::Http1 => 1,
            Self::Http2 { streams } => streams.get() as usize,
        }
    }
}

/// The part of a body that is compared with what the workload knows. Lengths always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyCheck {
    /// The first 64 bytes: enough to tell every object from every other.
    #[default]
    Start,
    /// Every byte.
    Full,
}

/// Pace: when requests come due.
pub enum Pace {
    /// Closed loop: each robot asks again when its reply is complete and it has thought.
    Closed {
        /// Think time between a reply and the robot's next request.
        think: Nanos,
        /// The robots' first requests are spread evenly over this time.
        spread: Nanos,
        /// Most connections, all threads together, which robots then share: one that finds none free
        /// waits in line, and its response time counts from when it was due. `None`: each robot has its
        /// own.
        connections: Option<usize>,
    },
    /// Open loop: the pacers decide (one a thread), however late replies are.
    Open {
        /// One for each thread.
        pacers: Vec<Box<dyn Pacer>>,
        /// Most connections, all threads together; each thread has at least one.
        connections: usize,
    },
    /// Open loop: each source says itself when its next request is due ([`Source::upcoming`], since the
    /// job's start) and is asked anew when it was told that a request has ended. The run ends when nothing
    /// is upcoming and nothing in flight.
    ///
    /// [`Source::upcoming`]: bakeoff_workload::Source::upcoming
    Sourced {
        /// As in [`Pace::Open`].
        connections: usize,
    },
    /// The same, but that each robot has connections of its own, which follow its source address.
    Pooled(Pools),
}

/// Connections that robots of an open loop do not share. HTTP/1.1 only.
///
/// A request is for its robot's connections ([`Ask::robot`]) and waits in its robot's line while they are all
/// busy; its response time counts from when it was due. Robot r of all is robot r / threads of thread
/// r % threads, and its connections come from the r-th of [`Target::from`]. They begin anew with each job.
///
/// [`Ask::robot`]: bakeoff_workload::Ask::robot
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pools {
    /// Number of robots, all threads together.
    pub robots: usize,
    /// Most connections of a robot; 0 means 1.
    pub each: usize,
}

/// One run of a station.
pub struct StationJob<'a, S> {
    /// One source for each thread.
    pub sources: Vec<S>,
    /// Robots of each thread in a closed loop; ignored in an open loop.
    pub robots: Vec<usize>,
    /// When requests are due.
    pub pace: Pace,
    /// When the job begins, where several stations begin at one moment; `None`: once its threads stand.
    pub begins: Option<Instant>,
    /// Time limit of each request, connecting included.
    pub timeout: Nanos,
    /// Stop asking for new requests after this long; `None`: when the sources end.
    pub until: Option<Nanos>,
    /// Scope of the comparison of bodies.
    pub check: BodyCheck,
    /// Statuses by which a layer refuses: what a planted violation must get, and nothing else.
    pub refused: Statuses,
    /// Set by another thread to end the run at once.
    pub interrupted: &'a AtomicBool,
}

impl<'a, S> StationJob<'a, S> {
    /// The same job with each source in another one, such as one that listens.
    pub fn with_sources<T>(self, each: impl FnMut(S) -> T) -> StationJob<'a, T> {
        let Self { sources, robots, pace, begins, timeout, until, check, refused, interrupted } = self;
        let sources = sources.into_iter().map(each).collect();
        StationJob { sources, robots, pace, begins, timeout, until, check, refused, interrupted }
    }

    /// The same job with a source that does not listen.
    pub(crate) fn unheard(self) -> StationJob<'a, Deaf<S>> {
        self.with_sources(Deaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_connection_has_the_nth_draw_and_carries_at_least_one() {
        let limits = Reuse::Drawn(ConnectionLimits::new([3, 0, 64]).unwrap());
        assert_eq!([0, 1, 2, 3, 7].map(|n| limits.most(n)), [3, 1, 64, 3, 1]);
        assert_eq!(ConnectionLimits::new([]), None);
    }

    #[test]
    fn who_closes_follows_from_how_long_connections_last() {
        let drawn = Reuse::Drawn(ConnectionLimits::new([1, 2, 6]).unwrap());
        assert_eq!(drawn.closed_here_after(), Some(3.0));
        assert_eq!(Reuse::UpTo(NonZeroU64::MIN).closed_here_after(), Some(1.0));
        assert_eq!([Reuse::Never, Reuse::Always].map(|reuse| reuse.closed_here_after()), [None; 2]);
    }
}
