//! Length of measured phases, which must be long enough for meaningful figures.
//!
//! Measuring side, cold, pure. A phase's duration and number of replies follow from its time, its rate and its factors.
//! If bytes end it, the number of replies that bring them counts. The time that this takes is not known beforehand: the
//! report gives it.

use crate::scale::{TimeScale, TooShort};
use bakeoff_content::world::Model;
use bakeoff_robots::PhaseFile;
use bakeoff_robots::phases::{FillGoal, planned_loads};
use bakeoff_units::PerSecond;

/// The phases of a plan, with their load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length<'p> {
    /// Before the scale.
    pub(crate) published: &'p [PhaseFile],
    /// At the scale, with fills in bytes.
    pub(crate) scaled: &'p [PhaseFile],
    pub(crate) scale: TimeScale,
    pub(crate) model: &'p Model,
}

impl Length<'_> {
    /// Checks that measured phases are long enough at this rate; without one, the time and the bytes alone are checked.
    ///
    /// # Errors
    /// The phase that needs most: the advice for it suffices for all.
    pub(crate) fn demand(&self, rate: Option<PerSecond>) -> Result<(), TooShort> {
        // With an outage moments are measured, not means: each request counts by itself.
        if self.published.iter().any(|phase| phase.outage) {
            return Ok(());
        }
        let loads = planned_loads(self.published);
        let by_time =
            self.published.iter().zip(loads).filter_map(|(phase, load)| self.by_time(phase, rate, load));
        let worst = by_time.chain(self.scaled.iter().filter_map(|phase| self.by_bytes(phase)));
        worst.max_by(|a, b| a.needs().total_cmp(&b.needs())).map_or(Ok(()), Err)
    }

    fn by_time(&self, phase: &PhaseFile, rate: Option<PerSecond>, load: f64) -> Option<TooShort> {
        let duration = phase.goal.duration.filter(|_| phase.is_measured())?;
        let rate = match rate {
            Some(rate) => PerSecond::new(rate.get() * load)?,
            None => PerSecond::new(1e9)?,
        };
        self.scale.holds(&phase.name, duration, rate).err()
    }

    fn by_bytes(&self, phase: &PhaseFile) -> Option<TooShort> {
        let Some(FillGoal::Bytes(fill)) = phase.goal.fill.filter(|_| phase.is_measured()) else {
            return None;
        };
        TooShort::of_fill(&phase.name, fill, mean_bytes(self.model))
    }
}

/// Mean size of a reply, pages with all that they embed.
fn mean_bytes(model: &Model) -> f64 {
    let kinds = model.kinds();
    let (mut objects, mut bytes) = (0.0, 0.0);
    for kind in kinds {
        objects += kind.share;
        bytes += kind.share * kind.size.mean();
        if let Some(embeds) = &kind.embeds {
            let embedded = kind.share * embeds.count.mean();
            objects += embedded;
            bytes += embedded * kinds.get(embeds.kind).map_or(0.0, |kind| kind.size.mean());
        }
    }
    bytes / objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_with_what_it_embeds() {
        let text = "[[content]]\nname = 'image'\nsize = 'const:1KB'\nshare = '0%'\n\
                    [[content]]\nname = 'page'\nsize = 'const:6KB'\nembeds = { kind = 'image', count = 'const:4' }";
        assert_eq!(mean_bytes(&Model::from_toml(text).unwrap()), 2.0 * 1024.0);
    }
}
