//! A started entrant: started by bakeoff, or known by its address, with its gauge.
//!
//! Measuring side, cold. The start of a product is [`super::launch`]'s.

use super::bench::Bench;
use super::error::CachesError;
use super::launch::Launch;
use super::progress::BakeoffProgress;
use crate::plan::{Entrant, EntrantKind};
use crate::records::EntrantRecord;
use bakeoff_subject::{Product, ProxyMode, ProxySpec, Running, StoreReading, SubjectError, read_store};
use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;

/// A started entrant: see the module.
pub(super) struct Started {
    pub(super) record: EntrantRecord,
    /// The baseline that it is the second start of, if it is.
    pub(super) second_of: Option<String>,
    pub(super) is_cache: bool,
    pub(super) address: SocketAddr,
    pub(super) mode: ProxyMode,
    /// Room for objects; `None` if bakeoff has not set it up.
    pub(super) capacity_bytes: Option<u64>,
    proxy: Option<(ProxySpec, Running)>,
    /// Whether the unreadable gauge was reported: once is enough.
    told: Cell<bool>,
}

impl Started {
    /// The origin itself.
    pub(super) fn direct(name: &str, origin: SocketAddr) -> Self {
        Self { is_cache: false, ..Self::running_at(name, origin, ProxyMode::Reverse) }
    }

    /// A cache that runs already.
    fn running_at(name: &str, address: SocketAddr, mode: ProxyMode) -> Self {
        Self {
            record: EntrantRecord { name: name.to_owned(), ..EntrantRecord::default() },
            second_of: None,
            is_cache: true,
            address,
            mode,
            capacity_bytes: None,
            proxy: None,
            told: Cell::new(false),
        }
    }

    /// Ends the entrant's processes.
    pub(super) fn stop(self) {
        if let Some((_, running)) = self.proxy {
            running.stop();
        }
    }

    /// Its processes, if bakeoff started them.
    pub(super) fn running(&self) -> Option<&Running> {
        self.proxy.as_ref().map(|(_, running)| running)
    }

    /// The store's gauge; `None` if there is none.
    pub(super) fn gauge(&self) -> Option<Result<StoreReading, SubjectError>> {
        let (spec, running) = self.proxy.as_ref()?;
        Some(read_store(spec, running))
    }

    /// Reports once why the gauge cannot be read.
    pub(super) fn tell_unreadable(&self, why: &str, progress: &mut dyn BakeoffProgress) {
        if !self.told.replace(true) {
            progress.stage(&format!("{}: its store cannot be read: {why}", self.record.name));
        }
    }
}

impl Bench<'_, '_> {
    /// Starts an entrant.
    pub(super) fn start(&mut self, entrant: &Entrant) -> Result<Started, CachesError> {
        self.progress.stage(&format!("{entrant}: starting"));
        let started = match &entrant.kind {
            EntrantKind::Direct => Started::direct(&entrant.name, self.origin.address),
            EntrantKind::Running { address, mode } => Started::running_at(&entrant.name, *address, *mode),
            EntrantKind::Product { product, config } => self.product(entrant, *product, config.as_deref())?,
        };
        Ok(Started { second_of: entrant.second_of.clone(), ..started })
    }

    fn product(
        &mut self,
        entrant: &Entrant,
        product: Product,
        config: Option<&Path>,
    ) -> Result<Started, CachesError> {
        let name = &entrant.name;
        let (spec, elsewhere) = self.launch().spec(product, config);
        if let Some(words) = elsewhere {
            self.progress.stage(&words);
        }
        let running = self.launch().start(name, &spec)?;
        let config = running.config.as_ref().map(|text| (self.config_file(entrant), text));
        if let Some((file, text)) = &config {
            self.dir.write(file, text.as_bytes())?;
        }
        let mut started = Started::running_at(name, running.address, self.plan.mode);
        started.record.version.clone_from(&running.version);
        let stale_by = config.as_ref().and_then(|(_, text)| product.stale_by(text));
        started.record.stale_by = stale_by.map(str::to_owned);
        started.record.config = config.map(|(file, _)| file);
        started.capacity_bytes = Some(self.room_bytes());
        started.proxy = Some((spec, running));
        Ok(started)
    }

    /// File of its configuration; each start has its own. No name of an entrant has an `@` in it.
    fn config_file(&self, entrant: &Entrant) -> String {
        let second = if entrant.second_of.is_some() { "@second" } else { "" };
        let pass =
            self.pass.filter(|pass| *pass > 1).map_or_else(String::new, |pass| format!("@pass-{pass}"));
        format!("{}{second}{pass}.conf", entrant.subject())
    }

    fn launch(&self) -> Launch<'_> {
        Launch {
            plan: self.plan,
            origin: self.origin.address,
            connections: self.connections,
            cores: &self.placement.subject,
            scratch: self.scratch,
            interrupted: self.interrupted,
        }
    }

    /// Whether a reply may come from its store: there is one, and it sees what it passes on.
    pub(super) fn may_hit(&self, entrant: &Started) -> bool {
        entrant.is_cache && !self.plan.tls
    }
}
