//! The two ends of a link, at which an arm's commands run: near the operations, and at the daemon that serves the
//! directory.
//!
//! Measuring side, cold. Without a link both ends are bakeoff's own network. Owns the assignment of processes to ends
//! and cores; starts nothing.

use super::super::RunError;
use super::super::link::Wire;
use bakeoff_subject::{Certificate, LAYERS, Network, Substitutions};
use bakeoff_sys::namespace::Namespace;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

/// Networks, cores and certificate of both ends.
pub(super) struct Ends {
    near: Option<Namespace>,
    far: Option<Network>,
    /// Cores of the serving daemon: another host would have its own.
    pub(super) far_cpus: Vec<usize>,
    /// Certificate for TLS, if some arm uses it.
    pub(super) certificate: Option<Certificate>,
}

impl Ends {
    pub(super) fn of(wire: &Wire, far_cpus: Vec<usize>, certificate: Option<Certificate>) -> Self {
        Self { near: wire.of_generator(), far: wire.of_subjects(), far_cpus, certificate }
    }

    /// A free port at the far end.
    pub(super) fn free_port(&self) -> io::Result<u16> {
        let host = self.host();
        self.far(|| bakeoff_subject::free_port(host))?
    }

    /// Runs `work` at the near end, in the network of the operations: processes that it starts stay there.
    pub(super) fn near<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(self.near.as_ref(), work)
    }

    /// Runs `work` at the far end, that of the serving daemon.
    pub(super) fn far<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(self.far.as_ref().map(|network| &network.namespace), work)
    }

    /// Substitutions for an arm's commands; its port is not known yet.
    pub(super) fn substitutions(
        &self,
        dir: &Path,
        own: &BTreeMap<String, String>,
    ) -> io::Result<Substitutions> {
        let text = |path: &Path| path.display().to_string();
        let layers = std::env::current_exe()?.with_file_name(LAYERS);
        let mut values = own.clone();
        values.insert("layers".to_owned(), text(&layers));
        Ok(Substitutions {
            host: self.host().to_string(),
            port: 0,
            root: text(dir),
            tls: self.certificate.as_ref().map(|made| (text(&made.cert), text(&made.key))),
            dir: text(dir),
            values,
        })
    }

    /// The address that the serving daemon listens on.
    fn host(&self) -> Ipv4Addr {
        self.far.as_ref().map_or(Ipv4Addr::LOCALHOST, |network| network.address)
    }
}

fn inside<T: Send>(network: Option<&Namespace>, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    match network {
        Some(network) => network.run(work),
        None => Ok(work()),
    }
}

/// A word with its substitutions made.
pub(super) fn word(arm: &str, known: &Substitutions, text: &str) -> Result<String, RunError> {
    known.word(text).map_err(|why| RunError::System(io::Error::other(format!("{arm}: {why}"))))
}
