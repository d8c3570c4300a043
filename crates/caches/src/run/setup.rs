//! Set-up of a bake-off, fixed before the first request: the machine, the cores, the connections.
//!
//! Measuring side, cold, the bakeoff process: pins it to its cores and raises its limit of descriptors.

use super::error::CachesError;
use super::{ports, steps};
use crate::plan::{CachePlan, RateSchedule};
use crate::records::BakeoffSetup;
use crate::results::FORMAT;
use bakeoff_experiment::environment::{self, Need, Placement};
use bakeoff_loadgen::Pace;
use bakeoff_results::Fact;
use bakeoff_units::PerSecond;

/// Default of the most connections.
const CONNECTIONS: usize = 20_000;
/// Descriptors other than the robots' connections.
const OTHERS: usize = 256;

/// The recorded set-up, the cores, and the most connections. `loopback`: whether all servers are on this machine.
///
/// # Errors
/// The machine lacks something that the plan needs.
pub(crate) fn setup(
    plan: &CachePlan,
    flags: &[String],
    loopback: bool,
) -> Result<(BakeoffSetup, Placement, usize), CachesError> {
    let allowed = bakeoff_sys::affinity::allowed().map_err(CachesError::System)?;
    let placement = environment::placement(None, None, &allowed, &environment::siblings(), 0)?;
    let (mut facts, seen) = environment::examine();
    let driver = bakeoff_loadgen::DRIVER.to_owned();
    facts.push(Fact { name: "generator_driver".to_owned(), value: driver.clone() });
    let connections = connections(plan)?;
    ports::ensure(plan, connections)?;
    facts.extend(ports::facts(plan));
    let seen = ports::seen(plan, seen);
    let connection_rate = ports::closed_a_second(plan);
    let need = Need { connections: connections as u64, connection_rate, loopback };
    let found = environment::warnings(&seen, &placement, &need);
    let warnings: Vec<String> = found.into_iter().map(|warning| warning.sentence).collect();
    let setup = BakeoffSetup {
        format: FORMAT,
        name: plan.name.clone(),
        started: jiff::Timestamp::now().to_string(),
        bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
        flags: flags.to_vec(),
        part: None,
        scale: plan.scale.to_string(),
        rate_per_s: plan.rate_changed.map(PerSecond::get),
        facts,
        warnings,
        generator_cores: placement.generator.clone(),
        subject_cores: placement.subject.clone(),
        driver,
        entrants: Vec::new(),
        turns: Vec::new(),
    };
    Ok((setup, placement, connections))
}

/// The plan's number, or the number that the limit on descriptors leaves; the limit is raised if possible.
fn connections(plan: &CachePlan) -> Result<usize, CachesError> {
    let wanted = plan.connections.unwrap_or(CONNECTIONS).min(most_used(plan));
    match environment::ensure_descriptors(wanted as u64) {
        Ok(_) => Ok(wanted),
        Err(error) if plan.connections.is_some() => Err(error.into()),
        Err(_) => {
            let limit = bakeoff_sys::rlimit::open_files().map_err(CachesError::System)?;
            let left = (limit.hard as usize).saturating_sub(OTHERS);
            environment::ensure_descriptors(left as u64)?;
            Ok(left)
        }
    }
}

/// Most connections of any robots of the plan: of those that are measured, of those that fill, and of those that
/// measure the path.
fn most_used(plan: &CachePlan) -> usize {
    let robots = match plan.schedule {
        RateSchedule::BestEffort => Some(plan.robots_at(None::<PerSecond>)),
        RateSchedule::Single(_) | RateSchedule::Shares { .. } => {
            plan.schedule.known_highest().map(|rate| plan.robots_at(rate))
        }
    };
    let measured = match robots.map(|robots| robots.pace()) {
        Some(Pace::Sourced { connections }) => connections,
        Some(Pace::Pooled(pools)) => pools.robots.saturating_mul(pools.each.max(1)),
        Some(Pace::Closed { .. } | Pace::Open { .. }) | None => CONNECTIONS,
    };
    let filling = plan.fill.as_ref().map_or(0, |fill| fill.robots.robots.get() as usize);
    measured.max(filling).max(steps::CROWD)
}
