//! Threads that read what launchers print: answers and pieces from standard output, last words from standard error.
//!
//! Measuring side. What is printed before a far end's first answer is noise of a launcher or a login shell, within a
//! bound.

use super::executable;
use super::incoming::Incoming;
use super::message::{Answer, Line, PieceOf, Speech};
use super::peers::{SHOWN, Shared, State};
use super::trip::Trip;
use bakeoff_units::{Clock, Nanos};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStderr, ChildStdout};
use std::sync::PoisonError;

/// Bytes that a launcher or a login shell may print before the far end speaks.
const NOISE: usize = 1 << 16;
/// Most bytes of a piece.
const LARGEST_PIECE: u64 = 1 << 24;

/// Keeps what a launcher says on standard error, and its last line.
pub(super) fn note_words<S: Speech>(shared: &Shared<S>, end: usize, errors: ChildStderr, log: Option<&Path>) {
    let mut errors = BufReader::new(errors);
    let mut text = Vec::new();
    while let Ok(1..) = errors.read_until(b'\n', &mut text) {
        let _ = log.map(|log| append(log, &text));
        let words = String::from_utf8_lossy(&text).trim().to_owned();
        if !words.is_empty() {
            shared.change(|state| state.ends[end].said = words);
        }
        text.clear();
    }
    shared.change(|state| state.ends[end].has_said_all = true);
}

fn append(log: &Path, text: &[u8]) -> io::Result<()> {
    log.parent().map_or(Ok(()), fs::create_dir_all)?;
    OpenOptions::new().create(true).append(true).open(log)?.write_all(text)
}

/// Reads what a far end answers. What is printed before its first answer is not its own.
pub(super) fn hear<S: Speech>(shared: &Shared<S>, end: usize, output: ChildStdout) {
    let renew = || shared.state().leases.heard(end, shared.clock.now());
    let mut incoming = Incoming::new(output, renew);
    let (mut noise, mut is_known) = (0, false);
    while let Ok(Some(text)) = incoming.line() {
        let now = shared.clock.now();
        match serde_json::from_slice::<Line<Answer<S::Answer>>>(&text) {
            Ok(Line { n, say: Answer::Need { machine } }) => {
                if let Err(why) = executable::demand_kind(&machine) {
                    shared.change(|state| answered(state, end, (n, Answer::Refused { why }), now));
                } else if shared.send_executable(end).is_err() {
                    break;
                }
            }
            Ok(Line { say: Answer::Piece { of, at, bytes }, .. }) => {
                if let Err(why) = keep(shared, &mut incoming, (of, at, bytes)) {
                    shared.change(|state| state.unkept = Some(why));
                    break;
                }
            }
            Ok(Line { n, say }) => {
                is_known = true;
                shared.change(|state| answered(state, end, (n, say), now));
            }
            Err(_) if !is_known && noise + text.len() < NOISE => noise += text.len() + 1,
            Err(_) => {
                let words = String::from_utf8_lossy(&text).chars().take(SHOWN).collect::<String>();
                shared.change(|state| state.ends[end].said = format!("`{words}`, which is no answer"));
                break;
            }
        }
    }
    shared.change(|state| state.leases.closed(end));
}

/// Passes a piece on.
fn keep<S: Speech, R: Read, F: Fn()>(
    shared: &Shared<S>,
    incoming: &mut Incoming<R, F>,
    (of, at, bytes): (PieceOf, u64, u64),
) -> Result<(), String> {
    let said = |why: &dyn std::fmt::Display| format!("what came of {of} cannot be kept: {why}");
    if bytes > LARGEST_PIECE {
        return Err(said(&format!("{bytes} bytes are more than a piece has")));
    }
    let piece = incoming.bytes(bytes).map_err(|why| said(&why))?;
    let piece = piece.ok_or_else(|| said(&"the channel closed in the middle of it"))?;
    let mut sink = shared.sink.lock().unwrap_or_else(PoisonError::into_inner);
    let sink = sink.as_mut().ok_or_else(|| said(&"nobody asked for it"))?;
    sink(of.clone(), at, &piece).map_err(|why| said(&why))
}

fn answered<S: Speech>(
    state: &mut State<S>,
    index: usize,
    (n, answer): (u64, Answer<S::Answer>),
    now: Nanos,
) {
    let end = &mut state.ends[index];
    match answer {
        Answer::Beat { mono_ns, wall_ns } => {
            let Some((_, sent)) = end.beat.take_if(|(beat, _)| *beat == n) else { return };
            let trip = Trip::of(sent, now, mono_ns, wall_ns);
            if end.trip.is_none_or(|best| trip.time < best.time) {
                end.trip = Some(trip);
            }
        }
        Answer::Stopped => state.leases.stopped(index),
        other => {
            end.answers.insert(n, other);
        }
    }
}
