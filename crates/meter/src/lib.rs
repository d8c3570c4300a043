//! Measurements: the catalogue of meters, and the recorders that fill it.
//!
//! Measuring side, the bakeoff process. Owns the names, units and meaning of every figure
//! ([`catalogue`]), the raw counters of a slice ([`SliceCounters`]) and the histograms of times.
//! Recorders are per thread and merged when a slice is over; nothing here is shared between
//! threads on the hot path. Does not decide anything: verdicts are `stats`' and `experiment`'s.

#![forbid(unsafe_code)]

mod buckets;
pub mod catalogue;
mod counters;
mod error_class;
mod handshakes;
mod histogram;
pub mod host;
mod layout;
pub mod process;
mod recorder;

pub use buckets::{Buckets, HistogramDecoder, Sum};
pub use catalogue::{Aggregation, CATALOGUE, Meter, Side, Unit};
pub use counters::{
    HeadCounts, HitCounts, HostShare, LinkCounts, OperationCounts, SliceCounters, SubjectUsage,
    ViolationCounts,
};
pub use error_class::ErrorClass;
pub use handshakes::HandshakeCounts;
pub use histogram::{DecodeError, Histogram, Quantiles};
pub use layout::edges_ns;
pub use recorder::{EncodedTimes, Recorder, ReplyTimes, RequestRefusal, Times};
