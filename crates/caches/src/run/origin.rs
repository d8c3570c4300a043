//! The origin of a bake-off: a process of its own.
//!
//! Measuring side, cold: read when a phase ends.

use super::error::CachesError;
use super::tally::{Counted, TALLY, Tally, tally};
use crate::plan::CachePlan;
use bakeoff_loadgen::{TlsOptions, TlsSettings, Trust};
use bakeoff_subject::{Certificate, Context, Running, Spec, start};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The origin's process, and how to reach it.
#[derive(Debug)]
pub(super) struct Origin {
    running: Running,
    /// The address that it listens on.
    pub(super) address: SocketAddr,
    /// The number from which its names are drawn.
    pub(super) names: u64,
    /// Settings of TLS to it: it has a certificate of its own, made for this run.
    pub(super) tls: Option<TlsSettings>,
}

/// Number of looks after an answer that did not come, and the time between them.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// Surroundings of its start.
pub(super) struct StartContext<'a> {
    pub(super) scratch: &'a Path,
    pub(super) cores: &'a [usize],
    pub(super) port: Option<u16>,
    pub(super) interrupted: &'a AtomicBool,
}

impl Origin {
    /// Starts one that serves the world of this plan.
    pub(super) fn begin(plan: &CachePlan, place: &StartContext<'_>) -> Result<Self, CachesError> {
        let file = place.scratch.join("world.toml");
        std::fs::write(&file, &plan.world).map_err(|why| CachesError::Scratch { path: file.clone(), why })?;
        let executable = bakeoff_sys::process::own_executable().map_err(CachesError::System)?;
        let argv = [
            &executable.display().to_string(),
            "origin",
            "--port",
            "{port}",
            "--threads",
            "1",
            "--world",
            &file.display().to_string(),
        ];
        let mut argv = argv.map(str::to_owned).to_vec();
        let mut context = Context::new("origin", place.scratch, place.scratch, place.interrupted);
        let mut tls = None;
        if plan.tls {
            argv.extend(["--tls", "--cert", "{cert}", "--key", "{key}"].map(str::to_owned));
            let made = Certificate::create(place.scratch).map_err(CachesError::Origin)?;
            tls = Some(TlsOptions::new(Trust::File(made.ca.clone())).load()?);
            context.certificate = Some(made);
        }
        let spec = Spec::Command { argv, ready: Some(TALLY.to_owned()), env: Vec::new(), tls: plan.tls };
        context.cpus = place.cores.to_vec();
        context.port = place.port;
        let running = start(&spec, &context).map_err(CachesError::Origin)?;
        let address = running.address;
        Ok(Self { running, address, names: plan.names, tls })
    }

    /// Reason for its end, if it has ended or does so now: an origin that breaks off an answer may be dying, and is not
    /// reaped yet.
    fn ended_meanwhile(&self) -> Option<CachesError> {
        (0..LOOKS).find_map(|look| {
            std::thread::sleep(if look == 0 { Duration::ZERO } else { PAUSE });
            self.alive().err()
        })
    }
}

impl Counted for Origin {
    fn tally(&self) -> Result<(Tally, Option<i64>), CachesError> {
        self.alive()?;
        tally(self.address, self.tls.as_ref(), self.names)
            .map_err(|why| self.ended_meanwhile().unwrap_or(why))
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.running.cpu().ok().map(|reading| reading.nanos.get())
    }

    fn alive(&self) -> Result<(), CachesError> {
        self.running.alive().map_err(CachesError::Origin)
    }
}
