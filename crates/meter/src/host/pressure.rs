//! Pressure stall information: the time in which tasks waited for a resource.

use bakeoff_units::Nanos;
use std::fs;

/// Totals since boot, microsecond steps. `None` where the kernel has no such figure or does not
/// keep it (`psi=1` on its command line switches it on).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// At least one task waited for a core.
    pub cpu: Option<Nanos>,
    /// At least one task waited for storage.
    pub io: Option<Nanos>,
    /// At least one task waited for memory.
    pub memory: Option<Nanos>,
}

/// The same over a span: divided by the wall time a share.
pub type PressureChange = Pressure;

impl Pressure {
    /// The totals now.
    pub fn read() -> Self {
        let total = |name| some_total(&fs::read_to_string(format!("/proc/pressure/{name}")).ok()?);
        Self { cpu: total("cpu"), io: total("io"), memory: total("memory") }
    }

    /// The time between `earlier` and this.
    pub fn since(&self, earlier: &Self) -> PressureChange {
        let change = |now: Option<Nanos>, then: Option<Nanos>| Some(now?.since(then?));
        Self {
            cpu: change(self.cpu, earlier.cpu),
            io: change(self.io, earlier.io),
            memory: change(self.memory, earlier.memory),
        }
    }
}

fn some_total(text: &str) -> Option<Nanos> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.trim().parse().ok().map(Nanos::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some_counts() {
        let text = "some avg10=49.80 avg60=15.94 avg300=9.88 total=149307728\nfull avg10=0.00 total=7\n";
        assert_eq!(some_total(text), Some(Nanos::from_micros(149_307_728)));
        assert_eq!(some_total(""), None);
    }

    #[test]
    fn a_change_needs_both_ends() {
        let then = Pressure { cpu: Some(Nanos::new(1)), io: None, memory: None };
        let now = Pressure { cpu: Some(Nanos::new(3)), io: Some(Nanos::new(3)), memory: None };
        assert_eq!(now.since(&then), Pressure { cpu: Some(Nanos::new(2)), io: None, memory: None });
    }
}
