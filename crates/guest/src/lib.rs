//! A Debian kernel with its reference policy, booted in QEMU with and without it, and what its processor executed.
//!
//! Measuring side. Owns how the guest is built from packages that are only unpacked, how it is booted, what it
//! runs and how what it prints becomes a table. Counts are instructions, not time, and are never put in one
//! column with times. Starts nothing but QEMU and the tools that make its images. x86-64 alone.

#![forbid(unsafe_code)]

mod analyse;
mod beside;
mod boot;
mod build;
pub mod directory;
mod error;
mod inside;
mod part;
pub mod plan;
mod progress;
pub mod records;
pub mod results;
mod run;
mod said;
pub mod shipped;
mod tools;

pub use analyse::analyse;
pub use beside::beside;
pub use error::GuestError;
pub use inside::{WORD, inside};
pub use part::{BootMode, GuestPart};
pub use progress::GuestProgress;
pub use run::Counting;
pub use tools::{Need, needs, remedy};
