//! The steps of the procedure: path, fill, a rate.

use super::load::{Ended, Load};
use super::observer::Observer;
use super::{Bench, CachesError};
use crate::plan::{Entrant, Kind, Peak};
use crate::records::{EntrantRecord, PhaseLine, Purpose, RunRecord, Store};
use crate::results::Achievable;
use bakeoff_content::mix64;
use bakeoff_content::world::Model;
use bakeoff_robots::ideal::{Hits, Policy, Stream};
use bakeoff_robots::{Spec, TargetForm};
use bakeoff_subject::{
    Context, ProxyMode, ProxyRefusal, ProxySpec, Running, StoreReading, read_store, start,
};
use bakeoff_units::{Bytes, Nanos, PerSecond};
use std::net::SocketAddr;

/// Robots that see how fast the way is, and how long they ask.
const CROWD: usize = 32;
const PATH_TIME: &str = "3s";
/// Requests that a cache is set up for at once. Each takes it three descriptors.
const MOST_IN_FLIGHT: usize = 5_000;
/// A store that holds this share of what it may is full: some products keep a little free.
const FULL: f64 = 0.97;

/// Bytes of bodies that the origin has sent since a run began.
type Fetched<'f> = dyn Fn() -> Result<u64, CachesError> + 'f;

/// An entrant that is asked.
pub(super) struct Started {
    pub(super) record: EntrantRecord,
    pub(super) is_cache: bool,
    address: SocketAddr,
    mode: ProxyMode,
    proxy: Option<(ProxySpec, Running)>,
}

impl Started {
    /// Ends what was started.
    pub(super) fn stop(self) {
        if let Some((_, running)) = self.proxy {
            running.stop();
        }
    }

    fn running(&self) -> Option<&Running> {
        self.proxy.as_ref().map(|(_, running)| running)
    }

    /// The store's gauge; `None` where there is none.
    fn gauge(&self) -> Option<StoreReading> {
        let (spec, running) = self.proxy.as_ref()?;
        read_store(spec, running).ok()
    }
}

impl Bench<'_, '_> {
    /// The way to the origin, without a cache and without think time.
    pub(super) fn path(&mut self) -> Result<(), CachesError> {
        let direct = Started {
            record: EntrantRecord { name: "none".to_owned(), version: None, config: None },
            is_cache: false,
            address: self.origin.address,
            mode: ProxyMode::Reverse,
            proxy: None,
        };
        let plan = self.plan;
        let Some(fill) = &plan.fill else { return Ok(()) };
        for robots in [CROWD, 1] {
            self.progress.stage(&format!("the way to the origin, {robots} robots"));
            let text = format!(
                "[robots]\nrobots = {robots}\n[[phase]]\nname = \"path\"\ngoal = {{ duration = \"{PATH_TIME}\" }}\n"
            );
            let spec = Spec::from_toml(&text).map_err(|why| CachesError::Own(why.to_string()))?;
            let purpose = Purpose::Path { robots };
            self.asked(&direct, purpose, &spec, &fill.model, |_, _| Ok(false))?;
        }
        Ok(())
    }

    /// Starts an entrant.
    pub(super) fn start(&mut self, entrant: &Entrant) -> Result<Started, CachesError> {
        self.progress.stage(&format!("{entrant}: starting"));
        let name = entrant.name.clone();
        let origin = self.origin.address;
        let record = |version, config| EntrantRecord { name: name.clone(), version, config };
        match &entrant.kind {
            Kind::Direct => Ok(Started {
                record: record(None, None),
                is_cache: false,
                address: origin,
                mode: ProxyMode::Reverse,
                proxy: None,
            }),
            Kind::Running { address, mode } => Ok(Started {
                record: record(None, None),
                is_cache: true,
                address: *address,
                mode: *mode,
                proxy: None,
            }),
            Kind::Product { product, config } => {
                let spec = self.with_a_store(ProxySpec {
                    product: *product,
                    origin,
                    mode: self.plan.mode,
                    memory_bytes: self.plan.memory_bytes,
                    disk_bytes: self.plan.disk_bytes,
                    config: config.clone(),
                });
                let mut context = Context::new(&entrant.name, self.scratch, self.scratch, self.interrupted);
                context.cpus.clone_from(&self.placement.subject);
                context.connections = self.connections.min(MOST_IN_FLIGHT);
                context.start_timeout = Nanos::from_secs(30);
                context.home = std::env::current_dir().ok();
                let running = start(&bakeoff_subject::Spec::Proxy(spec.clone()), &context)?;
                let config = running.config.as_ref().map(|text| (format!("{}.conf", entrant.name), text));
                if let Some((file, text)) = &config {
                    self.dir.write(file, text.as_bytes())?;
                }
                Ok(Started {
                    record: record(running.version.clone(), config.map(|(file, _)| file)),
                    is_cache: true,
                    address: running.address,
                    mode: self.plan.mode,
                    proxy: Some((spec, running)),
                })
            }
        }
    }

    /// A product that cannot keep its store where the plan says has it where it can, as large.
    fn with_a_store(&mut self, mut spec: ProxySpec) -> ProxySpec {
        let all = spec.memory_bytes + spec.disk_bytes.unwrap_or(0);
        let place = match spec.refusal() {
            Some(ProxyRefusal::DiskOnly) => {
                spec.disk_bytes = Some(all);
                "on disk"
            }
            Some(ProxyRefusal::MemoryOnly) => {
                (spec.memory_bytes, spec.disk_bytes) = (all, None);
                "in memory"
            }
            _ => return spec,
        };
        let product = spec.product.title();
        self.progress
            .stage(&format!("{product}: it keeps its store {place} only, and has {} there", Bytes::new(all)));
        spec
    }

    /// Fills the store: until it is full and objects are thrown out, or as much was fetched as makes sure.
    pub(super) fn fill(&mut self, entrant: &Started) -> Result<(), CachesError> {
        let plan = self.plan;
        let Some(fill) = &plan.fill else { return Ok(()) };
        self.progress.stage(&format!("{}: filling its store", entrant.record.name));
        let capacity = plan.memory_bytes + plan.disk_bytes.unwrap_or(0);
        let enough = (capacity as f64 * fill.times) as u64;
        let is_full = |entrant: &Started, fetched: &Fetched<'_>| {
            let gauge = entrant.gauge();
            let evicting =
                gauge.as_ref().is_some_and(|gauge| gauge.evictions.is_some_and(|evicted| evicted > 0));
            let full =
                gauge.is_some_and(|gauge| gauge.used_bytes as f64 >= FULL * gauge.capacity_bytes as f64);
            Ok(evicting || full || fetched()? >= enough)
        };
        self.asked(entrant, Purpose::Fill, &fill.robots, &fill.model, is_full)?;
        Ok(())
    }

    /// Measures a rate.
    pub(super) fn rate(&mut self, entrant: &Started, order: u32, rate: PerSecond) -> Result<(), CachesError> {
        self.progress.stage(&format!("{}: {rate}", entrant.record.name));
        let plan = self.plan;
        let spec = Spec { rate: Some(rate), ..plan.robots.clone() };
        let purpose = Purpose::Rate { order, rate_per_s: rate.get() };
        self.asked(entrant, purpose, &spec, &plan.model, |_, _| Ok(false))?;
        Ok(())
    }

    /// Asks an entrant for what the spec says and writes the run down.
    fn asked(
        &mut self,
        entrant: &Started,
        purpose: Purpose,
        spec: &Spec,
        model: &Model,
        is_full: impl Fn(&Started, &Fetched<'_>) -> Result<bool, CachesError>,
    ) -> Result<RunRecord, CachesError> {
        let keeps_stream = entrant.is_cache && matches!(purpose, Purpose::Rate { .. });
        self.judged(entrant, (spec, model), keeps_stream, is_full, |_| purpose)
    }

    /// The same; what it was for follows from what came of it.
    pub(super) fn judged(
        &mut self,
        entrant: &Started,
        (spec, model): (&Spec, &Model),
        keeps_stream: bool,
        is_full: impl Fn(&Started, &Fetched<'_>) -> Result<bool, CachesError>,
        purpose: impl FnOnce(&RunRecord) -> Purpose,
    ) -> Result<RunRecord, CachesError> {
        self.demand_uninterrupted()?;
        let measured: Vec<String> =
            spec.phases.iter().filter(|phase| phase.measured).map(|phase| phase.name.clone()).collect();
        let authority = self.origin.address.to_string();
        let load = Load {
            spec,
            model,
            address: entrant.address,
            form: match entrant.mode {
                ProxyMode::Forward if entrant.is_cache => TargetForm::Absolute(authority.clone()),
                _ => TargetForm::Origin,
            },
            host: authority,
            connections: self.connections,
            timeout: self.plan.timeout,
            seed: mix64(self.plan.seed ^ u64::from(self.run)),
            world: self.next_world(),
            keeps_stream,
            cores: &self.placement.generator,
            interrupted: self.interrupted,
        };
        let (ended, clock_ahead_s) = {
            let origin = &self.origin;
            let begun = origin.tally()?.0.body_bytes;
            // Asked only by who wants to know: the question is one of the origin's replies.
            let fetched = || Ok(origin.tally()?.0.body_bytes - begun);
            let full = || is_full(entrant, &fetched);
            let mut observer = Observer::begin(
                (self.run, &measured),
                self.dir,
                self.progress,
                (origin, entrant.running()),
                full,
            )?;
            let ended = load.run(&mut observer)?;
            (ended, observer.clock_ahead_s)
        };
        let mut record = RunRecord {
            entrant: entrant.record.clone(),
            purpose: Purpose::Fill,
            store: entrant.gauge().map(Store::from),
            ended: words(&ended),
            failed: None,
            lateness_p99_ns: ended.lateness_p99_ns,
            robots_busy: ended.busy,
            achievable: self.achievable(&ended),
            clock_ahead_s,
            phases: ended.phases,
        };
        record.purpose = purpose(&record);
        self.run += 1;
        self.dir.run(&record)?;
        self.demand_uninterrupted()?;
        demand_replies(&record)?;
        Ok(record)
    }

    /// What caches would have made of what was measured.
    fn achievable(&self, ended: &Ended) -> Option<Achievable> {
        let measured = ended.phases.iter().rfind(|line| line.measured)?;
        let began = Nanos::new(measured.phase.began_ns);
        let stream = Stream::new(ended.stream.iter().copied()).counting_from(began);
        let ratios = |hits: Hits| Some((hits.document_ratio()?, hits.byte_ratio()?));
        let capacity = self.plan.memory_bytes + self.plan.disk_bytes.unwrap_or(0);
        let replayed = |policy| ratios(stream.replay(policy, Bytes::new(capacity)));
        Some(Achievable {
            at_once: ratios(stream.known_at_once())?,
            when_fetched: ratios(stream.known_when_fetched())?,
            capacity_bytes: Some(capacity),
            lru: replayed(Policy::Lru),
            s3_fifo: replayed(Policy::S3Fifo),
            belady: replayed(Policy::Belady),
        })
    }

    /// Notes that an entrant could not go on.
    pub(super) fn failed(&mut self, entrant: &Entrant, error: &CachesError) -> Result<(), CachesError> {
        self.progress.stage(&format!("{entrant}: {error}"));
        let record = RunRecord {
            entrant: EntrantRecord { name: entrant.name.clone(), version: None, config: None },
            purpose: Purpose::Fill,
            phases: Vec::new(),
            store: None,
            ended: "failed".to_owned(),
            failed: Some(error.to_string()),
            lateness_p99_ns: 0,
            robots_busy: 0.0,
            achievable: None,
            clock_ahead_s: None,
        };
        self.run += 1;
        Ok(self.dir.run(&record)?)
    }

    /// Phases are long enough at the lowest rate, now that the peak is known.
    pub(super) fn demand_length(&self, peak: PerSecond) -> Result<(), CachesError> {
        let crate::plan::Course::Shares { shares, peak: Peak::Searched { .. }, .. } = &self.plan.course
        else {
            return Ok(());
        };
        let least = shares.iter().map(|share| share.get()).fold(f64::INFINITY, f64::min);
        let Some(rate) = PerSecond::new(peak.get() * least) else { return Ok(()) };
        for phase in self.plan.published.iter().filter(|phase| phase.measured.unwrap_or(true)) {
            if let Some(duration) = phase.goal.duration {
                self.plan.scale.holds(&phase.name, duration, rate)?;
            }
        }
        Ok(())
    }

    fn next_world(&mut self) -> u64 {
        self.world = mix64(self.world);
        self.world
    }
}

/// Why the last phase ended.
pub(crate) fn words(ended: &Ended) -> String {
    match ended.phases.iter().rfind(|line| line.is_of_the_plan()) {
        _ if ended.gave_up => "every request failed".to_owned(),
        Some(line) => line.ended.clone(),
        None => "nothing was asked".to_owned(),
    }
}

/// Who never answered cannot be measured.
pub(crate) fn demand_replies(record: &RunRecord) -> Result<(), CachesError> {
    let asked: u64 = record.phases.iter().map(|line| line.phase.sums.finished).sum();
    let good: u64 = record.phases.iter().map(|line| line.phase.sums.good).sum();
    if asked == 0 || good > 0 {
        return Ok(());
    }
    let errors = record.phases.iter().flat_map(|line: &PhaseLine| &line.phase.sums.errors);
    let worst = errors.max_by_key(|(_, count)| **count).map(|(class, _)| class.clone());
    Err(CachesError::NoReply {
        entrant: record.entrant.name.clone(),
        asked,
        class: worst.unwrap_or_else(|| "not what was asked for".to_owned()),
    })
}

impl From<StoreReading> for Store {
    fn from(reading: StoreReading) -> Self {
        Self {
            used_bytes: reading.used_bytes,
            capacity_bytes: reading.capacity_bytes,
            evictions: reading.evictions,
            source: reading.source.to_owned(),
        }
    }
}
