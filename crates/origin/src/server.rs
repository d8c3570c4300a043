//! Server: listening sockets, threads, and planted costs.

use crate::barrier::Barrier;
use crate::busy::Busy;
use crate::certificate::server_config;
use crate::counters::{Counters, Everyone, OriginCounters, sum};
use crate::error::OriginError;
use crate::head::{ForCaches, Heads};
use crate::site::Site;
use crate::synthetic_load::{Costs, SyntheticLoad, Turn};
use crate::waiting::Waiting;
use crate::worker::{ConnectionSettings, Worker};
use crate::workspace::Workspace;
use crate::world::{LatestStamps, OfAll, World, WorldWorkspace};
use bakeoff_content::Catalogue;
use bakeoff_sys::driver::Driver;
use bakeoff_sys::net;
use bakeoff_units::{MonotonicClock, Nanos};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

/// Options of an origin.
#[derive(Debug)]
pub struct OriginOptions {
    /// The address to listen on; port 0 picks a free one.
    pub address: SocketAddr,
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Objects beside `/bytes/N`.
    pub catalogue: Catalogue,
    /// PEM files of certificate chain and key; `None` for plain HTTP.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether HTTP/2 is spoken with those who begin with it, and offered over TLS.
    pub http2: bool,
    /// Objects that follow from their names, beside all others. A world is served over HTTP/1.1 only.
    pub world: Option<World>,
    /// CPU time to spend besides serving.
    pub burn: Costs<Option<Nanos>>,
    /// Caching directives for a cache before it, in replies about the catalogue's objects and `/bytes/N`, over
    /// HTTP/1.1.
    pub for_caches: Option<ForCaches>,
}

/// A running origin; its threads end with the process.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    tls: bool,
    threads: Everyone,
    waiting: Arc<Waiting>,
    turn: Option<Turn>,
}

impl Origin {
    /// Starts serving.
    ///
    /// # Errors
    /// When the port is taken or the certificate cannot be read.
    pub fn start(options: OriginOptions) -> Result<Self, OriginError> {
        bakeoff_content::prepare();
        // A reply that waits would have to hold up its stream and no other: there is nothing for that yet.
        let http2 = options.http2 && options.world.is_none();
        let tls = options.tls.as_ref().map(|files| server_config(files, http2)).transpose()?;
        let listen = |address| net::listen(address, true).map_err(|why| OriginError::Listen { address, why });
        // A first socket that does not share finds out whether another program has the port.
        if options.address.port() != 0 {
            let why = |why| OriginError::Listen { address: options.address, why };
            drop(net::listen(options.address, false).map_err(why)?);
        }
        let first = listen(options.address)?;
        let address = first.local_addr()?;
        let mut listeners = vec![first];
        for _ in 1..options.threads.max(1) {
            listeners.push(listen(address)?);
        }
        let site = Arc::new(Site::new(options.catalogue));
        let world = options.world.map(Arc::new);
        if let Some(world) = &world {
            world.model.prepare();
        }
        let idle_timeout = world.as_ref().and_then(|world| world.idle_timeout);
        let waiting = Arc::new(Waiting::default());
        let barrier = Arc::<Mutex<Barrier>>::default();
        let (asked, host) = (Arc::<LatestStamps>::default(), Arc::<OnceLock<Vec<u8>>>::default());
        let threads: Everyone = listeners.iter().map(|_| Arc::<Counters>::default()).collect();
        let turn = options.burn.is_any().then(Turn::measure);
        for (index, (listener, counters)) in listeners.into_iter().zip(&*threads).enumerate() {
            let burners = options.burn.map(|each| Some(SyntheticLoad::new(each?, turn?)));
            let workspace = Workspace::new(site.clone(), counters.clone(), burners);
            let heads = |caches| Heads::for_caches(caches, index, threads.len());
            let workspace = workspace.with_heads(options.for_caches.map_or_else(Heads::new, heads));
            let of_all = OfAll {
                waiting: waiting.clone(),
                everyone: threads.clone(),
                asked: asked.clone(),
                barrier: barrier.clone(),
                host: host.clone(),
            };
            let of_thread = |world| WorldWorkspace::new(world, of_all, index as u64);
            let workspace = workspace.with_world(world.clone().map(of_thread));
            let driver = Driver::new(MonotonicClock::new())?;
            let worker = Worker::new(
                driver,
                listener,
                workspace,
                ConnectionSettings { tls: tls.clone(), http2, idle_timeout },
            )?;
            thread::Builder::new().name(format!("origin-{index}")).spawn(move || worker.serve())?;
        }
        Ok(Self { address, tls: tls.is_some(), threads, waiting, turn })
    }

    /// Its URL, with the real port.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.address)
    }

    /// Totals so far.
    pub fn tally(&self) -> OriginCounters {
        let tally = sum(self.threads.iter().map(|counters| &**counters));
        OriginCounters { waited_at_most: self.waiting.at_most(), ..tally }
    }

    /// Time of a turn of the planted costs at the start, where there are any: it decides how many are done.
    pub const fn turn(&self) -> Option<Turn> {
        self.turn
    }

    /// Time of a turn in its place, lately: the mean of the threads that did any, and the time at the start if none
    /// did.
    pub fn turn_in_place(&self) -> Option<Turn> {
        Turn::mean(self.threads.iter().filter_map(|counters| counters.in_place.turn())).or(self.turn)
    }

    /// How busy each thread was in the last seconds in which it had traffic; `None` for one that had
    /// hardly any.
    pub fn busy(&self) -> impl Iterator<Item = Option<Busy>> {
        self.threads.iter().map(|counters| counters.busy())
    }
}
