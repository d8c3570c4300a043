//! Main function of `bakeoff calls`: runs to the end by itself, or batch by batch on command.
//!
//! Measuring side; a process of its own, with one thread, as children that share its locks would wait for them.

use crate::arguments::Arguments;
use crate::failure::Done;
use crate::ground::Ground;
use crate::protocol::{CallReply, CallRequest};
use crate::station::{BatchCost, Station, batch};
use crate::{CallClock, CallOperation, CallsError};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, Write};

/// `bakeoff calls`: `words` are its flags; commands come from `input`, answers go to `output`.
///
/// # Errors
///
/// Wrong flags, a directory that cannot be made, a malformed line, a reader that is gone.
pub fn run(
    words: impl Iterator<Item = OsString>,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<(), CallsError> {
    let Arguments { clock, place, alone } = Arguments::parse(words)?;
    let core = place.peers.settle().map_err(CallsError::Cores)?;
    let ground = Ground::lay(&place, core).map_err(|source| CallsError::Dir { dir: place.dir, source })?;
    match alone {
        Some((operations, batches)) => operations.into_iter().try_for_each(|operation| {
            alone_with(&ground, operation, batches, clock, output).map_err(CallsError::Lines)
        }),
        None => commanded(&ground, clock, input, output),
    }
}

/// Makes one operation to its end, and writes a line: `R NAME COUNT MIN MEDIAN MAX` in ticks an operation, or `E NAME
/// ERROR WHY`.
fn alone_with(
    ground: &Ground,
    operation: CallOperation,
    batches: usize,
    clock: CallClock,
    output: &mut dyn Write,
) -> std::io::Result<()> {
    let (count, most) = operation.alone();
    match several(ground, operation, (count, batches.min(most)), clock) {
        Ok(mut ticks) => {
            ticks.sort_unstable();
            let each = |index: usize| ticks[index] as f64 / count as f64;
            let (least, middle, last) = (each(0), each(ticks.len() / 2), each(ticks.len() - 1));
            writeln!(output, "R {} {count} {least:.1} {middle:.1} {last:.1}", operation.word())?;
        }
        Err(failure) => writeln!(output, "E {} {} {failure}", operation.word(), failure.word())?,
    }
    output.flush()
}

/// Ticks of each batch, after a shorter one that fills the kernel's caches.
fn several(
    ground: &Ground,
    operation: CallOperation,
    (count, batches): (u64, usize),
    clock: CallClock,
) -> Done<Vec<u64>> {
    let mut station = ground.station(operation)?;
    batch(station.as_mut(), (count / 4).max(1), clock)?;
    (0..batches).map(|_| batch(station.as_mut(), count, clock).map(|batch| batch.ticks)).collect()
}

fn commanded(
    ground: &Ground,
    clock: CallClock,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<(), CallsError> {
    let mut stations = BTreeMap::new();
    say(output, &CallReply::Begun)?;
    let mut line = String::new();
    while input.read_line(&mut line).map_err(CallsError::Lines)? > 0 {
        match CallRequest::parse(line.trim_end()) {
            Some(CallRequest::Batch(operation, count)) => {
                let answer = match made(ground, &mut stations, operation, count, clock) {
                    Ok(batch) => CallReply::Made(operation, count, batch),
                    Err(failure) => CallReply::Cannot(operation, failure.word(), failure.to_string()),
                };
                say(output, &answer)?;
            }
            Some(CallRequest::Quit) => break,
            None => return Err(CallsError::Asked(line.trim_end().to_owned())),
        }
        line.clear();
    }
    Ok(())
}

/// Makes a batch; one that failed takes its station with it.
fn made(
    ground: &Ground,
    stations: &mut BTreeMap<CallOperation, Box<dyn Station>>,
    operation: CallOperation,
    count: u64,
    clock: CallClock,
) -> Done<BatchCost> {
    let mut station = match stations.remove(&operation) {
        Some(station) => station,
        None => ground.station(operation)?,
    };
    let made = batch(station.as_mut(), count, clock)?;
    stations.insert(operation, station);
    Ok(made)
}

fn say(output: &mut dyn Write, answer: &CallReply) -> Result<(), CallsError> {
    writeln!(output, "{answer}").and_then(|()| output.flush()).map_err(CallsError::Lines)
}

#[cfg(test)]
mod tests;
