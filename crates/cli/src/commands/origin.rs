//! `bakeoff origin`: the built-in origin in the foreground.

use crate::args::{OriginArgs, StandInProtocol};
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_caches::plan::{CachePlan, PlanChanges};
use bakeoff_content::Catalogue;
use bakeoff_origin::{Busy, Costs, ForCaches, Origin, OriginOptions, World};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Serves until SIGTERM or Ctrl-C; both end it with 0.
pub(crate) fn origin(args: &OriginArgs) -> Result<Exit, Failure> {
    // Before the first line of output: whoever reads it may send the signal at once.
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::failed)?;
    let plan = args
        .plan
        .as_deref()
        .map(|plan| crate::kinds::cache_plan(plan, &PlanChanges::default()))
        .transpose()?;
    let wants_tls = args.tls || plan.as_ref().is_some_and(|plan| plan.tls);
    let throw_away = if wants_tls && args.cert.is_none() { Some(ThrowAway::make()?) } else { None };
    let tls = match (&throw_away, &args.cert, &args.key) {
        (Some(made), ..) => Some(made.paths()),
        (None, Some(cert), Some(key)) => Some((cert.clone(), key.clone())),
        _ => None,
    };
    let threads = match args.threads {
        Some(threads) => threads as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let world = match (&args.world, args.plan.as_deref().zip(plan.as_ref())) {
        (Some(path), _) => Some(world(path)?),
        (None, Some((name, plan))) => Some(world_of_plan(name, plan)?),
        (None, None) => None,
    };
    let catalogue = catalogue(args.catalogue.as_ref())?;
    let catalogue = if args.stand_in.is_some() { catalogue.with_endings() } else { catalogue };
    if args.stand_in == Some(StandInProtocol::Fastcgi) {
        let address = bakeoff_origin::serve_fastcgi((args.address, args.port).into(), catalogue);
        terminal::say(&format!("listening: fastcgi://{}", address.map_err(Failure::failed)?));
        signals.forever().next();
        return Ok(Exit::Verdicts);
    }
    let has_world = world.is_some();
    if has_world {
        // Thousands of replies may wait at once, each on a connection of its own. Where the limit cannot be
        // raised, connections that find no descriptor are counted.
        let _ = bakeoff_sys::rlimit::raise_open_files(u64::MAX);
    }
    let origin = Origin::start(OriginOptions {
        address: (args.address, args.port).into(),
        threads,
        catalogue,
        tls,
        http2: true,
        world,
        burn: Costs { request: args.burn, in_flight: args.burn_in_flight, wakeup: args.burn_per_wakeup },
        for_caches: args.max_age.map(|max_age| ForCaches { max_age }),
    })
    .map_err(Failure::failed)?;
    terminal::say(&format!("listening: {}", origin.url()));
    signals.forever().next();
    say_what_was_done(&origin, args, has_world);
    Ok(Exit::Verdicts)
}

/// The closing lines.
fn say_what_was_done(origin: &Origin, args: &OriginArgs, has_world: bool) {
    let tally = origin.tally();
    terminal::note(&format!("requests: {}", tally.requests));
    if let Some(turn) = origin.turn_in_place() {
        let Costs { request, in_flight, wakeup } = tally.turns;
        let all = request + in_flight + wakeup;
        terminal::note(&format!("burned: {} ns, {all} turns of {turn}", turn.time(all).get()));
        for (asked, turns, on_what) in [
            (args.burn, request, "on requests"),
            (args.burn_in_flight, in_flight, "for others in flight"),
            (args.burn_per_wakeup, wakeup, "on wake-ups"),
        ] {
            if asked.is_some() {
                terminal::note(&format!("burned {on_what}: {} ns", turn.time(turns).get()));
            }
        }
    }
    terminal::note(&format!(
        "replies: {} with {} bytes of bodies, on {} connections",
        tally.replies, tally.body_bytes, tally.connections
    ));
    if has_world {
        terminal::note(&format!("not modified: {} of the requests (304)", tally.not_modified));
        terminal::note(&format!(
            "replies waiting at once: at most {}; the latest was sent {} after its time",
            tally.waited_at_most, tally.late_at_most
        ));
    }
    for (why, connections) in &tally.endings {
        terminal::note(&format!("ended: {connections} ({why})"));
    }
    for (index, busy) in origin.busy().enumerate() {
        let Some(busy) = busy.filter(Busy::is_at_its_limit) else { continue };
        let percent = busy.cpu.get() * 100 / busy.wall.get();
        terminal::note(&format!(
            "bottleneck: thread {index} was busy {percent} % of its last {:.1} s with traffic, so that this \
             server was measured; give it more cores and --threads",
            busy.wall.as_duration().as_secs_f64()
        ));
    }
}

fn catalogue(path: Option<&PathBuf>) -> Result<Catalogue, Failure> {
    let Some(path) = path else { return Ok(Catalogue::default()) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("origin: {}: {error}; give a readable catalogue", path.display()))
    })?;
    Catalogue::from_text(&text)
        .map_err(|error| Failure::usage(format!("origin: {}: {error}", path.display())))
}

fn world(path: &Path) -> Result<World, Failure> {
    let failure = |why: &dyn Display, advice: &str| {
        Failure::usage(format!("origin: {}: {why}{advice}", path.display()))
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| failure(&error, "; give a readable file with [[content]] and [origin]"))?;
    World::from_toml(&text).map_err(|error| failure(&error, ""))
}

/// As a bake-off's own origin would be told.
fn world_of_plan(name: &str, plan: &CachePlan) -> Result<World, Failure> {
    World::from_toml(&plan.world).map_err(|error| Failure::usage(format!("origin: {name}: {error}")))
}

/// A certificate that goes when the origin goes.
struct ThrowAway {
    made: bakeoff_subject::Certificate,
    _dir: tempfile::TempDir,
}

impl ThrowAway {
    fn make() -> Result<Self, Failure> {
        let dir = tempfile::tempdir().map_err(Failure::failed)?;
        let made = bakeoff_subject::Certificate::create(dir.path()).map_err(Failure::failed)?;
        Ok(Self { made, _dir: dir })
    }

    fn paths(&self) -> (PathBuf, PathBuf) {
        (self.made.cert.clone(), self.made.key.clone())
    }
}
