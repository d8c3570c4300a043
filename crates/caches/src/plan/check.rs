//! From what was typed to what will be done.

use super::file::{BakeoffSection, FillSection, PopulationSection};
use super::{CachePlan, Changes, Course, Entrant, Fill, Growth, Peak, PlanError};
use crate::scale::Scale;
use bakeoff_content::Distribution;
use bakeoff_content::world::{Model, TypedKind};
use bakeoff_loadgen::{LocalAddresses, LocalPorts};
use bakeoff_robots::{PhaseFile, RobotsFile, Spec};
use bakeoff_subject::ProxyMode as Mode;
use bakeoff_units::{Bytes, Nanos, PerSecond, Ratio};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::str::FromStr;

/// No warm-up is shorter, unless it is published so.
const WARM: Nanos = Nanos::from_secs(10);
/// No phase that waits for a store or a working set gives up sooner, unless it is published so.
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

/// What the origin reads.
#[derive(Serialize)]
struct WorldFile<'a> {
    origin: &'a toml::Table,
    content: &'a [TypedKind],
}

/// Reads values and says whose they are.
pub(super) struct Reader<'a> {
    origin: &'a str,
}

impl Reader<'_> {
    pub(super) fn wrong(&self, key: &'static str, why: impl Display) -> PlanError {
        PlanError::Value { origin: self.origin.to_owned(), key, why: why.to_string() }
    }

    pub(super) fn value<T: FromStr<Err: Display>>(
        &self,
        key: &'static str,
        text: &str,
    ) -> Result<T, PlanError> {
        text.parse().map_err(|why| self.wrong(key, why))
    }

    fn or<T: FromStr<Err: Display>>(
        &self,
        key: &'static str,
        text: Option<&String>,
        default: T,
    ) -> Result<T, PlanError> {
        text.map_or(Ok(default), |text| self.value(key, text))
    }
}

pub(super) fn check(name: &str, origin: &str, text: &str, changes: &Changes) -> Result<CachePlan, PlanError> {
    let file: PlanFile = toml::from_str(text)
        .map_err(|why| PlanError::Toml { origin: origin.to_owned(), why: why.to_string() })?;
    let reader = Reader { origin };
    let section = &file.bakeoff;
    let scale = match changes.scale {
        Some(scale) => scale,
        None => reader.or("scale", section.scale.as_ref(), Scale::FULL)?,
    };
    let course = course(&reader, section, scale, changes.rate)?;
    let memory_bytes = reader.or("memory", section.memory.as_ref(), Bytes::new(64 << 20))?.get();
    let disk_bytes = disk(&reader, section)?;
    let phases = scaled(&file.phase, scale, memory_bytes + disk_bytes.unwrap_or(0));
    demand_length(origin, &file.phase, scale, &course)?;
    let growth = file.population.as_ref().map(|section| Growth::of(&reader, section, scale)).transpose()?;
    let of_robots = |why| PlanError::Robots { origin: origin.to_owned(), why };
    let typed = growth.map_or(Ok(file.robots.clone()), |growth| growth.put_in(&reader, &file.robots))?;
    let robots = Spec::new(&typed, &phases).map_err(of_robots)?;
    let (model, quick) = contents(&reader, &file.content)?;
    let fill = file.fill.as_ref().map(|section| filling(&reader, section)).transpose()?;
    let world = WorldFile { origin: &file.origin, content: &model.typed() };
    let world = toml::to_string(&world).map_err(|why| reader.wrong("origin", why))?;
    Ok(CachePlan {
        name: name.to_owned(),
        text: text.to_owned(),
        title: section.title.clone(),
        entrants: entrants(&reader, section, changes)?,
        mode: mode(&reader, section)?,
        memory_bytes,
        disk_bytes,
        scale,
        course,
        hit_ratio: reader.value("hit_ratio", &section.hit_ratio)?,
        mean_bound: reader.or("mean_bound", section.mean_bound.as_ref(), Nanos::from_secs(3))?,
        connections: section.connections,
        ports: ports(&reader, section, changes)?,
        from: from(&reader, section, changes)?,
        timeout: reader.or("timeout", section.timeout.as_ref(), Nanos::from_secs(60))?,
        seed: section.seed.unwrap_or(1),
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
        think_mean: think_mean(&reader, &file.origin)?,
    })
}

fn entrants(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    changes: &Changes,
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

fn ports(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    changes: &Changes,
) -> Result<Option<LocalPorts>, PlanError> {
    let typed = || section.ports.as_deref().map(|text| reader.value("ports", text)).transpose();
    changes.ports.map_or_else(typed, |given| Ok(Some(given)))
}

fn from(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    changes: &Changes,
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
    match bakeoff_experiment::study::find(name) {
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

/// Which rates: one, or shares of a peak.
fn course(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    scale: Scale,
    rate: Option<PerSecond>,
) -> Result<Course, PlanError> {
    if let Some(rate) = rate {
        return Ok(match &section.rates {
            Some(shares) => {
                let (shares, idle) = (shares_of(reader, shares)?, idle(reader, section, scale)?);
                Course::Shares { shares, peak: Peak::Given(rate), idle }
            }
            None => Course::Single(rate),
        });
    }
    match (&section.rate, &section.rates) {
        (Some(rate), None) => Ok(Course::Single(reader.value("rate", rate)?)),
        (None, Some(shares)) => {
            let peak = match &section.peak {
                Some(peak) => Peak::Given(reader.value("peak", peak)?),
                None => Peak::Searched {
                    first: match &section.first_trial {
                        Some(rate) => reader.value("first_trial", rate)?,
                        None => reader.value("first_trial", "100/s")?,
                    },
                    trials: section.trials.unwrap_or(8).max(1),
                },
            };
            let (shares, idle) = (shares_of(reader, shares)?, idle(reader, section, scale)?);
            Ok(Course::Shares { shares, peak, idle })
        }
        _ => Err(reader.wrong("rate", "give either `rate`, for one run, or `rates`, as shares of the peak")),
    }
}

fn shares_of(reader: &Reader<'_>, shares: &[String]) -> Result<Vec<Ratio>, PlanError> {
    let shares: Vec<Ratio> =
        shares.iter().map(|share| reader.value("rates", share)).collect::<Result<_, _>>()?;
    if shares.is_empty() || shares.iter().any(|share| share.get() <= 0.0) {
        return Err(reader.wrong("rates", "each is a share of the peak above 0 %, such as \"80%\""));
    }
    Ok(shares)
}

fn idle(reader: &Reader<'_>, section: &BakeoffSection, scale: Scale) -> Result<Nanos, PlanError> {
    Ok(scale.of(reader.or("idle", section.idle.as_ref(), Nanos::from_secs(600))?))
}

/// Durations at the scale, and stores in bytes. Transactions and bytes stay as they are; a warm-up is not shortened
/// below [`WARM`], as the origin's think time is not shortened either, and what waits for something outside not
/// below [`PATIENCE`].
fn scaled(phases: &[PhaseFile], scale: Scale, store_bytes: u64) -> Vec<PhaseFile> {
    let mut phases = phases.to_vec();
    let last = phases.iter().rposition(is_measured).unwrap_or(0);
    for (at, phase) in phases.iter_mut().enumerate() {
        let warms = at < last && !is_measured(phase);
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

fn is_measured(phase: &PhaseFile) -> bool {
    phase.measured.unwrap_or(true)
}

/// Measured phases are long enough at every rate that is known beforehand.
fn demand_length(origin: &str, phases: &[PhaseFile], scale: Scale, course: &Course) -> Result<(), PlanError> {
    let lowest = match course {
        Course::Single(rate) => Some(*rate),
        Course::Shares { peak: Peak::Given(peak), .. } => course.lowest(*peak),
        // Looked at when the peak is known.
        Course::Shares { peak: Peak::Searched { .. }, .. } => None,
    };
    // Without a rate the time alone is looked at.
    let rate = lowest.or(PerSecond::new(1e9));
    let too_short = |phase: &PhaseFile| scale.holds(&phase.name, phase.goal.duration?, rate?).err();
    // The one that needs most: what is advised for it does for all.
    let worst = phases.iter().filter(|phase| is_measured(phase)).filter_map(too_short);
    match worst.max_by(|a, b| a.needs().total_cmp(&b.needs())) {
        Some(why) => Err(PlanError::TooShort { origin: origin.to_owned(), why }),
        None => Ok(()),
    }
}

/// What is asked for when it is measured, and the same kinds, but cachable and without think time. The origin knows
/// both.
fn contents(reader: &Reader<'_>, content: &[TypedKind]) -> Result<(Model, Model), PlanError> {
    let of_content = |why| PlanError::Content { origin: reader.origin.to_owned(), why };
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
    Ok((both?, quick?))
}

fn filling(reader: &Reader<'_>, section: &FillSection) -> Result<Fill, PlanError> {
    Ok(Fill { robots: fillers(reader, section)?, times: section.times.unwrap_or(2.0) })
}

/// Robots that ask as fast as replies come, until they are told that it is enough.
fn fillers(reader: &Reader<'_>, section: &FillSection) -> Result<Spec, PlanError> {
    let longest = section.longest.as_deref().unwrap_or("5min");
    // The phase reads it again; here it is said with its key.
    reader.value::<Nanos>("longest", longest)?;
    let text = format!(
        "[robots]\nrobots = {}\n[[phase]]\nname = \"fill\"\nmeasured = false\nlock = {{ until = [\"told\"], at_most = \
         \"{longest}\" }}\n",
        section.robots
    );
    Spec::from_toml(&text).map_err(|why| PlanError::Robots { origin: reader.origin.to_owned(), why })
}

fn think_mean(reader: &Reader<'_>, origin: &toml::Table) -> Result<Nanos, PlanError> {
    let Some(text) = origin.get("think").and_then(toml::Value::as_str) else { return Ok(Nanos::ZERO) };
    let think = Distribution::parse_seconds(text)
        .map_err(|why| PlanError::Think { origin: reader.origin.to_owned(), why })?;
    Ok(Nanos::from_secs_f64(think.mean()))
}
