//! What the kernel says of the processor's known vulnerabilities, sorted.

use super::host::Host;

/// How the kernel deals with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Vulnerable,
    Other,
    Mitigated,
    NotAffected,
}

/// Each with its name and how it is mitigated, where the kernel says.
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
