//! Known vulnerabilities of the processor and their mitigation, as the kernel reports them.

use super::host::Host;

/// The kernel's answer to one vulnerability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Vulnerable,
    Other,
    Mitigated,
    NotAffected,
}

/// Each with its name and its mitigation, if the kernel tells it.
pub(super) fn vulnerabilities(host: &Host) -> Vec<(Standing, String)> {
    let of = |name: &String| Some(standing(name, &host.line(&format!("{DIRECTORY}/{name}")).ok()?));
    host.names(DIRECTORY).iter().filter_map(of).collect()
}

pub(super) const DIRECTORY: &str = "/sys/devices/system/cpu/vulnerabilities";

fn standing(name: &str, state: &str) -> (Standing, String) {
    let with = |how: &str| if how.is_empty() { name.to_owned() } else { format!("{name} ({how})") };
    if state == "Not affected" {
        (Standing::NotAffected, name.to_owned())
    } else if let Some(how) = state.strip_prefix("Mitigation: ") {
        (Standing::Mitigated, with(how))
    } else if let Some(how) = state.strip_prefix("Vulnerable") {
        (Standing::Vulnerable, with(how.trim_start_matches([':', ',', ' '])))
    } else {
        (Standing::Other, with(state))
    }
}
