//! The emulator: a process that moves frames between two TAP devices with delay and loss, where the kernel has no netem.
//!
//! Measuring side, its own process (the bakeoff executable again, with the hidden word `emulator`), privileged, on the
//! generator's cores. It holds one end of a socket pair; bakeoff holds the other. When that end closes, for whatever
//! reason, it ends, and its devices with it. It testifies against itself: every frame's delay is recorded. Its CPU time
//! is recorded, and charged to no arm.
//!
//! `protocol` is the conversation of the two, `process` the process, `way` one direction, `handle` bakeoff's end.

mod handle;
mod process;
mod protocol;
mod way;

pub(crate) use handle::Emulator;
pub use protocol::EmulatorRecord;
pub(crate) use protocol::Way;

use std::process::ExitCode;

/// The hidden word after the executable's name that makes it an emulator.
pub const WORD: &str = "emulator";

/// The main function of the executable when started with [`WORD`]: it moves frames until bakeoff is gone.
pub fn main() -> ExitCode {
    match process::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE, // bakeoff has been told over the socket, if it is there
    }
}
