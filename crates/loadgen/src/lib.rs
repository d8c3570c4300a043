//! Load generator: sends requests when they are due, over its connections, and records the replies.
//!
//! Measuring side, the bakeoff process, hot. Load = source x pacer x stop x recorder x connection;
//! each is one piece and there is one loop ([`turn`]) for all of them. A thread per core, nothing
//! shared between threads while a slice runs. Does not choose requests (`workload` does) and does
//! not judge servers (`experiment` does); it does testify against itself: lateness, its own CPU,
//! postponed requests.

#![forbid(unsafe_code)]

mod batching;
mod connection;
mod delay;
mod dry;
mod engine;
mod exchange;
mod flow;
mod job;
mod lanes;
mod listener;
mod local;
mod pacer;
mod ports;
mod profile;
mod refusals;
mod sampler;
mod station;
mod tls;
mod turn;
mod wheel;
mod worker;

/// From this share of its core on, a thread of a closed loop was the limit, and not the server.
pub const GENERATOR_LIMIT: f64 = 0.97;

pub use bakeoff_sys::driver::SystemCalls;
pub use delay::OwnLateness;
#[doc(hidden)]
pub use dry::DryRun; // for benches/generate.rs
pub use engine::Engine;
pub use job::{BodyCheck, ConnectionLimits, Pace, Pools, Protocol, Reuse, StationJob, Target};
pub use lanes::Lanes;
pub use listener::{Continuation, Reply, RequestEnd, RequestListener};
pub use local::{AddressError, LocalAddresses};
pub use pacer::{Bursts, Constant, Original, Pacer, Poisson, Slots, Slotted};
pub use ports::{LocalPorts, PortsError, PortsRefused};
pub use profile::{Profile, Stage};
pub use refusals::Refusals;
pub use station::{DRIVER, Recording, Station};
pub use tls::{
    Alpn, ClientIdentity, HandshakeKind, HandshakeLedger, HandshakeSummary, HandshakeTally, ParseShareError,
    ParseVersionError, Share, TlsClient, TlsOptions, TlsProgress, TlsSession, TlsSettings, TlsSetupError,
    Trust, Versions,
};
pub use turn::GIVE_UP_AFTER;
