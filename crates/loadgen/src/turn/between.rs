//! Jobs of a worker one after the other, and the events between them: connections that the server closed meanwhile.
//!
//! Measuring side, cold.

use super::Run;
use crate::connection::{Arrival, Connection, Manner, Renderer};
use crate::job::{Reuse, Target};
use crate::listener::Deaf;
use crate::listener::RequestListener;
use crate::worker::{Worker, WorkerJob, WorkerReport};
use bakeoff_sys::driver::{ConnectionEvent, Wait};
use bakeoff_units::Nanos;
use bakeoff_workload::Source;
use std::cell::RefCell;
use std::io;

impl Worker {
    /// Runs a job to its end; returns its report, and the source.
    pub(crate) fn run<S: Source + RequestListener>(
        &mut self,
        target: &Target,
        job: WorkerJob<'_, S>,
    ) -> io::Result<(WorkerReport, S)> {
        let before = self.driver.system_calls();
        let manner = Manner {
            target,
            render: Renderer::new(target),
            check: job.check,
            connect_timeout: job.engine.connect_timeout,
            clock: self.clock,
            plain: RefCell::default(),
        };
        let slots = job.plan.seats_at_first().div_ceil(target.protocol.streams());
        for slot in slots..self.connections.len() {
            self.driver.close(slot as u32);
        }
        self.connections.resize_with(slots, || None);
        if let Some((settings, name)) = &target.tls {
            let connections = job.plan.seats().div_ceil(target.protocol.streams());
            // A small job may come first, such as one that waits for the server to settle.
            let tls = self.tls.get_or_insert_with(|| settings.client(name.clone(), connections));
            tls.make_room(connections);
        }
        self.drop_what_is_unfit(&manner)?;
        let (mut report, source) = Run::new(self, manner, job).run_to_end()?;
        report.calls = self.driver.system_calls().since(&before);
        Ok((report, source))
    }

    /// Connections that the server closed since the last job are replaced, not blamed; so are those that
    /// are not fit for a request.
    fn drop_what_is_unfit(&mut self, manner: &Manner<'_>) -> io::Result<()> {
        catch_up(self, manner)?;
        let unfit = |connection: &Connection| manner.target.reuse == Reuse::Never || !connection.reusable();
        for slot in 0..self.connections.len() {
            if self.connections[slot].as_ref().is_some_and(unfit) {
                self.connections[slot] = None;
                self.driver.close(slot as u32);
            }
        }
        Ok(())
    }
}

/// Takes in the events between jobs: connections that have ended are closed.
fn catch_up(worker: &mut Worker, manner: &Manner<'_>) -> io::Result<()> {
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
                    connection.receive(
                        data.bytes,
                        &arrival,
                        manner,
                        &mut Deaf(()),
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
