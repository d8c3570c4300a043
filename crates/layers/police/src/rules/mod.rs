//! Rules: from a text to a compiled table.
//!
//! Measured side, cold, pure. Owns the language, its faults and the table. Never tells the kernel.

mod prefix;
pub mod table;

pub use prefix::Prefix;
