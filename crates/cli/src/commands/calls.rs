//! The process that makes single operations for a `calls` workload, and in a guest.
//!
//! Glue: standard input and output for `bakeoff_calls`.

use crate::exit::Exit;
use crate::terminal;
use bakeoff_calls::CallsError;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

pub(crate) fn calls(words: impl Iterator<Item = OsString>) -> ExitCode {
    let ended = bakeoff_calls::run(words, &mut io::stdin().lock(), &mut io::stdout().lock());
    let Err(error) = ended else { return ExitCode::SUCCESS };
    terminal::complain(&error.to_string());
    match error {
        CallsError::Arguments(_) => Exit::Usage,
        _ => Exit::Failed,
    }
    .into()
}
