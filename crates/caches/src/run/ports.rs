//! Local ports for the robots' connections, checked and reported before the first request.
//!
//! Measuring side, cold. Owns a plan's need of ports; the table of the machine's checks judges how fast they are used
//! up.

use super::error::CachesError;
use crate::plan::CachePlan;
use bakeoff_content::mix64;
use bakeoff_experiment::environment::MachineState;
use bakeoff_results::Fact;
use bakeoff_units::PerSecond;

/// Time that a port may be held after its connection was closed from this side: `TCP_TIMEWAIT_LEN` of the kernel.
const TIME_WAIT_S: f64 = 60.0;

/// Refuses ports that may not be used, and more connections at once than there are ports for them.
pub(super) fn ensure(plan: &CachePlan, connections: usize) -> Result<(), CachesError> {
    let Some(ports) = plan.ports else { return Ok(()) };
    ports.ensure_allowed()?;
    let addresses = plan.from.count().max(1);
    let there = ports.count().saturating_mul(addresses);
    if connections as u64 <= there {
        return Ok(());
    }
    Err(CachesError::Ports { connections, ports, addresses, there })
}

/// Input of the machine's checks: the plan's own range in place of the kernel's.
pub(super) fn seen(plan: &CachePlan, seen: MachineState) -> MachineState {
    let port_range = plan.ports.map(|ports| ports.ends()).or(seen.port_range);
    MachineState { port_range, ..seen }
}

/// Connections per second that are closed from this side on one local address, at the highest rate that is known
/// beforehand: their ports rest for a while. `None` if the other side closes them.
pub(super) fn closed_a_second(plan: &CachePlan) -> Option<PerSecond> {
    let rate = plan.schedule.known_highest()?;
    let requests = plan.robots_at(rate).reuse(mix64(plan.seed)).closed_here_after()?;
    PerSecond::new(rate.get() / requests / plan.from.count().max(1) as f64)
}

/// Facts about ports that are recorded.
pub(super) fn facts(plan: &CachePlan) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let ports = plan.ports.map(|ports| {
        let by = if ports.are_the_kernels() { "the kernel" } else { "bakeoff, in turn" };
        fact("local_ports", format!("{ports}, given out by {by}"))
    });
    let from = plan.from.count();
    let from = (from > 0).then(|| fact("local_addresses", from.to_string()));
    ports.into_iter().chain(from).collect()
}

/// Needed and available ports, for people; none if all is the kernel's.
pub(crate) fn in_words(plan: &CachePlan, connections: usize) -> Option<String> {
    let ports = plan.ports?;
    let addresses = plan.from.count().max(1);
    let mut words = format!(
        "local ports {ports}: {} on each of {addresses} address(es), for at most {connections} connections at once",
        ports.count()
    );
    if let Some(closed) = closed_a_second(plan) {
        let held = closed.get() * TIME_WAIT_S;
        words += &format!(
            "; about {closed} are closed from here on each address, which may hold {held:.0} more for {TIME_WAIT_S:.0} s \
             (TIME_WAIT)"
        );
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanChanges;

    fn plan(keys: &str, robots: &str) -> CachePlan {
        let text = format!(
            "[bakeoff]\ntitle = \"T\"\nproducts = [\"none\"]\nrate = \"100/s\"\nhit_ratio = \"55%\"\n{keys}\n\
             [robots]\n{robots}\n[[content]]\nname = \"any\"\nsize = \"exp:2KB\"\n\
             [[phase]]\nname = \"meas\"\ngoal = {{ transactions = 10 }}\n"
        );
        CachePlan::parse("t", "t.toml", &text, &PlanChanges::default()).unwrap()
    }

    #[test]
    fn each_address_has_all_ports_of_the_range() {
        let one = plan("ports = \"2001:2100\"", "");
        assert!(ensure(&one, 100).is_ok());
        let said = ensure(&one, 101).unwrap_err().to_string();
        for word in ["101 connections at once", "2001:2100", "have 100", "--ports", "--from", "`connections`"]
        {
            assert!(said.contains(word), "{word}: {said}");
        }
        let three = plan("ports = \"2001:2100\"\nfrom = [\"127.0.0.2-127.0.0.3\", \"127.0.0.9\"]", "");
        assert!(ensure(&three, 300).is_ok() && ensure(&three, 301).is_err());
        assert!(ensure(&plan("", ""), usize::MAX).is_ok(), "the kernel's are counted elsewhere");
    }

    #[test]
    fn ports_rest_where_this_side_closes_connections() {
        let of = |robots: &str| closed_a_second(&plan("ports = \"2001:2100\"", robots)).map(PerSecond::get);
        assert_eq!(of(""), None);
        assert_eq!(of("requests_per_connection = \"const:1\""), None, "the server closes these");
        assert_eq!(of("requests_per_connection = \"const:4\""), Some(25.0));
        let words = in_words(
            &plan(
                "ports = \"2001:2100\"\nfrom = [\"127.0.0.2-127.0.0.3\"]",
                "requests_per_connection = \"const:4\"",
            ),
            64,
        );
        let words = words.unwrap();
        for word in ["2001:2100", "100 on each of 2", "64 connections", "12.5/s", "750 more for 60 s"] {
            assert!(words.contains(word), "{word}: {words}");
        }
        assert_eq!(in_words(&plan("", ""), 64), None);
    }

    #[test]
    fn what_is_no_range_is_said_with_its_key() {
        let text = |keys: &str| {
            format!(
                "[bakeoff]\ntitle = \"T\"\nproducts = [\"none\"]\nrate = \"1/s\"\nhit_ratio = \"55%\"\n{keys}\n[robots]\n\
                 [[content]]\nname = \"any\"\nsize = \"exp:2KB\"\n[[phase]]\nname = \"m\"\ngoal = {{ transactions = 10 }}\n"
            )
        };
        for (keys, words) in [
            ("ports = \"9\"", ["`ports`", "1024:30000"]),
            ("from = [\"here\"]", ["`from`", "127.0.0.2-127.0.0.9"]),
        ] {
            let said = CachePlan::parse("t", "t.toml", &text(keys), &PlanChanges::default())
                .unwrap_err()
                .to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        }
    }
}
