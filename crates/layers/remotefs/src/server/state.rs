//! State that all threads of a server share.
//!
//! Measured side, server process. Owns how its parts are put together.

use super::coherence::Coherence;
use super::counters::ServerCounters;
use super::error::ServeError;
use super::export::Export;
use super::guard::Guard;
use super::objects::{Objects, ROOT};
use super::options::ServerOptions;
use super::principals::Principals;
use bakeoff_layers_base::daemon::degree::Degree;
use bakeoff_layers_base::daemon::door::{SeatLimits, Seats};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Limits on connections, each with a thread. A client is known by its HELLO.
const SEATS: SeatLimits = SeatLimits { all: 1024, strangers: 256, strangers_of_address: 64 };

/// State shared by all threads.
pub(super) struct Server {
    pub(super) boot: u64,
    pub(super) term_ms: u32,
    /// Degree to which the kernel confines it to the export.
    pub(super) confined: Degree,
    /// Degree to which others' changes on this machine are noticed.
    pub(super) local: Degree,
    pub(super) objects: Arc<Objects>,
    pub(super) coherence: Arc<Coherence>,
    pub(super) export: Export,
    pub(super) principals: Option<Arc<Principals>>,
    pub(super) tally: Arc<ServerCounters>,
    pub(super) seats: Arc<Seats>,
}

impl Server {
    pub(super) fn new(
        options: &ServerOptions,
        open_files: u64,
        (confined, local): (Degree, Degree),
        principals: Option<Arc<Principals>>,
    ) -> Result<Self, ServeError> {
        let failed = |error| ServeError::Export { path: options.export.clone(), error };
        let boot = RandomState::new().build_hasher().finish();
        let objects = Arc::new(Objects::new(&options.export, boot, open_files).map_err(failed)?);
        // Without /proc nothing could be opened; better to find out now.
        let root = objects.find(ROOT).and_then(|root| objects.opened(&root));
        let root = root.map_err(|_| failed(io::ErrorKind::NotFound.into()))?;
        fs::read_dir(root.link()).map_err(failed)?;
        let tally = Arc::new(ServerCounters::default());
        let coherence = Arc::new(Coherence::new(options.term, objects.clone(), tally.clone()));
        let guard = principals.clone().map(|its| Guard::new(objects.clone(), its, tally.clone()));
        let export = Export::new(objects.clone(), coherence.clone(), tally.clone(), guard);
        let term_ms = u32::try_from(options.term.as_millis()).unwrap_or(u32::MAX);
        Ok(Self {
            boot,
            term_ms,
            confined,
            local,
            objects,
            coherence,
            export,
            principals,
            tally,
            seats: Seats::new(SEATS),
        })
    }

    pub(super) fn status(&self, state: &str, address: SocketAddr) -> String {
        format!(
            "state {state}\naddress {address}\nconfined {}\nlocal-changes {}\nterm-ms {}\nconnected {}\nsessions-live {}\nobjects {}\n{}{}",
            self.confined,
            self.local,
            self.term_ms,
            self.seats.taken(),
            self.coherence.sessions(),
            self.objects.count(),
            self.tally.text(),
            self.principals.as_ref().map_or_else(String::new, |principals| principals.text())
        )
    }
}
