//! Launch of a product between clients and an origin.
//!
//! Measuring side, cold. Owns the division of a plan's room into a product's store, and the surroundings of the start,
//! so that a bake-off and the suite of [`crate::conformance`] have the same product with the same configuration.

use crate::plan::CachePlan;
use bakeoff_subject::{Context, Product, ProxySpec, Running, Spec, StoresIn, SubjectError, start};
use bakeoff_units::{Bytes, Nanos};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Concurrent requests that a cache is set up for. Each takes it three descriptors.
const MOST_IN_FLIGHT: usize = 5_000;

/// Surroundings of the launch.
pub(crate) struct Launch<'a> {
    /// The plan, with the size of its store and the form of its requests.
    pub(crate) plan: &'a CachePlan,
    /// The origin that it fetches from.
    pub(crate) origin: SocketAddr,
    /// Most connections of the clients.
    pub(crate) connections: usize,
    /// Its cores.
    pub(crate) cores: &'a [usize],
    /// Directory in which its private one is made.
    pub(crate) scratch: &'a Path,
    /// Set when the user wants to stop.
    pub(crate) interrupted: &'a AtomicBool,
}

impl Launch<'_> {
    /// The product with the plan's room; and, if it cannot have that as the plan divides it, a sentence that says where
    /// it has it.
    pub(crate) fn spec(&self, product: Product, config: Option<&Path>) -> (ProxySpec, Option<String>) {
        let (memory_bytes, disk_bytes) = (self.plan.memory_bytes, self.plan.disk_bytes);
        let given = ProxySpec {
            product,
            origin: self.origin,
            mode: self.plan.mode,
            memory_bytes,
            disk_bytes,
            config: config.map(Path::to_owned),
            tls: false,
        };
        let spec = given.clone().with_room(memory_bytes, disk_bytes);
        if spec == given {
            return (spec, None);
        }
        let place = match product.stores_in() {
            Some(StoresIn::Memory) => "in memory only",
            Some(StoresIn::Disk) => "on disk only",
            Some(StoresIn::Either | StoresIn::Both) => "in one place, here on disk",
            None => return (spec, None),
        };
        let (title, room) = (product.title(), Bytes::new(spec.store_bytes()));
        (spec, Some(format!("{title}: it keeps its store {place}, and has {room} there")))
    }

    /// Starts it under this name.
    pub(crate) fn start(&self, name: &str, spec: &ProxySpec) -> Result<Running, SubjectError> {
        let mut context = Context::new(name, self.scratch, self.scratch, self.interrupted);
        context.cpus = self.cores.to_vec();
        context.connections = self.connections.min(MOST_IN_FLIGHT);
        context.start_timeout = Nanos::from_secs(30);
        context.home = std::env::current_dir().ok();
        start(&Spec::Proxy(spec.clone()), &context)
    }
}
