//! The two ends of a link, at which an arm's commands run: near the operations, and where what serves the directory is.
//!
//! Measuring side, cold. Without a link both ends are bakeoff's own network. Owns who is where and on which cores; starts
//! nothing.

use super::super::link::Wire;
use bakeoff_subject::{Certificate, LAYERS, Network, Substitutions};
use bakeoff_sys::namespace::Namespace;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

/// Where things run.
pub(super) struct Ends {
    near: Option<Namespace>,
    far: Option<Network>,
    /// Cores of what serves: another host would have its own.
    pub(super) far_cpus: Vec<usize>,
    /// For who speaks TLS, where some arm does.
    pub(super) certificate: Option<Certificate>,
}

impl Ends {
    pub(super) fn of(wire: &Wire, far_cpus: Vec<usize>, certificate: Option<Certificate>) -> Self {
        Self { near: wire.of_generator(), far: wire.of_subjects(), far_cpus, certificate }
    }

    /// A port that nobody uses at the far end.
    pub(super) fn free_port(&self) -> io::Result<u16> {
        let host = self.host();
        self.far(|| bakeoff_subject::free_port(host))?
    }

    /// Does something among the operations: processes that are started there stay there.
    pub(super) fn near<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(self.near.as_ref(), work)
    }

    /// The same where what serves is.
    pub(super) fn far<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(self.far.as_ref().map(|network| &network.namespace), work)
    }

    /// What is filled into an arm's words; its port is not known yet.
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

    /// Where what serves listens.
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
