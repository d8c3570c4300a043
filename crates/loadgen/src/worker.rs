//! Worker: one thread's share of the load, and its state from job to job.
//!
//! Measuring side. The loop itself is [`crate::turn`].

use crate::connection::{Connection, Done, Manner, Renderer};
use crate::delay::OwnLateness;
use crate::exchange::RequestText;
use crate::flow::Plan;
use crate::job::{BodyCheck, Reuse, Target};
use crate::listener::RequestListener;
use crate::ports::{Givers, LocalPorts};
use crate::profile::Profile;
use crate::station::Engine;
use crate::tls::{HandshakeLedger, TlsClient};
use crate::turn::{Run, catch_up};
use bakeoff_meter::Recorder;
use bakeoff_sys::driver::{Driver, SystemCalls};
use bakeoff_units::{MonotonicClock, Nanos};
use bakeoff_workload::{Source, Statuses};
use std::cell::RefCell;
use std::io;
use std::sync::atomic::AtomicBool;

/// One thread's share of a job.
pub(crate) struct WorkerJob<'a, S> {
    pub(crate) source: S,
    pub(crate) plan: Plan,
    pub(crate) start: Nanos,
    pub(crate) timeout: Nanos,
    pub(crate) until: Option<Nanos>,
    pub(crate) check: BodyCheck,
    pub(crate) refused: Statuses,
    pub(crate) sample_every: Option<Nanos>,
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) engine: Engine,
}

/// The state of a worker that stays from job to job: connections stay open between slices.
pub(crate) struct Worker {
    pub(crate) driver: Driver,
    /// By slot.
    pub(crate) connections: Vec<Option<Connection>>,
    pub(crate) clock: MonotonicClock,
    /// Its number, and the number of workers.
    pub(crate) place: (usize, usize),
    /// Connections opened so far.
    pub(crate) opened: u64,
    /// The allocators of their ports.
    pub(crate) ports: Givers,
    /// Begins TLS sessions, and keeps those that later ones may resume.
    pub(crate) tls: Option<TlsClient>,
    pub(crate) memory: Memory,
}

/// Buffers that are reused.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) out: Vec<u8>,
    pub(crate) done: Vec<Done>,
    pub(crate) words: Vec<RequestText>,
}

/// The report of a worker on a job.
pub(crate) struct WorkerReport {
    pub(crate) recorder: Recorder,
    pub(crate) last_reply: Nanos,
    pub(crate) gave_up: bool,
    pub(crate) tls: Option<String>,
    pub(crate) handshakes: HandshakeLedger,
    pub(crate) violation: Option<String>,
    pub(crate) in_flight: Vec<u32>,
    pub(crate) calls: SystemCalls,
    pub(crate) own_lateness: Option<OwnLateness>,
    pub(crate) profile: Option<Profile>,
}

impl Worker {
    pub(crate) fn new(
        driver: Driver,
        clock: MonotonicClock,
        place: (usize, usize),
        ports: Option<LocalPorts>,
    ) -> Self {
        Self {
            driver,
            connections: Vec::new(),
            clock,
            place,
            opened: 0,
            ports: Givers::new(ports, place),
            tls: None,
            memory: Memory::default(),
        }
    }

    /// Closes all connections.
    pub(crate) fn disconnect(&mut self) {
        for slot in 0..self.connections.len() {
            if self.connections[slot].take().is_some() {
                self.driver.close(slot as u32);
            }
        }
    }

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
