//! Units that published figures are printed in: a closed set, each with its quantity.

use bakeoff_meter::Unit as MeterUnit;
use serde::{Serialize, Serializer};

/// A unit as it is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintedUnit {
    /// `ms`, `conn/s`, `%`.
    pub label: &'static str,
    /// Its quantity.
    pub quantity: Quantity,
    /// One of it in the base unit of its quantity: seconds, bytes, bytes per second, hertz, ...
    pub scale: f64,
}

/// Quantity of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A share of something, base 1.
    Share,
    /// A factor, base 1.
    Times,
    /// Seconds.
    Time,
    /// Events per second.
    Rate,
    /// Bytes.
    Size,
    /// Bytes per second.
    Flow,
    /// Hertz.
    Frequency,
    /// A number of things.
    Count,
}

const fn unit(label: &'static str, quantity: Quantity, scale: f64) -> PrintedUnit {
    PrintedUnit { label, quantity, scale }
}

/// All of them. `KB` and `MB` are taken as powers of 1000; none of the studies says.
const UNITS: [PrintedUnit; 22] = [
    unit("%", Quantity::Share, 0.01),
    unit("x", Quantity::Times, 1.0),
    unit("ns", Quantity::Time, 1e-9),
    unit("us", Quantity::Time, 1e-6),
    unit("ms", Quantity::Time, 1e-3),
    unit("s", Quantity::Time, 1.0),
    unit("min", Quantity::Time, 60.0),
    unit("h", Quantity::Time, 3600.0),
    unit("req/s", Quantity::Rate, 1.0),
    unit("conn/s", Quantity::Rate, 1.0),
    unit("hits/s", Quantity::Rate, 1.0),
    unit("B", Quantity::Size, 1.0),
    unit("KB", Quantity::Size, 1e3),
    unit("MB", Quantity::Size, 1e6),
    unit("GB", Quantity::Size, 1e9),
    unit("KB/s", Quantity::Flow, 1e3),
    unit("MB/s", Quantity::Flow, 1e6),
    unit("kbit/s", Quantity::Flow, 125.0),
    unit("Mbit/s", Quantity::Flow, 125e3),
    unit("MHz", Quantity::Frequency, 1e6),
    unit("GHz", Quantity::Frequency, 1e9),
    unit("count", Quantity::Count, 1.0),
];

impl PrintedUnit {
    /// Percent.
    pub const PERCENT: Self = UNITS[0];
    /// A factor.
    pub const TIMES: Self = UNITS[1];

    /// The unit of this name.
    pub fn find(label: &str) -> Option<Self> {
        UNITS.into_iter().find(|unit| unit.label == label)
    }

    /// A meter's value in this unit; `None` if the meter measures another quantity.
    pub fn of_meter(self, meter: MeterUnit, value: f64) -> Option<f64> {
        let (quantity, scale) = match meter {
            MeterUnit::Nanoseconds => (Quantity::Time, 1e-9),
            MeterUnit::PerSecond => (Quantity::Rate, 1.0),
            MeterUnit::BytesPerSecond => (Quantity::Flow, 1.0),
            MeterUnit::Bytes => (Quantity::Size, 1.0),
            MeterUnit::Count => (Quantity::Count, 1.0),
            MeterUnit::Share => (Quantity::Share, 1.0),
        };
        (quantity == self.quantity).then_some(value * scale / self.scale)
    }
}

impl Serialize for PrintedUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meters_value_is_told_in_the_units_of_the_study() {
        let told = |label, meter, value| PrintedUnit::find(label).unwrap().of_meter(meter, value);
        assert_eq!(told("ms", MeterUnit::Nanoseconds, 1_500_000.0), Some(1.5));
        assert_eq!(told("Mbit/s", MeterUnit::BytesPerSecond, 1_250_000.0), Some(10.0));
        assert_eq!(told("%", MeterUnit::Share, 0.5), Some(50.0));
        assert_eq!(told("ms", MeterUnit::PerSecond, 1.0), None);
        assert_eq!(PrintedUnit::find("furlong"), None);
    }

    #[test]
    fn labels_differ() {
        for unit in UNITS {
            assert_eq!(PrintedUnit::find(unit.label), Some(unit));
        }
    }
}
