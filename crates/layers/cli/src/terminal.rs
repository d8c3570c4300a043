//! Output to standard output and standard error; the only place that writes there.

use std::io::Write;

/// Writes to standard output; a closed pipe ends quietly.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// Writes a line to standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "bakeoff layer: {text}");
}
