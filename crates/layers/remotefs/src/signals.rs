//! What the thread hears that waits for the end of a process.
//!
//! Measured side, cold.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::mpsc::Sender;
use std::thread;

/// What it hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// SIGTERM or SIGINT.
    Signal,
    /// What was served is gone.
    Over,
}

/// Sends an event for each signal.
pub(crate) fn watch_signals(sender: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if sender.send(Event::Signal).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}
