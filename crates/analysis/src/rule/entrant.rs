//! Rules about entrants of bake-offs: `faults > 0`, `squid: verdict = cheat`.
//!
//! Cold, pure. Counts have no interval: a rule holds or is broken.

use super::{Rule, RuleError, Ruled, Ruling, Test};
use bakeoff_results::entrant::{EntrantFigures, EntrantVerdict};

impl Rule {
    /// Whether it is about entrants of a bake-off.
    pub(super) fn is_of_entrants(&self) -> bool {
        matches!(self.test, Test::Entrant { .. } | Test::Faults { .. })
    }

    /// Checks that the rule has an entrant to judge, and something that entrants have.
    ///
    /// # Errors
    /// It has none; with the near miss.
    pub fn fits_entrants(&self, names: &[&str]) -> Result<(), RuleError> {
        if !self.is_of_entrants() {
            let whom = "experiments; of a bake-off of caches write `faults > 0` or `verdict = cheat`";
            return Err(RuleError::only_for(&self.text, whom));
        }
        match &self.arm {
            Some(arm) if !names.contains(&arm.as_str()) => Err(RuleError::no_entrant(&self.text, arm, names)),
            _ => Ok(()),
        }
    }

    /// Judges every entrant that the rule is about.
    pub fn judge_entrants(&self, entrants: &[EntrantFigures]) -> Ruling {
        let meant = entrants.iter().filter(|entrant| self.is_meant(&entrant.name));
        let judged: Vec<_> =
            meant.map(|entrant| (entrant.name.as_str(), self.judge_entrant(entrant))).collect();
        self.ruling(&judged, "no such entrant was measured")
    }

    fn judge_entrant(&self, entrant: &EntrantFigures) -> (Ruled, String) {
        let broken = |is_broken: bool| if is_broken { Ruled::Broken } else { Ruled::Held };
        match self.test {
            // Without a whole result, that it has not cheated is not known.
            Test::Entrant { equal: true, verdict }
                if entrant.verdict == EntrantVerdict::NotFinished && verdict != entrant.verdict =>
            {
                (Ruled::NotJudged, entrant.sentence.clone())
            }
            Test::Entrant { equal, verdict } => {
                (broken((entrant.verdict == verdict) == equal), entrant.sentence.clone())
            }
            Test::Faults { order, bound } if order.holds(entrant.faults as f64, bound) => {
                (Ruled::Broken, format!("has {}", entrant.faults))
            }
            // Nor that it has no more.
            Test::Faults { .. } if entrant.verdict == EntrantVerdict::NotFinished => {
                (Ruled::NotJudged, entrant.sentence.clone())
            }
            Test::Faults { .. } => (Ruled::Held, format!("has {}", entrant.faults)),
            Test::Figure { .. } | Test::Verdict { .. } => {
                (Ruled::NotJudged, "is an entrant of a bake-off, which has no such figure".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(name: &str, verdict: EntrantVerdict, faults: u64) -> EntrantFigures {
        EntrantFigures { name: name.to_owned(), verdict, faults, sentence: "said".to_owned() }
    }

    fn ruled(rule: &str, entrants: &[EntrantFigures]) -> Ruled {
        rule.parse::<Rule>().unwrap().judge_entrants(entrants).ruled
    }

    #[test]
    fn faults_and_verdicts_of_entrants_break_rules_and_those_of_others_do_not() {
        let all = [entrant("squid", EntrantVerdict::Passes, 0), entrant("nginx", EntrantVerdict::Leak, 3)];
        for (rule, expected) in [
            ("faults > 0", Ruled::Broken),
            ("squid: faults > 0", Ruled::Held),
            ("nginx: faults > 3", Ruled::Held),
            ("verdict = leak", Ruled::Broken),
            ("squid: verdict = leak", Ruled::Held),
            ("squid: verdict != passes", Ruled::Held),
            ("verdict != passes", Ruled::Broken),
            ("verdict = cheat", Ruled::Held),
            ("apache: faults > 0", Ruled::NotJudged),
        ] {
            assert_eq!(ruled(rule, &all), expected, "{rule}");
        }
        for (rule, faults, expected) in [
            ("verdict = cheat", 0, Ruled::NotJudged),
            ("faults > 0", 0, Ruled::NotJudged),
            ("faults > 0", 1, Ruled::Broken),
        ] {
            let unfinished = [entrant("a", EntrantVerdict::NotFinished, faults)];
            assert_eq!(ruled(rule, &unfinished), expected, "{rule}");
        }
        assert_eq!(
            ruled("verdict = not-finished", &[entrant("a", EntrantVerdict::NotFinished, 0)]),
            Ruled::Broken
        );
    }

    #[test]
    fn a_rule_fits_a_bake_off_or_an_experiment_and_says_which() {
        let fits = |rule: &str| rule.parse::<Rule>().unwrap().fits_entrants(&["squid", "nginx"]);
        assert!(fits("faults > 0").is_ok() && fits("squid: verdict = cheat").is_ok());
        let said = |rule: &str| fits(rule).unwrap_err().to_string();
        assert!(said("cost > 2%").contains("`faults > 0`"), "{}", said("cost > 2%"));
        assert!(said("squit: faults > 0").contains("squid"), "{}", said("squit: faults > 0"));
        let experiment = "faults > 0".parse::<Rule>().unwrap().fits(&["a"], &["b"]).unwrap_err();
        assert!(experiment.to_string().contains("bake-offs"), "{experiment}");
        assert!("faults > many".parse::<Rule>().is_err() && "verdict = cheats".parse::<Rule>().is_err());
    }
}
