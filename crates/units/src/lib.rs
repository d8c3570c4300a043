//! Quantities with their unit in the type, and clocks.
//!
//! Shared by both sides of the wall, every process, hot and cold paths. Owns the text form of quantities, in plans and
//! for people; owns no measurement. No dependencies, no allocation outside printing. Parsing accepts exactly what
//! printing and the documentation show.

#![forbid(unsafe_code)]

mod clock;
mod quantity;
mod throughput;

pub use clock::{Clock, FakeClock, MonotonicClock};
pub use quantity::{Bytes, Nanos, ParseQuantityError, PerSecond, Ratio};
pub use throughput::{BitsPerSecond, BytesPerSecond};
