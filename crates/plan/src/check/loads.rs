//! Check of loads that differ between arms: a factor in the keys that set the amount of requests.

use super::super::expand::Cell;
use super::super::file::{PlanFile, RequestsSection};
use super::super::{Arm, LoadClock, Population, RequestWork, Work};
use super::{Checked, Context};

impl Context<'_> {
    /// Gives each arm its load, if `[workload]` or a population names a factor in it.
    pub(super) fn loads(
        &self,
        file: &PlanFile,
        work: &Work,
        cells: &[Cell],
        arms: &mut [Arm],
    ) -> Checked<()> {
        let factors: Vec<&str> = file.factors.iter().map(|(name, _)| name.as_ref().as_str()).collect();
        let (Some((key, span)), Work::Requests(work)) = (file.loads.first_with(&factors), work) else {
            return Ok(());
        };
        if work.timed.is_none() {
            let what = format!(
                "`{key}` is another one in each arm, and slices with as many requests would be \
                                of other lengths"
            );
            let help = "add slice = \"20s\" to [experiment]: slices that end with time";
            return self.wrong(span, what, help);
        }
        for (cell, arm) in cells.iter().zip(arms) {
            let (workload, populations) = file.loads.at(&cell.values)?;
            let populations = populations.iter().map(|of| self.clock(&of.requests));
            let populations: Vec<LoadClock> = populations.collect::<Checked<_>>()?;
            let common = |w: &RequestsSection| self.clock(w);
            let clock = match populations.first() {
                Some(first) => *first,
                None => workload.requests().map_or(Ok(work.clock), common)?,
            };
            arm.load = Some(asked_by(work, clock, &populations));
        }
        Ok(())
    }
}

/// The workload with these clocks.
fn asked_by(work: &RequestWork, clock: LoadClock, populations: &[LoadClock]) -> RequestWork {
    let own = |(of, clock): (&Population, &LoadClock)| {
        let work = RequestWork { clock: *clock, ..of.work.clone() };
        Population { work, ..of.clone() }
    };
    let populations = work.populations.iter().zip(populations).map(own).collect();
    RequestWork { clock, populations, ..work.clone() }
}

#[cfg(test)]
mod tests {
    use crate::*;
    use bakeoff_units::Nanos;

    const SWEEP: &str = r#"
[experiment]
baseline = { limit = "off" }
slice = "2s"

[workload]
kind = "get"
urls = ["/"]
timeout = "1s"

[factors]
limit = ["off", "on"]
offered = [20, 600]

[population.preferred]
robots = 3

[population.greedy]
clock = "poisson"
rate = "{offered}/s"

[arm.site]
server = "nginx"
directives = "add_header X-Limit {limit};"
"#;

    fn parse(text: &str) -> Result<Plan, String> {
        Plan::parse("test", "plan.toml", text, Path::new("/plans")).map_err(|error| error.to_string())
    }

    fn clocks(arm: &Arm) -> Vec<String> {
        let load = arm.load.as_ref().unwrap();
        load.populations.iter().map(|of| of.work.clock.in_words()).collect()
    }

    #[test]
    fn a_population_asks_at_the_level_of_a_factor() {
        let plan = parse(SWEEP).unwrap();
        let arm = |name: &str| plan.arm_of(name).unwrap();
        assert_eq!(clocks(arm("on.offered-20")), ["closed loop, 3 robots", "open loop, poisson 20/s"]);
        assert_eq!(clocks(arm("off.offered-600'"))[1], "open loop, poisson 600/s");
        assert_eq!(
            plan.load_in_words(),
            "preferred: closed loop, 3 robots; greedy: open loop, poisson 20/s to 600/s, each arm its own; slices of 2 s"
        );
        let baseline = arm("on.offered-600");
        let index = plan.arms.iter().position(|other| other.name == baseline.name).unwrap();
        assert_eq!(plan.arms[plan.baselines.of(index)].name, "off.offered-600");
    }

    #[test]
    fn robots_and_bursts_may_be_levels_as_well() {
        let text = SWEEP
            .replace("robots = 3", "robots = \"{offered}\"")
            .replace("poisson", "bursts")
            .replace("rate = \"{offered}/s\"", "burst = \"1-{offered}\"\nevery = \"{offered}ms\"");
        let plan = parse(&text).unwrap();
        let load = plan.arm_of("on.offered-600").unwrap().load.clone().unwrap();
        assert_eq!(load.populations[0].work.clock.robots(), Some(600));
        let bursts = BurstClock { least: 1, most: 600, every: Nanos::from_millis(600) };
        assert_eq!(load.populations[1].work.clock, LoadClock::Bursts(bursts));
        assert_eq!(load.connections_of_all(), 1600);
        let Work::Requests(work) = &plan.work else { panic!("no requests") };
        assert_eq!(
            work.populations[0].work.clock.robots(),
            Some(20),
            "the whole is read at the first levels"
        );
    }

    #[test]
    fn one_load_for_all_is_nobodys_own() {
        let plan = parse(&SWEEP.replace("{offered}", "50")).unwrap();
        assert!(plan.arms.iter().all(|arm| arm.load.is_none()));
        assert!(!plan.load_in_words().contains("its own"));
    }

    #[test]
    fn what_does_not_go_with_loads_of_arms_is_said() {
        let alone = SWEEP.replace("[population.preferred]\nrobots = 3\n\n[population.greedy]\n", "");
        let alone = alone.replace("clock = \"poisson\"\nrate = \"{offered}/s\"\n", "");
        let alone = alone.replace("timeout", "clock = \"poisson\"\nrate = \"{offered}/s\"\ntimeout");
        assert!(parse(&alone).is_ok(), "{:?}", parse(&alone));
        for (text, expected) in [
            (alone.replace("slice = \"2s\"\n", ""), &["`rate` is another one in each arm", "add slice"][..]),
            (SWEEP.replace("{offered}", "{offerd}"), &["{offerd}/s"]),
            (SWEEP.replace("robots = 3", "robots = \"{limit}\""), &["`off` is no whole number"]),
            (SWEEP.replace("robots = 3", "robots = \"{offered}\"").replace("[20,", "[0,"), &["1 or more"]),
            (SWEEP.replace("[20,", "[0,"), &["0/s"]),
        ] {
            let message = parse(&text).expect_err(&text);
            for word in expected {
                assert!(message.contains(word), "{text}\nshould say {word}\n{message}");
            }
        }
    }

    #[test]
    fn bursts_have_a_size_and_a_time() {
        let text = SWEEP.replace("poisson", "bursts");
        let bursts = |keys: &str| parse(&text.replace("rate = \"{offered}/s\"", keys));
        let plan = bursts("burst = \"50-80\"\nevery = \"500ms\"\nconnections = 1").unwrap();
        assert!(plan.load_in_words().contains("greedy: open loop, bursts of 50 to 80 every 500 ms"));
        for (keys, expected) in [
            ("burst = \"50-80\"", "how many requests, and how often"),
            ("burst = \"80-50\"\nevery = \"500ms\"", "`80-50` is no size of a burst"),
            ("burst = \"0\"\nevery = \"500ms\"", "`0` is no size of a burst"),
            ("burst = \"5\"\nevery = \"0s\"", "above zero"),
            (
                "burst = \"5\"\nevery = \"1s\"\nrate = \"5/s\"",
                "`rate` has no meaning with the clock `bursts`",
            ),
        ] {
            let message = bursts(keys).expect_err(keys);
            assert!(message.contains(expected), "{keys}: {message}");
        }
    }
}
