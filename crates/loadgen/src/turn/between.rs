//! Events between jobs: connections that the server closed meanwhile.
//!
//! Measuring side, cold.

use crate::connection::{Arrival, Manner};
use crate::worker::Worker;
use bakeoff_sys::driver::{ConnectionEvent, Wait};
use bakeoff_units::Nanos;
use std::io;

/// Takes in the events between jobs: connections that have ended are closed.
pub(crate) fn catch_up(worker: &mut Worker, manner: &Manner<'_>) -> io::Result<()> {
    for _ in 0..CATCH_UP_AT_MOST {
        worker.driver.wait(Wait { at_most: Some(Nanos::ZERO), batch: None })?;
        let mut quiet = true;
        while let Some((slot, event)) = worker.driver.next() {
            quiet = false;
            let Some(Some(connection)) = worker.connections.get_mut(slot as usize) else { continue };
            let arrival = Arrival::new(&worker.clock, None);
            let memory = &mut worker.memory;
            match event {
                ConnectionEvent::Data(data) => {
                    connection.receive::<false>(
                        data.bytes,
                        &arrival,
                        manner,
                        &mut memory.out,
                        &mut memory.done,
                    );
                }
                _ => connection.ended(&arrival, &mut memory.done),
            }
            if !memory.out.is_empty() && worker.driver.send(slot, &memory.out).is_err() {
                connection.not_sent(&arrival, &mut memory.done);
            }
            memory.done.clear();
            memory.out.clear();
        }
        if quiet {
            return Ok(());
        }
    }
    Ok(())
}

/// A peer that goes on sending is dealt with in the job.
const CATCH_UP_AT_MOST: usize = 64;
