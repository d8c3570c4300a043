//! Check of `loads` and `decide_at`, for a cost over the load; refuses plans without such a curve.

use super::super::error::suggestion;
use super::super::{Arm, ExperimentGoal, LoadClock, LoadPlan, LoadRate, LoadsPlan, RequestWork, Work};
use super::{Checked, Context};
use crate::file::{ExperimentSection, Spanned};
use bakeoff_units::Ratio;

/// Most loads: each has a slice of every arm in every round.
const MOST_LOADS: usize = 8;

impl Context<'_> {
    /// The loads that every round measures, if the plan has several.
    pub(super) fn curve(
        &self,
        e: &ExperimentSection,
        kind: &ExperimentGoal,
        work: &Work,
        arms: &[Arm],
    ) -> Checked<Option<LoadsPlan>> {
        let Some(typed) = &e.loads else {
            let help = "add loads = [\"10%\", \"50%\", \"90%\"], or take the line out";
            let what = "`decide_at` chooses one of `loads`, and there are none";
            self.refuse(e.decide_at.as_ref(), what, help)?;
            return Ok(None);
        };
        if let Some(why) = without_curve(e, kind, work, arms) {
            let what = format!("a cost over the load cannot be measured here: {why}");
            return self.wrong(typed.span(), what, "take `loads` out (`--loads` on the command line)");
        }
        let number = typed.as_ref().len();
        let few_or_many = typed.when(!(2..=MOST_LOADS).contains(&number));
        let what = format!("a curve has 2 to {MOST_LOADS} loads, and these are {number}");
        self.refuse(few_or_many, what, "such as [\"10%\", \"50%\", \"90%\"]")?;
        let mut loads: Vec<LoadPlan> = Vec::new();
        for load in typed.as_ref() {
            let read = LoadPlan { name: load.as_ref().trim().to_owned(), rate: self.load(load)? };
            let twin = load.when(loads.iter().any(|other| other.rate == read.rate));
            self.refuse(twin, format!("`{}` is there twice", read.name), "take one out")?;
            loads.push(read);
        }
        let decide_at = e.decide_at.as_ref().map(|key| self.decide_at(key, &loads)).transpose()?;
        Ok(Some(LoadsPlan { loads, decide_at }))
    }

    fn load(&self, typed: &Spanned<String>) -> Checked<LoadRate> {
        let text = typed.as_ref().trim();
        if !text.ends_with('%') {
            let rate = self.rate_with_unit(typed)?;
            let none = typed.when(rate.get() <= 0.0);
            self.refuse(none, "a load is above zero", "such as \"1000/s\" or \"50%\"")?;
            return Ok(LoadRate::Rate(rate));
        }
        let share: Ratio = self.read(typed, "such as \"50%\" or \"1000/s\"")?;
        let outside = typed.when(!(share.get() > 0.0 && share.get() <= 1.0));
        let what = format!("`{text}` is no share of what an arm can answer");
        self.refuse(outside, what, "above 0 and at most 100 %: beyond that replies only come later")?;
        Ok(LoadRate::Share(share))
    }

    fn decide_at(&self, key: &Spanned<String>, loads: &[LoadPlan]) -> Checked<usize> {
        let name = key.as_ref().trim();
        if let Some(at) = loads.iter().position(|load| load.name == name) {
            return Ok(at);
        }
        let known: Vec<&str> = loads.iter().map(|load| load.name.as_str()).collect();
        let what = format!("`{name}` is none of the loads {}", known.join(", "));
        self.wrong(key.span(), what, suggestion(name, &known))
    }
}

/// Reason why there is no curve, naming the obstacle.
fn without_curve(e: &ExperimentSection, kind: &ExperimentGoal, work: &Work, arms: &[Arm]) -> Option<String> {
    if *kind != ExperimentGoal::Compare {
        return Some("a search for peaks chooses its own loads".to_owned());
    }
    let work = match work {
        Work::Requests(work) => work,
        Work::Command(_) => return Some("commands run one at a time, as fast as they can".to_owned()),
        Work::Calls(_) => return Some("system calls are made one at a time, as fast as they can".to_owned()),
        Work::Files(_) => {
            return Some("operations on files are made one at a time, as fast as they can".to_owned());
        }
    };
    if e.link.is_some() {
        return Some("over a link its rate decides how fast requests come".to_owned());
    }
    if arms.iter().any(|arm| arm.load.is_some()) {
        return Some("a factor sets the load of each arm".to_owned());
    }
    if arms.iter().any(|arm| arm.slice_requests.is_some()) {
        return Some("arms have numbers of requests of their own".to_owned());
    }
    of_requests(work)
}

fn of_requests(work: &RequestWork) -> Option<String> {
    let why = if !work.populations.is_empty() {
        "populations have clocks of their own"
    } else if work.timed.is_some() {
        "`slice` ends slices with time"
    } else {
        match work.clock {
            LoadClock::Original { .. } => "the clock `original` is the log's own",
            LoadClock::Bursts(_) => "the clock `bursts` says how many requests come at once",
            LoadClock::Closed { passes: Some(_), .. } => "with `passes` a slice is the whole log",
            LoadClock::Closed { .. } | LoadClock::Constant(_) | LoadClock::Poisson(_) => return None,
        }
    };
    Some(why.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::*;
    use std::path::Path;

    const CURVE: &str = "[experiment]\nbaseline = \"a\"\nloads = [\"90%\", \"200/s\", \"50%\"]\n[workload]\n\
                         kind = \"get\"\nurls = [\"/\"]\n[arm.a]\nserver = \"origin\"\n[arm.b]\nserver = \"origin\"\n\
                         tls = true\n";

    fn parse(text: &str) -> Result<Plan, String> {
        Plan::parse("test", "plan.toml", text, Path::new("/")).map_err(|error| error.to_string())
    }

    #[test]
    fn loads_are_rates_and_shares_in_the_order_of_the_plan() {
        let loads = parse(CURVE).unwrap().loads.unwrap();
        assert_eq!(loads.decide_at, None, "the middle one is known when shares are rates");
        let rates: Vec<LoadRate> = loads.loads.iter().map(|load| load.rate).collect();
        assert!(
            matches!(rates[..], [LoadRate::Share(_), LoadRate::Rate(_), LoadRate::Share(_)]),
            "{rates:?}"
        );
        let decided = CURVE.replace("[workload]", "decide_at = \"200/s\"\n[workload]");
        assert_eq!(parse(&decided).unwrap().loads.unwrap().decide_at, Some(1));
        assert!(parse(&CURVE.replace("loads", "#")).unwrap().loads.is_none());
    }

    #[test]
    fn what_is_no_load_is_said() {
        for (from, to, expected) in [
            ("\"200/s\"", "\"0%\"", "`0%` is no share of what an arm can answer"),
            ("\"200/s\"", "\"120%\"", "above 0 and at most 100 %"),
            ("\"200/s\"", "\"200\"", "`200` has no unit"),
            ("\"200/s\"", "\"50 %\"", "twice"),
            (", \"200/s\", \"50%\"", "", "2 to 8 loads, and these are 1"),
            ("[workload]", "decide_at = \"40%\"\n[workload]", "`40%` is none of the loads 90%, 200/s, 50%"),
            ("loads = [\"90%\", \"200/s\", \"50%\"]", "decide_at = \"40%\"", "chooses one of `loads`"),
        ] {
            let why = parse(&CURVE.replace(from, to)).unwrap_err();
            assert!(why.contains(expected), "{to}: {why}");
        }
    }

    #[test]
    fn what_has_no_curve_is_refused_by_its_name() {
        let clock = |keys: &str| CURVE.replace("urls", &format!("{keys}\nurls"));
        for (text, expected) in [
            (clock("clock = \"bursts\"\nburst = \"3\"\nevery = \"1s\""), "the clock `bursts`"),
            (CURVE.replace("[workload]", "link = \"100Mbit\"\n[workload]"), "over a link"),
            (CURVE.replace("[workload]", "slice = \"60s\"\n[workload]"), "ends slices with time"),
            (CURVE.replace("[workload]", "kind = \"peak\"\n[workload]"), "chooses its own loads"),
            (CURVE.replace("tls = true", "tls = true\nslice_requests = 50"), "numbers of requests of their own"),
            (
                CURVE.replace("[workload]", "slice = \"60s\"\n[workload]")
                    + "[population.p]\nrobots = 3\n[population.q]\nrobots = 1\n",
                "populations have clocks",
            ),
            (
                CURVE.replace("kind = \"get\"\nurls = [\"/\"]", "kind = \"replay\"\nlog = \"builtin:weblog\"\nclock = \"original\""),
                "the clock `original`",
            ),
            (
                "[experiment]\nbaseline = \"a\"\nloads = [\"90%\", \"50%\"]\n[workload]\nkind = \"command\"\n[arm.a]\n\
                 command = [\"true\"]\n[arm.b]\ncommand = [\"false\"]\n"
                    .to_owned(),
                "commands run one at a time",
            ),
        ] {
            let why = parse(&text).unwrap_err();
            assert!(why.contains("cannot be measured here") && why.contains(expected), "{expected}: {why}");
        }
    }
}
