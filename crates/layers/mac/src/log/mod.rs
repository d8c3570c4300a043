//! What a domain was refused, or would have been: lines of a log, and counters of a status.
//!
//! Measured side, in a process of its own beside what is confined. `record` takes the kernel's records apart, `gather`
//! puts those of one refusal together, `lines` writes and counts, `switch` has the audit on while anybody of ours
//! reads, `reader` is the process, `start` its start before a launcher confines itself. Refuses nothing.

mod gather;
mod lines;
mod reader;
pub mod record;
mod start;
mod switch;
mod wanted;

pub use gather::{Event, Gather, Whose};
pub use lines::{Lines, Verdict};
pub use reader::{ReadError, Reading, read};
pub use start::{Reader, is_allowed};
pub use wanted::Wanted;
