//! Check of `[population.NAME]`: clients that ask side by side, and keys that cannot be combined with them.

use super::super::file::{PlanFile, PopulationOf};
use super::super::{Arm, Population, RequestWork};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_loadgen::Refusals;
use std::ops::Range;

impl Context<'_> {
    /// The workload with its populations. Requests outside of slices use the settings of the first one.
    pub(super) fn with_populations(&self, file: &PlanFile, work: RequestWork) -> Checked<RequestWork> {
        let Some(first) = file.population.first() else { return Ok(work) };
        if let Some((span, what, help)) = against_populations(file, first) {
            return self.wrong(span, what, help);
        }
        let populations: Vec<Population> =
            file.population.iter().map(|of| self.population(file, of)).collect::<Checked<_>>()?;
        let RequestWork { clock, timeout, connections, .. } = populations[0].work.clone();
        let refusals = populations.iter().fold(Refusals::default(), |all, of| all.and(&of.work.refusals));
        Ok(RequestWork { clock, timeout, connections, refusals, populations, ..work })
    }

    fn population(&self, file: &PlanFile, of: &PopulationOf) -> Checked<Population> {
        self.demand_section_name(&of.name, "population")?;
        let own = &of.max_errors;
        Ok(Population {
            name: of.name.as_ref().clone(),
            work: self.request_work(&of.requests, None)?,
            own_requests: of.own_requests,
            during: self.optional(&of.during)?,
            max_errors: self.max_errors(own.as_ref().map_or(&file.experiment.max_errors, |_| own))?,
        })
    }

    /// Refuses an arm's own paths beside populations: all populations would ask for them.
    pub(super) fn one_list_of_urls(&self, file: &PlanFile, arms: &[Arm]) -> Checked<()> {
        let own = arms.iter().find(|arm| arm.urls.is_some());
        let (Some(first), Some(arm)) = (file.population.first(), own) else { return Ok(()) };
        let what =
            format!("the arm `{}` has `urls` of its own, and populations say what is asked for", arm.name);
        self.wrong(first.name.span(), what, "take one of both out")
    }
}

/// The first setting in a plan that cannot be combined with populations: its place, the fault and the remedy.
fn against_populations(
    file: &PlanFile,
    first: &PopulationOf,
) -> Option<(Range<usize>, &'static str, &'static str)> {
    let e = &file.experiment;
    if let Some(kind) = e.kind.as_ref().filter(|kind| kind.as_ref() == "peak") {
        let what = "a search for peaks has one rate, and populations have one each";
        return Some((kind.span(), what, "take the populations out, or kind = \"peak\""));
    }
    if file.population.len() < 2 {
        let what = "one population alone is what [workload] says";
        let help = "add a second [population.NAME], or say its keys in [workload]";
        return Some((first.name.span(), what, help));
    }
    if e.slice.is_none() {
        let what = "populations ask side by side, and none may be through before the others";
        let span = e.slice_requests.as_ref().map_or_else(|| first.name.span(), Spanned::span);
        return Some((span, what, "add slice = \"20s\" to [experiment]: slices that end with time"));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::*;
    use bakeoff_loadgen::Reuse;
    use bakeoff_units::Nanos;

    const GOOD: &str = r#"
[experiment]
baseline = "plain"
slice = "20s"
max_errors = "1%"

[workload]
kind = "replay"
log = "a.log"
robots = 7
from = "127.0.0.2"
refused = [429]

[population.preferred]
# of preferred

[population.greedy]
clock = "poisson"
rate = "900/s"
timeout = "1s"
refused = [503, "reset"]
max_errors = "5%"
keep_alive = false

[arm.plain]
server = "nginx"

[arm.tls]
server = "nginx"
tls = true
"#;

    fn parse(text: &str) -> Result<Plan, String> {
        Plan::parse("test", "plan.toml", text, Path::new("/plans")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_population_is_the_workload_with_its_own_keys_over_it() {
        let plan = parse(GOOD).unwrap();
        let Work::Requests(work) = &plan.work else { panic!("no requests") };
        let [preferred, greedy] = work.populations.as_slice() else { panic!("not two") };
        assert_eq!((preferred.name.as_str(), greedy.name.as_str()), ("preferred", "greedy"));
        assert_eq!((preferred.work.clock.robots(), greedy.work.clock.robots()), (Some(7), None));
        assert_eq!(
            (preferred.work.timeout, greedy.work.timeout),
            (Nanos::from_secs(10), Nanos::from_secs(1))
        );
        assert_eq!((preferred.max_errors.get(), greedy.max_errors.get()), (0.01, 0.05));
        assert!(!preferred.own_requests && matches!(greedy.work.source, RequestSource::Replay { .. }));
        let named = |work: &RequestWork| work.refusals.labels().collect::<Vec<_>>();
        assert_eq!(
            (named(&preferred.work), named(&greedy.work)),
            (vec!["429".to_owned()], vec!["503".to_owned(), "reset".to_owned()])
        );
        assert_eq!(named(work), ["429", "503", "reset"], "what any of them names may happen");
        let [first, second] = plan.arms[1].populations.as_slice() else { panic!("not two") };
        assert_eq!((first.reuse.clone(), second.reuse.clone()), (Reuse::Always, Reuse::Never));
        assert_eq!((first.from.count(), second.from.count()), (1, 1));
        assert_eq!(work.connections_of_all(), 1007);
        assert_eq!(
            work.in_words(),
            "preferred: closed loop, 7 robots; greedy: open loop, poisson 900/s; slices of 20 s"
        );
    }

    #[test]
    fn a_population_may_ask_in_a_part_of_a_slice() {
        let plan = parse(&GOOD.replace("# of preferred", "during = \"5s-20s\"")).unwrap();
        let Work::Requests(work) = &plan.work else { panic!("no requests") };
        let during = During { from: Nanos::from_secs(5), until: Nanos::from_secs(20) };
        assert_eq!(work.populations.iter().map(|of| of.during).collect::<Vec<_>>(), [Some(during), None]);
        assert_eq!(
            work.in_words(),
            "preferred: closed loop, 7 robots, from 5 s to 20 s; greedy: open loop, poisson 900/s; slices of 20 s"
        );
    }

    #[test]
    fn paths_of_its_own_leave_what_the_workload_asks_for() {
        let plan = parse(&GOOD.replace("# of preferred", "urls = [\"/a\"]\nrobots = 3")).unwrap();
        let Work::Requests(work) = &plan.work else { panic!("no requests") };
        let own = &work.populations[0];
        assert!(own.own_requests && matches!(own.work.source, RequestSource::Get(_)));
        assert_eq!(own.work.clock.robots(), Some(3));
        assert!(matches!(work.source, RequestSource::Replay { .. }), "the site is the log's");
    }

    #[test]
    fn what_does_not_go_with_populations_is_said() {
        for (from, to, expected) in [
            ("slice = \"20s\"\n", "", &["none may be through before the others", "slice = \"20s\""][..]),
            ("slice = \"20s\"\n", "slice = \"9s\"\n", &["may take 10 s (`timeout`)"]),
            ("baseline", "design = \"duet\"\nbaseline", &["all arms at once get the same requests"]),
            ("# of preferred", "log = \"b.log\"", &["`log` has no meaning in a population", "plan.toml:15"]),
            ("# of preferred", "conditional = true", &["`conditional` has no meaning in a population"]),
            ("# of preferred", "kind = \"get\"", &["`kind` has no meaning in a population"]),
            ("# of preferred", "max_age = \"1h\"", &["`max_age` has no meaning in a population"]),
            ("# of preferred", "robot = 5", &["there is no key `robot` here", "did you mean `robots`?"]),
            ("# of preferred", "passes = 2", &["`passes`", "take one of both out"]),
            ("# of preferred", "http2 = true", &["HTTP/2"]),
            ("# of preferred", "clock = \"original\"", &["the clock `original`", "ends them with time"]),
            ("rate = \"900/s\"\n", "", &["the clock `poisson` needs a rate"]),
            ("# of preferred", "during = \"5s\"", &["`5s` is no part of a slice", "plan.toml:15"]),
            ("# of preferred", "during = \"5s-21s\"", &["asks until 21 s", "slices are of 20 s"]),
            ("[population.greedy]", "[population.\"the greedy\"]", &["is no name for a population"]),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let message = parse(&text).expect_err(&text);
            for word in expected {
                assert!(message.contains(word), "{text}\nshould say {word}\n{message}");
            }
        }
        let one = GOOD.split("[population.greedy]").next().unwrap().to_owned()
            + "[arm.plain]\nserver = \"nginx\"\n\n[arm.tls]\nserver = \"nginx\"\ntls = true\n";
        assert!(parse(&one).unwrap_err().contains("one population alone is what [workload] says"));
        let peak = GOOD.replace("baseline", "kind = \"peak\"\nbaseline").replace("robots = 7\n", "");
        assert!(parse(&peak).unwrap_err().contains("has one rate, and populations have one each"));
        let command = "[experiment]\nbaseline = \"a\"\n\n[workload]\nkind = \"command\"\n\n[population.x]\n\n\
                       [arm.a]\ncommand = [\"true\"]\n";
        assert!(parse(command).unwrap_err().contains("populations ask servers"));
    }
}
