//! Conformance of caches: the public HTTP cache suite, run against a product as a bake-off has it.
//!
//! Measuring side, the bakeoff process, cold. Owns the search for the suite, its run, its scores, and the part that a
//! report shows. The suite judges: its server is the origin, its client sends requests, its rules decide what passed.
//! It is a third-party program and runs under supervisors, as subjects do.

mod comparison;
mod error;
mod record;
mod run;
mod score;
mod suite;

pub use comparison::{Conformance, Conforms, FailedTest, shown};
pub use error::ConformanceError;
pub use record::{CONFORMANCE, Examined, FILE, ProductOutcome, StoredRecord, SuiteFacts, SuiteRecord, load};
pub use run::{Examination, examinable, plan_of};
pub use score::{Score, Scored, TestCounts, TestKind, TestOutcome};
pub use suite::{ConformanceSuite, HERE};
