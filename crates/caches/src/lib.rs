//! The bake-off of proxy caches: robots, a cache, an origin, and the results.
//!
//! Measuring side, the bakeoff process, cold but for the station's threads that it starts. Owns the procedure (path,
//! fill, peak, rates), the directory that it writes, and the analysis, which is a pure function of that directory.
//! Sends no request itself and judges no reply: those are the robots'. `conformance` runs the public HTTP cache suite
//! against the same products.

#![forbid(unsafe_code)]

mod analyse;
mod beside;
mod chance;
mod choose;
pub mod conformance;
pub mod directory;
mod not_scaled;
pub mod plan;
pub mod records;
pub mod results;
mod run;
mod scale;
pub mod shipped;
mod standalone;
pub mod transactions;

pub use analyse::{CLOCKS_AGREE_S, analyse, clock_in_words, worst_of};
pub use beside::beside;
pub use choose::{Chosen, Headline, NothingChosen, Selection, choose};
pub use run::{Bakeoff, BakeoffProgress, CachesError, PartsError, Takes};
pub use scale::{FEWEST_REPLIES, NoScale, SHORTEST, TimeScale, TooShort};
pub use standalone::{NotStandalone, Parts, Standalone};
