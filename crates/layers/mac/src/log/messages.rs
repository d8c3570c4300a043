//! Messages between a launcher and the process beside it, over a socket.
//!
//! Measured side, cold: start alone. A message is a line; one that is not expected is the reason for not going on.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

/// Message of the reader: reading has begun. In its place comes the reason for not starting; later, that the status
/// is written.
pub(crate) const READING: &str = "reading\n";
pub(crate) const WRITTEN: &str = "written\n";
/// Message of the launcher behind the lines of the status: the number of its own refusals; or that it could not
/// execute.
pub(super) const CONFINED: &str = "confined ";
pub(super) const FAILED: &str = "failed";

/// Waits for a message from the other end.
pub(crate) fn hear(socket: &UnixStream, wanted: &str) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line)?;
    match line.as_str() {
        heard if heard == wanted => Ok(()),
        "" => Err(io::Error::other("the process beside us ended")),
        why => Err(io::Error::other(why.trim_end().to_owned())),
    }
}

/// Reports an error to the waiting launcher.
pub(crate) fn complain(mut socket: &UnixStream, error: &dyn std::error::Error) {
    let _ = writeln!(socket, "{}", error.to_string().replace('\n', " "));
}
