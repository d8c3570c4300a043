//! The audit log of a server: what it decided about whom, and by what, so that it can be decided again.
//!
//! Measured side, pure: a record is made in memory at each decision (hot), all else is for whoever looks at it later
//! (cold). Owns records, the chain that they hang on, checkpoints and the replay. Files and clocks are the server's.
//!
//! A log is segments, one behind the other: a head, then frames.
//!
//! ```text
//! head   16 bytes "bakeoff-audit/1\n" | u64 number of the first record | 32 bytes link before it
//! frame  u32 length | the record in deterministic CBOR | 32 bytes link: BLAKE3(link before || record)
//! ```
//!
//! Numbers are little-endian. The first link before all is BLAKE3 of the log's origin, so that no log stands for
//! another server's. A checkpoint says how many records there are and the link of the last, signed by the server. Who
//! can write to the log can make all links anew, but not a checkpoint that was kept elsewhere.

mod chain;
mod checkpoint;
mod evidence;
mod reader;
mod record;
mod replay;

pub use chain::{Chain, HEAD_BYTES, Link, TooLong};
pub use checkpoint::{Checkpoint, Keys, NoCheckpoint, NoKeys};
pub use evidence::{Evidence, peer};
pub use reader::{Finding, Half, MOST_FINDINGS, Reader, Wrong};
pub use record::{About, DENIED, Decision, InForce, MOST_BYTES, Outcome, Path, Record};
pub use replay::{Difference, Replay};
