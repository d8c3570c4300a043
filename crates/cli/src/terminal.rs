//! The only place that writes to standard output and standard error.

use std::io::{IsTerminal, Write};

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
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// An error for the user.
pub(crate) fn complain(text: &str) {
    note(&format!("bakeoff: {text}"));
}

/// Columns of standard output: the terminal's, or 80.
pub(crate) fn width() -> usize {
    terminal_width().unwrap_or(80)
}

/// Whether to colour standard output: a terminal, and nobody set `NO_COLOR`.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return std::env::var("COLUMNS").ok()?.parse().ok();
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}
