//! Strata: each arm is compared within its stratum, with the stratum's own baseline.
//!
//! Measuring side, cold. A plan without strata is one stratum. Owns the naming of a baseline's second process,
//! `plain'`.

use super::Setup;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arms that are compared with one baseline, because everything else about them is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StratumSetup {
    /// The levels that they have in common, such as `apache, https`.
    pub name: String,
    /// The baseline.
    pub baseline: String,
    /// All of them in plan order, the baseline and its second process (`plain'`) included.
    pub arms: Vec<String>,
}

/// The second process of a baseline.
pub fn second(baseline: &str) -> String {
    format!("{baseline}'")
}

impl Setup {
    /// Every baseline, in plan order.
    pub fn baselines(&self) -> impl Iterator<Item = &str> {
        let one = self.strata.is_empty().then_some(self.baseline.as_str());
        one.into_iter().chain(self.strata.iter().map(|stratum| stratum.baseline.as_str()))
    }

    /// The arm that an arm is compared with; for a baseline's two processes the first of them.
    pub fn baseline_of(&self, arm: &str) -> &str {
        let stratum = self.strata.iter().find(|stratum| stratum.arms.iter().any(|other| other == arm));
        stratum.map_or(&self.baseline, |stratum| &stratum.baseline)
    }

    /// Whether other arms are compared with it.
    pub fn is_baseline(&self, arm: &str) -> bool {
        self.baseline_of(arm) == arm
    }

    /// Whether it is the second process of its stratum's baseline.
    pub fn is_second(&self, arm: &str) -> bool {
        arm.strip_suffix('\'').is_some_and(|first| first == self.baseline_of(arm))
    }

    /// The arms that get a verdict: all but the two processes of a baseline.
    pub fn judged(&self) -> impl Iterator<Item = &str> {
        self.arms.iter().map(String::as_str).filter(|arm| !self.is_baseline(arm) && !self.is_second(arm))
    }

    /// The second processes of all baselines.
    pub fn seconds(&self) -> impl Iterator<Item = &str> {
        self.arms.iter().map(String::as_str).filter(|arm| self.is_second(arm))
    }

    /// The arms that can be told from one another: each baseline, then the arms compared with it.
    pub fn stratum_arms(&self) -> Vec<Vec<&str>> {
        let of = |baseline| {
            let judged = self.judged().filter(move |arm| self.baseline_of(arm) == baseline);
            std::iter::once(baseline).chain(judged).collect()
        };
        self.baselines().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(strata: Vec<StratumSetup>) -> Setup {
        let arms = ["a.plain", "a.plain'", "a.on", "b.plain", "b.plain'", "b.on"];
        Setup {
            arms: arms.map(str::to_owned).to_vec(),
            baseline: "a.plain".to_owned(),
            strata,
            ..Setup::default()
        }
    }

    fn stratum(name: &str) -> StratumSetup {
        let arms = ["plain", "plain'", "on"].map(|arm| format!("{name}.{arm}")).to_vec();
        StratumSetup { name: name.to_owned(), baseline: arms[0].clone(), arms }
    }

    #[test]
    fn without_strata_there_is_one_baseline() {
        let setup = setup(Vec::new());
        assert_eq!(setup.judged().collect::<Vec<_>>(), ["a.on", "b.plain", "b.plain'", "b.on"]);
        assert_eq!(setup.seconds().collect::<Vec<_>>(), ["a.plain'"]);
        assert_eq!(setup.baseline_of("b.on"), "a.plain");
        assert_eq!(setup.baselines().collect::<Vec<_>>(), ["a.plain"]);
    }

    #[test]
    fn each_stratum_has_its_own() {
        let setup = setup(vec![stratum("a"), stratum("b")]);
        assert_eq!(setup.judged().collect::<Vec<_>>(), ["a.on", "b.on"]);
        assert_eq!(setup.seconds().collect::<Vec<_>>(), ["a.plain'", "b.plain'"]);
        assert_eq!(setup.baseline_of("b.on"), "b.plain");
        assert_eq!(setup.baseline_of("b.plain'"), "b.plain");
        assert_eq!(setup.stratum_arms(), [["a.plain", "a.on"], ["b.plain", "b.on"]]);
    }
}
