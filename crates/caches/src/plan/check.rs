//! Check of a bake-off's plan, from the typed keys to a runnable plan.

use super::file::{BakeoffSection, FillSection, PopulationSection};
use super::length::Length;
use super::reader::Reader;
use super::schedule::schedule;
use super::secure::take_tls;
use super::turns::MOST_PASSES;
use super::{CachePlan, Entrant, Fill, Growth, PlanChanges, PlanError, RateSchedule, TurnOrder};
use crate::scale::TimeScale;
use bakeoff_content::world::{Model, ModelError, TypedKind};
use bakeoff_content::{Distribution, SplitMix64};
use bakeoff_loadgen::{LocalAddresses, LocalPorts};
use bakeoff_robots::{PhaseFile, RobotsFile, Spec};
use bakeoff_subject::ProxyMode as Mode;
use bakeoff_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Separates the draw of names from others of a plan's seed: "names".
const NAMES: u64 = 0x006e_616d_6573;
/// Shortest warm-up, unless a shorter one is published.
const WARM: Nanos = Nanos::from_secs(10);
/// Shortest time limit of a phase that waits for a store or a working set, unless a shorter one is published.
const PATIENCE: Nanos = Nanos::from_secs(600);

/// The whole plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    bakeoff: BakeoffSection,
    fill: Option<FillSection>,
    population: Option<PopulationSection>,
    robots: RobotsFile,
    content: Vec<TypedKind>,
    #[serde(default)]
    origin: toml::Table,
    phase: Vec<PhaseFile>,
}

/// The sections that the origin reads.
#[derive(Serialize)]
struct WorldFile<'a> {
    names: u64,
    origin: &'a toml::Table,
    content: &'a [TypedKind],
}

pub(super) fn check(
    name: &str,
    origin: &str,
    text: &str,
    changes: &PlanChanges,
) -> Result<CachePlan, PlanError> {
    let sections = "a bake-off's plan has [bakeoff], [robots], [[content]] and [[phase]]";
    let file: PlanFile =
        toml::from_str(text).map_err(|why| PlanError::of_file(origin, text, &why, sections))?;
    let reader = Reader { origin, text };
    let section = &file.bakeoff;
    let scale = match changes.scale {
        Some(scale) => scale,
        None => reader.or("scale", section.scale.as_ref(), TimeScale::FULL)?,
    };
    let schedule = schedule(&reader, section, scale, changes.rate)?;
    let memory_bytes = reader.or("memory", section.memory.as_ref(), Bytes::new(64 << 20))?.get();
    let disk_bytes = disk(&reader, section)?;
    let phases = scaled(&file.phase, scale, memory_bytes + disk_bytes.unwrap_or(0));
    let seed = section.seed.unwrap_or(1);
    let names = SplitMix64::for_purpose(seed, NAMES).next_u64() >> 1; // TOML has no larger numbers
    let [model, quick] = contents(&reader, &file.content)?.map(|model| model.named(names));
    let length = Length { published: &file.phase, scaled: &phases, scale, model: &model };
    length.demand(schedule.known_lowest()).map_err(|why| reader.whole(why))?;
    let growth = growth(&reader, &file, &schedule, scale)?;
    let typed = growth.map_or(Ok(file.robots.clone()), |growth| growth.put_in(&reader, &file.robots))?;
    let robots = Spec::new(&typed, &phases).map_err(|why| reader.whole(why))?;
    gzip(&reader, &robots, &model)?;
    let fill = file.fill.as_ref().map(|section| filling(&reader, section, &robots)).transpose()?;
    let (tls, origin_section) = take_tls(&reader, &file.origin)?;
    let world = WorldFile { names, origin: &origin_section, content: &model.typed() };
    let world = toml::to_string(&world).map_err(|why| reader.wrong("origin", why))?;
    let entrants = entrants(&reader, section, changes)?;
    let several = entrants.len() > 1;
    let plan = CachePlan {
        name: name.to_owned(),
        text: text.to_owned(),
        title: section.title.clone(),
        entrants,
        passes: passes(&reader, section)?,
        order: section.order.unwrap_or(if several { TurnOrder::Random } else { TurnOrder::Plan }),
        baseline_twice: section.baseline_twice.unwrap_or(several),
        mode: mode(&reader, section)?,
        memory_bytes,
        disk_bytes,
        scale,
        schedule,
        hit_ratio: section.hit_ratio.as_ref().map(|text| reader.value("hit_ratio", text)).transpose()?,
        mean_bound: reader.or("mean_bound", section.mean_bound.as_ref(), Nanos::from_secs(3))?,
        connections: section.connections,
        ports: ports(&reader, section, changes)?,
        from: from(&reader, section, changes)?,
        timeout: reader.or("timeout", section.timeout.as_ref(), Nanos::from_secs(60))?,
        seed,
        names,
        origin_port: changes.origin_port,
        rate_changed: changes.rate,
        study: study(&reader, section)?,
        differs: section.differs.clone(),
        fill,
        quick,
        robots,
        growth,
        published: file.phase.clone(),
        model,
        world,
        tls,
        think: think(&reader, &file.origin)?,
    };
    plan.without_reverse_over_tls(&reader)
}

/// Robots that accept gzip must be able to get it.
fn gzip(reader: &Reader<'_>, robots: &Spec, model: &Model) -> Result<(), PlanError> {
    if robots.accept_gzip.get() > 0.0 && !model.kinds().iter().any(|kind| kind.gzip) {
        let why = "no [[content]] exists in gzip, so that nobody could get it; write `gzip = true` there, or leave \
                   accept_gzip out";
        return Err(reader.wrong("accept_gzip", why));
    }
    Ok(())
}

fn growth(
    reader: &Reader<'_>,
    file: &PlanFile,
    schedule: &RateSchedule,
    scale: TimeScale,
) -> Result<Option<Growth>, PlanError> {
    let Some(section) = &file.population else { return Ok(None) };
    if *schedule == RateSchedule::BestEffort {
        let why = "robots are as many as a rate takes, and \"best effort\" has none; say in [robots] how many there are";
        return Err(reader.wrong("population", why));
    }
    Growth::of(reader, section, scale).map(Some)
}

fn entrants(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    changes: &PlanChanges,
) -> Result<Vec<Entrant>, PlanError> {
    let entrants: Vec<Entrant> = match changes.entrants.as_slice() {
        [] => section.products.iter().map(|name| reader.value("products", name)).collect::<Result<_, _>>()?,
        given => given.to_vec(),
    };
    for (at, entrant) in entrants.iter().enumerate() {
        if entrants[..at].iter().any(|other| other.name == entrant.name) {
            let why = format!(
                "`{entrant}` takes part twice; each may once (files of configuration tell by their names)"
            );
            return Err(reader.wrong("products", why));
        }
    }
    if entrants.is_empty() {
        return Err(reader.wrong("products", "nobody takes part; name a product, or `none`"));
    }
    Ok(entrants)
}

fn passes(reader: &Reader<'_>, section: &BakeoffSection) -> Result<u32, PlanError> {
    match section.passes.map_or(1, NonZeroU32::get) {
        passes @ 1..=MOST_PASSES => Ok(passes),
        more => Err(reader.wrong("passes", format!("{more} are too many; at most {MOST_PASSES}"))),
    }
}

/// All entrants must be able to be killed and started again, if the plan has an outage.
pub(super) fn demand_products(origin: &str, plan: &CachePlan) -> Result<(), PlanError> {
    let stays = |entrant: &Entrant| Some((entrant.name.clone(), entrant.why_never_away()?));
    let Some((name, why)) = plan.entrants.iter().find_map(stays).filter(|_| plan.has_outage()) else {
        return Ok(());
    };
    Err(Reader { origin, text: &plan.text }.wrong(
        "products",
        format!("`{name}` cannot be away, as it is in an outage of this plan: {why}; take products alone"),
    ))
}

fn ports(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    changes: &PlanChanges,
) -> Result<Option<LocalPorts>, PlanError> {
    let typed = || section.ports.as_deref().map(|text| reader.value("ports", text)).transpose();
    changes.ports.map_or_else(typed, |given| Ok(Some(given)))
}

fn from(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    changes: &PlanChanges,
) -> Result<LocalAddresses, PlanError> {
    if changes.from.count() > 0 {
        return Ok(changes.from.clone());
    }
    let mut all = LocalAddresses::default();
    for range in &section.from {
        all.add(&reader.value("from", range)?);
    }
    Ok(all)
}

fn study(reader: &Reader<'_>, section: &BakeoffSection) -> Result<Option<String>, PlanError> {
    let Some(name) = &section.study else { return Ok(None) };
    match bakeoff_plan::study::find(name) {
        Ok(Some(_)) => Ok(Some(name.clone())),
        Ok(None) => {
            Err(reader.wrong("study", format!("there is no study `{name}`; `bakeoff studies` lists them")))
        }
        Err(why) => Err(reader.wrong("study", why)),
    }
}

fn mode(reader: &Reader<'_>, section: &BakeoffSection) -> Result<Mode, PlanError> {
    match section.mode.as_deref() {
        None | Some("reverse") => Ok(Mode::Reverse),
        Some("forward") => Ok(Mode::Forward),
        Some(other) => Err(reader.wrong("mode", format!("`{other}`; write `reverse` or `forward`"))),
    }
}

fn disk(reader: &Reader<'_>, section: &BakeoffSection) -> Result<Option<u64>, PlanError> {
    match section.disk.as_deref() {
        None | Some("none") => Ok(None),
        Some(text) => Ok(Some(reader.value::<Bytes>("disk", text)?.get())),
    }
}

/// Durations at the scale, but those of outages, and stores in bytes. Transactions and bytes stay as they are. A
/// warm-up is not shortened below [`WARM`], as the origin's think time is not shortened either, and a phase that waits
/// for something outside not below [`PATIENCE`].
fn scaled(phases: &[PhaseFile], scale: TimeScale, store_bytes: u64) -> Vec<PhaseFile> {
    let mut phases = phases.to_vec();
    let last = phases.iter().rposition(PhaseFile::is_measured).unwrap_or(0);
    for (at, phase) in phases.iter_mut().enumerate() {
        if phase.outage {
            continue;
        }
        let warms = at < last && !phase.is_measured();
        let least = if warms { WARM } else { Nanos::ZERO };
        let shortened = |published: Nanos| scale.of(published).max(least.min(published));
        phase.goal.duration = phase.goal.duration.map(shortened);
        phase.goal.fill = phase.goal.fill.map(|fill| fill.of_store(Bytes::new(store_bytes)));
        if let Some(lock) = &mut phase.lock {
            lock.at_most = scale.of(lock.at_most).max(PATIENCE.min(lock.at_most));
        }
    }
    phases
}

/// The content for measuring, and the same kinds, but cachable and without think time. The origin knows both.
fn contents(reader: &Reader<'_>, content: &[TypedKind]) -> Result<[Model; 2], PlanError> {
    let of_content = |why: ModelError| reader.whole(why);
    let model = Model::new(content).map_err(of_content)?;
    let measured = model.kinds().len();
    let mut both = model.kinds().to_vec();
    for kind in model.kinds() {
        let mut kind = kind.clone();
        kind.name = format!("fill {}", kind.name);
        kind.cachable = 1.0;
        kind.think = Some(Distribution::nothing());
        kind.share = 0.0;
        if let Some(embeds) = &mut kind.embeds {
            embeds.kind += measured;
        }
        both.push(kind);
    }
    let mut quick = both.clone();
    for at in 0..measured {
        quick[at + measured].share = quick[at].share;
        quick[at].share = 0.0;
    }
    let [both, quick] = [both, quick].map(|kinds| Model::with(kinds).map_err(of_content));
    Ok([both?, quick?])
}

/// The fill's robots use connections as the measured ones do, so that a miss costs them the same.
fn filling(reader: &Reader<'_>, section: &FillSection, measured: &Spec) -> Result<Fill, PlanError> {
    let requests_per_connection = measured.requests_per_connection.clone();
    let robots = Spec { requests_per_connection, ..fillers(reader, section)? };
    Ok(Fill { robots, times: section.times.unwrap_or(2.0) })
}

/// Robots that ask as fast as replies come, until they are told to stop.
fn fillers(reader: &Reader<'_>, section: &FillSection) -> Result<Spec, PlanError> {
    let longest = section.longest.as_deref().unwrap_or("5min");
    // The phase reads it again; here an error names its key.
    reader.value::<Nanos>("longest", longest)?;
    let text = format!(
        "[robots]\nrobots = {}\n[[phase]]\nname = \"fill\"\nmeasured = false\nlock = {{ until = [\"told\"], at_most = \
         \"{longest}\" }}\n",
        section.robots
    );
    Spec::from_toml(&text).map_err(|why| reader.whole(why))
}

/// The origin's think time.
fn think(reader: &Reader<'_>, origin: &toml::Table) -> Result<Option<Distribution>, PlanError> {
    let Some(text) = origin.get("think").and_then(toml::Value::as_str) else { return Ok(None) };
    Distribution::parse_seconds(text).map(Some).map_err(|why| reader.wrong("think", why))
}
