//! Ctrl-C and SIGTERM as a flag; the second one ends at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that is set by the first SIGINT or SIGTERM. The supervisors clean up behind a second one.
pub(crate) fn interrupted() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // Registered in this order: the shutdown sees the flag of the signal before.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone());
        let _ = signal_hook::flag::register(signal, flag.clone());
    }
    flag
}
