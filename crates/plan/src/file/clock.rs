//! Clocks of `[workload]` and `[population.NAME]` as typed, which decide when requests are due.

use super::keys::{TableKeys, names_of};
use super::spanned::Spanned;
use crate::PlanError;
use crate::error::suggestion;
use schemars::JsonSchema;
use serde::Deserialize;

/// A clock by its word.
pub(super) type Clock = (&'static str, fn(&mut TableKeys<'_>) -> Result<ClockSection, PlanError>);

pub(super) const CLOSED: Clock = ("closed", |keys| Ok(ClockSection::Closed(keys.group()?)));
pub(super) const SHUFFLED: Clock =
    ("shuffled", |keys| Ok(ClockSection::Shuffled { robots: keys.group()?, walk: keys.group()? }));
pub(super) const CONSTANT: Clock = ("constant", |keys| Ok(ClockSection::Constant(keys.group()?)));
pub(super) const POISSON: Clock = ("poisson", |keys| Ok(ClockSection::Poisson(keys.group()?)));
pub(super) const BURSTS: Clock = ("bursts", |keys| Ok(ClockSection::Bursts(keys.group()?)));
pub(super) const ORIGINAL: Clock = ("original", |keys| Ok(ClockSection::Original(keys.group()?)));

/// Facts beside its kind on which a workload's clock depends.
pub(super) struct ClockReader<'k> {
    pub(super) kind: &'k Spanned<String>,
    /// A search for peaks sets the rates.
    pub(super) peak: bool,
}

/// When requests are due.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum ClockSection {
    /// Robots that ask again when they have their reply: the clock of `get` and `webstone`.
    Closed(RobotsSection),
    /// Robots that walk a log or a site, each in its own order: the clock of `replay` and `walk`.
    Shuffled {
        /// As in a closed loop.
        #[schemars(flatten)]
        robots: RobotsSection,
        /// How long the walk is.
        #[schemars(flatten)]
        walk: PassesSection,
    },
    /// Equal gaps.
    Constant(RateSection),
    /// Random gaps.
    Poisson(RateSection),
    /// Many at once, again and again.
    Bursts(BurstSection),
    /// replay: the log's own gaps.
    Original(OriginalSection),
    /// A search for peaks sets the rates.
    #[schemars(skip)]
    Searched(SearchedSection),
}

/// `clock = "closed"` and `clock = "shuffled"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RobotsSection {
    /// `closed`, which is the default of `get` and `webstone`, or `shuffled`, which is that of `replay` and `walk`.
    pub clock: Option<Spanned<String>>,
    /// Closed loop and shuffled: how many ask at the same time, or a factor of whole numbers, as in "{robots}". Default 15,
    /// webstone 32.
    pub robots: Option<Spanned<Whole>>,
    /// Closed loop: time between a reply and the robot's next request. Default none.
    pub think: Option<Spanned<String>>,
}

/// A whole number.
// The expected type is named as by the other keys of whole numbers, so that errors are in their words.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected usize")]
pub enum Whole {
    /// As it is.
    Number(usize),
    /// What a factor in braces became.
    Level(String),
}

/// `clock = "shuffled"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PassesSection {
    /// shuffled and walk: a slice is the whole log or site, walked so many times by every robot.
    pub passes: Option<Spanned<u32>>,
}

/// `clock = "constant"` and `clock = "poisson"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RateSection {
    /// `constant` or `poisson`.
    pub clock: Option<Spanned<String>>,
    /// constant and poisson: such as "1000/s".
    pub rate: Option<Spanned<String>>,
    /// Open loop: most connections. Default 1000.
    pub connections: Option<Spanned<usize>>,
}

/// `clock = "bursts"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BurstSection {
    /// `bursts`.
    pub clock: Option<Spanned<String>>,
    /// bursts: requests that are due at the same moment, such as "64" or "50-80".
    pub burst: Option<Spanned<String>>,
    /// bursts: time from the beginning of one to the next, such as "500ms".
    pub every: Option<Spanned<String>>,
    /// Open loop: most connections. Default 1000.
    pub connections: Option<Spanned<usize>>,
}

/// `clock = "original"`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OriginalSection {
    /// `original`.
    pub clock: Option<Spanned<String>>,
    /// original: how many times as fast as the log. Default 1.
    pub speed: Option<Spanned<f64>>,
    /// Open loop: most connections. Default 1000.
    pub connections: Option<Spanned<usize>>,
}

/// The clock of a search for peaks: the gaps, and no rate.
#[derive(Debug, Deserialize)]
pub struct SearchedSection {
    /// `poisson` (default) or `constant`.
    pub clock: Option<Spanned<String>>,
    /// Most connections. Default 1000.
    pub connections: Option<Spanned<usize>>,
}

impl ClockSection {
    /// Keys of some clock.
    pub(super) fn names() -> Vec<&'static str> {
        let robots = [names_of::<RobotsSection>(), names_of::<PassesSection>()];
        let open = [names_of::<RateSection>(), names_of::<BurstSection>(), names_of::<OriginalSection>()];
        [robots.as_slice(), open.as_slice()].concat().concat()
    }

    pub(super) fn read(
        keys: &mut TableKeys<'_>,
        kind: &Spanned<String>,
        clocks: &[Clock],
    ) -> Result<Self, PlanError> {
        let typed = keys.word("clock")?;
        let word = typed.as_ref().map_or(clocks[0].0, |typed| typed.as_ref());
        let Some((_, read)) = clocks.iter().find(|(name, _)| *name == word) else {
            let known: Vec<&str> = clocks.iter().map(|(name, _)| *name).collect();
            let what = format!("a `{}` workload has no clock `{word}`", kind.as_ref());
            let span = typed.as_ref().map_or_else(|| kind.span(), Spanned::span);
            return Err(keys.wrong(span, &what, &suggestion(word, &known)));
        };
        let clock = read(keys)?;
        if let Some((key, span)) = keys.first_of(&ClockSection::names()) {
            let what = format!("`{key}` has no meaning with the clock `{word}`");
            return Err(keys.wrong(span, &what, "take the line out, or choose another clock"));
        }
        Ok(clock)
    }

    /// Open loop: most connections.
    pub(crate) const fn connections(&self) -> Option<&Spanned<usize>> {
        match self {
            Self::Closed(_) | Self::Shuffled { .. } => None,
            Self::Constant(c) | Self::Poisson(c) => c.connections.as_ref(),
            Self::Bursts(c) => c.connections.as_ref(),
            Self::Original(c) => c.connections.as_ref(),
            Self::Searched(c) => c.connections.as_ref(),
        }
    }

    pub(super) fn searched(keys: &mut TableKeys<'_>) -> Result<Self, PlanError> {
        let clock = Self::Searched(keys.group()?);
        if let Some((key, span)) = keys.first_of(&ClockSection::names()) {
            let help = "take the line out: the search chooses the rates; `max_rate` in [peak] bounds them";
            return Err(keys.wrong(span, &format!("`{key}` has no meaning for a peak"), help));
        }
        Ok(clock)
    }
}
