//! What the network between two hosts carries: throughput both ways, round trips, and what link it
//! looks like.
//!
//! Measuring side, cold; its own short exchange, no part of a run. One host listens ([`Listener`]) and
//! serves one client, the other asks ([`ask`]). Both ends are `bakeoff doctor`, and neither trusts the
//! other: every frame is checked, every wait and every amount is bounded, and the listener never sends
//! more than it has received, so that it is of no use to anybody who forges or floods.

mod ask;
mod error;
mod frame;
mod link;
mod serve;
mod stream;

pub use ask::{Answer, RoundTrips, Throughput, ask};
pub use error::NetworkError;
pub use link::{Carrying, Likeness, carrying};
pub use serve::{Listener, Served};

use bakeoff_units::Nanos;

/// The longest time that a client may ask for; the listener takes what is longer for this.
pub const LONGEST: Nanos = Nanos::from_secs(60);
/// What both allow beyond the asked time. The system's buffers hold a few MB when a stream's time is
/// over; a link of 10 Mbit/s needs some 3 s for 4 MB.
const GRACE: Nanos = Nanos::from_secs(8);
/// A connection that has not said who it is by then is turned away.
const HELLO_TIME: Nanos = Nanos::from_secs(2);
/// Bytes of one block, 64 KiB with its head: large enough that the head costs nothing, small enough
/// to stop in time.
const BLOCK: usize = 64 * 1024 - frame::FRAME;

#[cfg(test)]
mod tests;
