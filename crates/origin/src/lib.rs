//! Origin-server simulator: serves objects that are pure functions of their names.
//!
//! Measuring side, but always a process of its own when it is an arm; its counters are never meters of a comparison.
//! Hot. Owns the answer to each request; keeps no state per object and never touches a disk. A thread per core, each
//! with a listening socket of its own on the shared port.
//!
//! From the socket to the object: `worker` owns a driver and its connections; `connection` is TLS, if any, with `http1`
//! or `http2` upon it, bytes in and bytes out; `site` decides on the reply; `head` and `outgoing` hold the bytes to be
//! sent. `world` beside the site answers for objects that are not listed; its replies may have to wait, for which
//! `timers` wake the worker. In `barrier` robots of several processes agree on their phases.

#![forbid(unsafe_code)]

mod barrier;
mod busy;
mod certificate;
mod coded;
mod connection;
mod conversation;
mod counters;
mod ending;
mod error;
mod fastcgi;
mod head;
mod http1;
mod http2;
mod outgoing;
mod range;
mod server;
mod site;
mod synthetic_load;
mod timers;
mod tls;
mod unread;
mod waiting;
mod way;
mod worker;
mod workspace;
mod world;

pub use busy::Busy;
pub use conversation::Conversation;
pub use counters::OriginCounters;
pub use error::OriginError;
pub use fastcgi::serve_fastcgi;
pub use head::ForCaches;
pub use server::{Origin, OriginOptions};
pub use synthetic_load::{Costs, Turn};
pub use world::{World, WorldError};
