//! Launchers: processes whose standard input and output are those of one elsewhere.

use super::error::ReachError;
use super::place::Place;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

/// A launcher and its three streams.
pub(crate) type Launched = (Child, ChildStdin, ChildStdout, ChildStderr);

/// Starts one in a process group of its own: Ctrl-C is for this end, which ends the far ones.
///
/// # Errors
/// It cannot be started.
pub(crate) fn launched(place: &Place, words: &[String]) -> Result<Launched, ReachError> {
    let failed =
        |why: &str| ReachError::Unusable(format!("the launcher of {place} cannot be started: {why}"));
    let (program, arguments) = words.split_first().ok_or_else(|| failed("it has no words"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|why| failed(&format!("{program}: {why}")))?;
    let ends = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(input), Some(output), Some(errors)) = ends else { return Err(failed("it has no pipes")) };
    Ok((child, input, output, errors))
}
