//! Log and status of a domain: accesses that were refused, or would have been.
//!
//! Measured side, in a process of its own beside the confined program. `record` parses the kernel's records, `gather`
//! assembles those of one refusal, `lines` writes and counts, `switch` keeps the kernel's audit on while a reader of
//! ours lives, `reader` is the process, `start` starts it before a launcher confines itself, and `messages` is what the
//! two say. Refuses nothing.

mod access;
mod book;
mod gather;
mod lines;
pub(crate) mod messages;
mod reader;
pub mod record;
pub(crate) mod start;
mod switch;

pub use access::LoggedAccess;
pub(crate) use book::{Book, STATUS_DELAY};
pub use book::{DomainLog, ReadError};
pub use gather::{DomainEvent, Gather, Whose};
pub use lines::{AccessVerdict, LineWriter};
pub use reader::read;
pub use start::{LauncherEnd, is_allowed};
