//! Audit log of a server: its decisions with their principals and evidence, so that each can be made again.
//!
//! Measured side, pure: a record is made in memory at each decision (hot); everything else serves later inspection
//! (cold). Owns records, their hash chain, checkpoints and the replay. The server owns files and clocks.
//!
//! A log is a sequence of segments: a head, then frames.
//!
//! ```text
//! head   16 bytes "bakeoff-audit/1\n" | u64 number of the first record | 32 bytes link before it
//! frame  u32 length | the record in deterministic CBOR | 32 bytes link: BLAKE3(link before || record)
//! ```
//!
//! Numbers are little-endian. The link before the first record is BLAKE3 of the log's origin, so that no log can
//! replace another server's. A checkpoint holds the number of records and the last link, signed by the server. An
//! attacker who can write to the log can make all links anew, but not a checkpoint that was kept elsewhere.

mod chain;
mod checkpoint;
mod evidence;
mod reader;
mod record;
mod replay;

pub use chain::{ChainLink, HEAD_BYTES, LogEnd, TooLong};
pub use checkpoint::{Checkpoint, CheckpointKeys, NoCheckpoint, NoKeys};
pub use evidence::{Evidence, peer};
pub use reader::{AuditFaultKind, AuditFinding, Half, MOST_FINDINGS, SegmentReader};
pub use record::{
    AuditOutcome, DENIED, DecisionRecord, DecisionSubject, InForce, LoggedDecision, MOST_BYTES, ObjectPath,
};
pub use replay::{Replay, ReplayDifference};
