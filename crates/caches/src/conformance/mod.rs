//! What a cache does right beside how fast it is: the public HTTP cache suite, against a product as a bake-off has it.
//!
//! Measuring side, the bakeoff process, cold. Owns how the suite is found and run, what its results come to, and
//! what of it a report shows. The suite judges: its server is the origin, its client asks, its rules say what
//! passed. It is a stranger's program and runs under guardians, as subjects do.

mod comparison;
mod error;
mod record;
mod run;
mod score;
mod suite;

pub use comparison::{Conformance, Conforms, FailedTest, shown};
pub use error::ConformanceError;
pub use record::{CONFORMANCE, Came, Examined, FILE, Kept, Record, SuiteFacts, load};
pub use run::{Examination, examinable, plan_of};
pub use score::{Kind, Outcome, Score, Scored, Tally};
pub use suite::{HERE, Suite};
