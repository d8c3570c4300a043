//! Order of turns: passes, the random draw, and the second start of the baseline.
//!
//! Measuring side, cold, pure. Owns the order and nothing of what happens in a turn. Runs of one entrant after runs of
//! another compare two stretches of time, so the order is drawn anew for every pass, and the first entrant takes part
//! twice: differences between these two are noise.

use super::{CachePlan, Entrant, RateSchedule};
use bakeoff_content::SplitMix64;
use serde::{Deserialize, Serialize};

/// Separates this draw from others of a plan's seed: "order".
const ORDER: u64 = 0x006f_7264_6572;

/// Most passes.
pub(super) const MOST_PASSES: u32 = 99;

/// Order of the entrants' turns, and of each one's rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnOrder {
    /// Drawn from the seed, anew for every pass; the rates anew for every turn.
    Random,
    /// As in the plan.
    Plan,
}

/// The work with one entrant in one pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrantTurn {
    /// Number of the pass, from 1.
    pub pass: u32,
    /// The entrant.
    pub entrant: String,
    /// Its rates, by their index in the plan from 1, in the order in which they are run.
    pub rates: Vec<u32>,
}

impl CachePlan {
    /// The entrants, the first a second time behind itself if it runs twice.
    pub fn taking_part(&self) -> Vec<Entrant> {
        let second = self.entrants.first().filter(|_| self.baseline_twice).map(Entrant::second);
        let mut all = self.entrants.clone();
        all.splice(1.min(all.len())..1.min(all.len()), second);
        all
    }

    /// All turns, in the order in which they are run: the same at each call.
    pub fn turns(&self) -> Vec<EntrantTurn> {
        let all = self.taking_part();
        (1..=self.passes).flat_map(|pass| self.turns_of(pass, &all)).collect()
    }

    fn turns_of(&self, pass: u32, all: &[Entrant]) -> Vec<EntrantTurn> {
        let mut order: Vec<usize> = (0..all.len()).collect();
        self.draw(&mut order, u64::from(pass));
        let turn = |at: usize| {
            let mut rates: Vec<u32> = (1..=self.rates()).collect();
            self.draw(&mut rates, u64::from(pass) | (at as u64 + 1) << 32);
            EntrantTurn { pass, entrant: all[at].name.clone(), rates }
        };
        order.into_iter().map(turn).collect()
    }

    fn draw<T>(&self, items: &mut [T], purpose: u64) {
        match self.order {
            TurnOrder::Random => SplitMix64::for_purpose(self.seed ^ ORDER, purpose).shuffle(items),
            TurnOrder::Plan => (),
        }
    }

    /// Number of an entrant's rates in a pass; without a rate there is one run all the same.
    fn rates(&self) -> u32 {
        match &self.schedule {
            RateSchedule::Single(_) | RateSchedule::BestEffort => 1,
            RateSchedule::Shares { shares, .. } => u32::try_from(shares.len()).unwrap_or(u32::MAX),
        }
    }

    /// The order in words, for previews of a plan; none if there is a single run.
    pub(super) fn order_in_words(&self) -> Option<String> {
        let twice = self.baseline_twice.then(|| self.entrants.first()).flatten();
        let order = match self.order {
            TurnOrder::Random => "drawn anew for each pass",
            TurnOrder::Plan => "that of the plan",
        };
        let passes = if self.passes == 1 { "one pass".to_owned() } else { format!("{} passes", self.passes) };
        let said = twice.map_or_else(String::new, |entrant| format!(", {entrant} twice in each"));
        (twice.is_some() || self.passes > 1 || self.order == TurnOrder::Random)
            .then(|| format!("{passes}{said}; the order is {order}"))
    }
}
