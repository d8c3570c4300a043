//! Knee: the highest rate that a server sustains.
//!
//! Cold path, pure: [`Search`] is a state machine that takes observations of trials and gives the next trial. It sends
//! nothing, sees no clock, and its whole state follows from its plan and these observations, so that stored trials
//! always give the same outcome.
//!
//! The way of a search: a bracket with short trials ([`bracket`]), then single trials at the most informative rate
//! ([`posterior`]) until the knee is known to the wanted precision and a rate at the lower end has counted as passed (3
//! of 4), then one long trial at 0.95 of the knee, then a curve of ten rates. One trial decides nothing by itself:
//! servers fail now and then for reasons that have nothing to do with the rate.

mod bracket;
mod criteria;
mod grid;
mod growth;
mod next;
mod outcome;
mod plan;
mod posterior;
mod refine;
mod search;

pub use criteria::{Criteria, Criterion, Observation, Slo, TrialJudgement, VoidReason};
pub use growth::{Slope, growth};
pub use outcome::{Confirmation, RatioOfKnees, SearchFinding, SearchLimit, SearchOutcome, ratio_of_knees};
pub use plan::{Budget, SearchPlan, SearchStep, Trial, TrialPurpose};
pub use posterior::LEVEL;
pub use search::Search;
