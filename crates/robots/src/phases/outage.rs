//! Checks of outage phases, in which the cache is away: their keys, and their place among the others.
//!
//! Cold. Robots go on asking in such a phase; killing and restarting the cache is done elsewhere.

use super::PhaseFile;
use crate::spec::SpecError;

/// Refuses an outage that does not end by the clock, that would end the run, or that nobody could see.
pub(super) fn check(files: &[PhaseFile]) -> Result<(), SpecError> {
    let serves = |at: Option<usize>| at.and_then(|at| files.get(at)).is_some_and(|file| !file.outage);
    for (at, file) in files.iter().enumerate().filter(|(_, file)| file.outage) {
        let refuse = |what: &str, help: &str| {
            Err(SpecError::new(&format!("phase `{}`, outage", file.name), what, help))
        };
        let goal = &file.goal;
        let others = goal.transactions.is_some() || goal.fill.is_some() || file.lock.is_some();
        if goal.duration.is_none() || others {
            let help = "write goal = { duration = \"5s\" } and nothing else";
            return refuse("how long the cache is away is said by a duration alone", help);
        }
        if goal.errors.is_some() {
            return refuse("its requests fail, which would end the run", "take errors out of its goal");
        }
        if file.measured == Some(true) {
            return refuse(
                "nothing is served in it",
                "take measured out; figures are of the phases around it",
            );
        }
        if !serves(at.checked_sub(1)) || !serves(Some(at + 1)) {
            let help = "let a phase come before it and one after, which are no outages";
            return refuse("who is away must be asked before and after", help);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    fn phases(text: &str) -> Result<Vec<bool>, String> {
        let spec = Spec::from_toml(&format!("[robots]\n{text}")).map_err(|why| why.to_string())?;
        Ok(spec.phases.iter().map(|phase| phase.outage && !phase.measured).collect())
    }

    fn phase(name: &str, rest: &str) -> String {
        format!("[[phase]]\nname = \"{name}\"\n{rest}\n")
    }

    #[test]
    fn an_outage_has_a_duration_and_stands_between_two_phases() {
        let (load, meas) =
            (phase("load", "goal = { duration = \"5min\" }"), phase("meas", "goal = { transactions = 9 }"));
        let dark = |rest: &str| phase("dark", &format!("outage = true\n{rest}"));
        let good = dark("goal = { duration = \"5s\" }");
        assert_eq!(phases(&format!("{load}{good}{meas}")), Ok(vec![false, true, false]));
        let twice = phase("dark 2", "outage = true\ngoal = { duration = \"5s\" }");
        for (text, words) in [
            (format!("{good}{meas}"), "asked before and after"),
            (format!("{load}{good}"), "asked before and after"),
            (format!("{load}{good}{twice}{meas}"), "asked before and after"),
            (format!("{load}{}{meas}", dark("goal = { transactions = 9 }")), "by a duration alone"),
            (
                format!("{load}{}{meas}", dark("goal = { duration = \"5s\", fill = \"1MB\" }")),
                "by a duration alone",
            ),
            (format!("{load}{}{meas}", dark("goal = { duration = \"5s\", errors = 3 }")), "take errors out"),
            (
                format!("{load}{}{meas}", dark("goal = { duration = \"5s\" }\nmeasured = true")),
                "take measured out",
            ),
        ] {
            let said = phases(&text).unwrap_err();
            assert!(said.contains("phase `dark`, outage") && said.contains(words), "{words}: {said}");
        }
    }
}
