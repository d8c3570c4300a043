//! Worker: one thread's share of the load, and its state from job to job.
//!
//! Measuring side. The loop itself is [`crate::turn`], which also runs a job.

use crate::connection::{Connection, Done};
use crate::delay::OwnLateness;
use crate::engine::Engine;
use crate::exchange::RequestText;
use crate::flow::Plan;
use crate::job::BodyCheck;
use crate::ports::{Givers, LocalPorts};
use crate::profile::Profile;
use crate::tls::{HandshakeLedger, TlsClient};
use bakeoff_meter::Recorder;
use bakeoff_sys::driver::{Driver, SystemCalls};
use bakeoff_units::{MonotonicClock, Nanos};
use bakeoff_workload::Statuses;
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
}
