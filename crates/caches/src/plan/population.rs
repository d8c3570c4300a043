//! `[population]`: numbers of robots and servers that follow from a run's rate, as in PolyMix-2 to 4.
//!
//! Measuring side, cold, pure.

use super::PlanError;
use super::file::PopulationSection;
use super::reader::Reader;
use crate::scale::TimeScale;
use bakeoff_robots::spec::WorkingSetFile;
use bakeoff_robots::working_set::GrowthLimit;
use bakeoff_robots::{RobotsFile, Spec};
use bakeoff_units::{Nanos, PerSecond, Ratio};
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

/// Growth of robots and of their content with the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Rate of a robot.
    per_robot: PerSecond,
    /// Servers at zero robots.
    servers: u16,
    /// One more server for this many robots.
    robots_per_server: Option<NonZeroU32>,
    /// The working set freezes when as many objects were fetched as this share of the requests that the rate
    /// makes in this time.
    working_set: Option<(Ratio, Nanos)>,
}

impl Growth {
    pub(super) fn of(
        reader: &Reader<'_>,
        section: &PopulationSection,
        scale: TimeScale,
    ) -> Result<Self, PlanError> {
        let working_set = match (&section.working_set, &section.working_set_of) {
            (None, None) => None,
            (Some(share), Some(time)) => {
                let time: Nanos = reader.value("working_set_of", time)?;
                Some((reader.value("working_set", share)?, scale.of(time)))
            }
            _ => {
                let why = "it is a share of the requests of a time; give both or neither";
                return Err(reader.wrong("working_set and working_set_of", why));
            }
        };
        Ok(Self {
            per_robot: reader.value("rate_per_robot", &section.rate_per_robot)?,
            servers: section.servers.unwrap_or(1),
            robots_per_server: section.robots_per_server,
            working_set,
        })
    }

    /// Refuses values in `[robots]` that follow from the rate, and puts the calculated ones in. A working set that
    /// follows from no rate may be given there.
    pub(super) fn put_in(&self, reader: &Reader<'_>, robots: &RobotsFile) -> Result<RobotsFile, PlanError> {
        let said = [
            ("robots", robots.robots.is_some()),
            ("servers", robots.servers.is_some()),
            ("working_set", self.working_set.is_some() && robots.working_set.is_some()),
        ];
        if let Some((key, _)) = said.into_iter().find(|(_, is_there)| *is_there) {
            return Err(reader.wrong(key, "[population] says it, from the rate; take it out of [robots]"));
        }
        let working_set = match self.working_set {
            // Any number: the rate's replaces it.
            Some(_) => Some(WorkingSetFile { objects: Some(NonZeroU64::MIN), ..WorkingSetFile::default() }),
            None => robots.working_set,
        };
        Ok(RobotsFile { working_set, ..robots.clone() })
    }

    /// Whether the working set follows from the rate and the time.
    pub(super) const fn sets_working_set(&self) -> bool {
        self.working_set.is_some()
    }

    /// The robots that ask at this rate.
    pub(super) fn at(&self, spec: &Spec, rate: PerSecond) -> Spec {
        let robots = (rate.get() / self.per_robot.get()).ceil().max(1.0) as u32;
        let more = self.robots_per_server.map_or(0, |each| robots / each);
        let servers = u32::from(self.servers).saturating_add(more).clamp(1, u32::from(u16::MAX)) as u16;
        let mut spec = Spec { rate: Some(rate), ..spec.clone() };
        spec.robots = NonZeroU32::new(robots).unwrap_or(NonZeroU32::MIN);
        spec.servers = NonZeroU16::new(servers).unwrap_or(NonZeroU16::MIN);
        if let Some((share, time)) = self.working_set {
            let objects = rate.get() * time.as_secs_f64() * share.get();
            spec.working_set = GrowthLimit::Objects((objects.round() as u64).max(1));
        }
        spec
    }
}
