//! Data rates: of links in bits, of storage in bytes.

use crate::quantity::{ParseQuantityError, error, split, three_digits};
use std::fmt;
use std::str::FromStr;

/// Bits per second of a link, above zero. `kbit`, `Mbit`, `Gbit` are powers of 1000, as networks
/// count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitsPerSecond(u64);

/// Bytes per second of storage, above zero. Written as a size and `/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BytesPerSecond(u64);

impl BitsPerSecond {
    /// A rate; `None` for zero.
    pub const fn new(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// Bits per second.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => (n, "bit/s"),
            1_000..1_000_000 => (n / 1e3, "kbit/s"),
            1_000_000..1_000_000_000 => (n / 1e6, "Mbit/s"),
            _ => (n / 1e9, "Gbit/s"),
        };
        write!(f, "{} {unit}", three_digits(value))
    }
}

impl FromStr for BitsPerSecond {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "a link's rate above zero such as 10Mbit, 100Mbit or 1Gbit";
        let (number, unit) = split(text, expected)?;
        let scale = match unit.strip_suffix("/s").unwrap_or(unit) {
            "bit" => 1.0,
            "kbit" => 1e3,
            "Mbit" => 1e6,
            "Gbit" => 1e9,
            _ => return Err(error(text, expected)),
        };
        Self::new((number * scale) as u64).ok_or_else(|| error(text, expected))
    }
}

impl BytesPerSecond {
    /// A rate; `None` for zero.
    pub const fn new(bytes: u64) -> Option<Self> {
        if bytes == 0 { None } else { Some(Self(bytes)) }
    }

    /// Bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", crate::Bytes::new(self.0))
    }
}

impl FromStr for BytesPerSecond {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "a data rate above zero such as 20MB/s";
        let size = text.trim().strip_suffix("/s").ok_or_else(|| error(text, expected))?;
        let bytes: crate::Bytes = size.parse().map_err(|_| error(text, expected))?;
        Self::new(bytes.get()).ok_or_else(|| error(text, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_count_in_powers_of_1000() {
        for (text, bits, printed) in [
            ("10Mbit", 10_000_000, "10 Mbit/s"),
            ("100Mbit/s", 100_000_000, "100 Mbit/s"),
            ("1Gbit", 1_000_000_000, "1 Gbit/s"),
            ("1.5 Mbit", 1_500_000, "1.5 Mbit/s"),
        ] {
            let parsed: BitsPerSecond = text.parse().unwrap();
            assert_eq!((parsed.get(), parsed.to_string().as_str()), (bits, printed));
        }
        for wrong in ["10", "10MB", "0Mbit", "10mbit", ""] {
            assert!(wrong.parse::<BitsPerSecond>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn storage_counts_in_bytes() {
        let parsed: BytesPerSecond = "20MB/s".parse().unwrap();
        assert_eq!((parsed.get(), parsed.to_string().as_str()), (20_000_000, "20 MB/s"));
        for wrong in ["20MB", "0B/s", "20Mbit/s", "/s"] {
            assert!(wrong.parse::<BytesPerSecond>().is_err(), "{wrong}");
        }
    }
}
