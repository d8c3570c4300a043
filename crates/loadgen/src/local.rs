//! Local addresses of connections: each has its own ports, so that these never run out.
//!
//! Measuring side; called once a connection. Knows nothing of sockets.

use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Ranges of addresses, used in turn. Without any the kernel chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalAddresses {
    ranges: Vec<Range>,
}

/// A number of addresses from this one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: IpAddr,
    count: u64,
}

/// A text that is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no range of addresses: {why}; such as 127.0.0.2-127.0.0.9 or 127.0.1.0/24")]
pub struct AddressError {
    text: String,
    why: &'static str,
}

impl LocalAddresses {
    /// All of these ranges.
    pub fn of<'r>(ranges: impl IntoIterator<Item = &'r Self>) -> Self {
        let mut all = Self::default();
        ranges.into_iter().for_each(|range| all.add(range));
        all
    }

    /// Adds a range.
    pub fn add(&mut self, more: &Self) {
        self.ranges.extend_from_slice(&more.ranges);
    }

    /// Number of addresses; 0 leaves the choice to the kernel, which has one.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|range| range.count).sum()
    }

    /// First and last address of each range, in their order.
    pub fn ends(&self) -> impl Iterator<Item = (IpAddr, IpAddr)> {
        self.ranges.iter().map(|Range { first, count }| (*first, plus(*first, count.saturating_sub(1))))
    }

    /// The address of the `n`-th connection.
    pub fn nth(&self, n: u64) -> Option<IpAddr> {
        let mut place = n.checked_rem(self.count())?;
        for range in &self.ranges {
            if place < range.count {
                return Some(plus(range.first, place));
            }
            place -= range.count;
        }
        None
    }
}

fn plus(address: IpAddr, n: u64) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits().wrapping_add(n as u32))),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits().wrapping_add(u128::from(n)))),
    }
}

/// `ADDRESS`, `FIRST-LAST`, or `ADDRESS/BITS`, of which network and broadcast addresses are left out (of IPv6 the first
/// one, which is that of any router).
impl FromStr for LocalAddresses {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |why| AddressError { text: text.to_owned(), why };
        let address = |part: &str| part.trim().parse::<IpAddr>().map_err(|_| wrong("there is no address"));
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = (address(first)?, address(last)?);
            let count = distance(first, last).ok_or_else(|| wrong("the last lies before the first"))?;
            return Ok(Self { ranges: vec![Range { first, count: count.saturating_add(1) }] });
        }
        let Some((base, bits)) = text.split_once('/') else {
            return Ok(Self { ranges: vec![Range { first: address(text)?, count: 1 }] });
        };
        let base = match address(base)? {
            IpAddr::V4(base) => base,
            IpAddr::V6(base) => {
                let bits: Option<u32> = bits.parse().ok().filter(|bits| (96..=127).contains(bits));
                let bits = bits.ok_or_else(|| wrong("bits of IPv6 are 96 to 127"))?;
                let size = 1_u128 << (128 - bits);
                let first = IpAddr::V6(Ipv6Addr::from_bits((base.to_bits() & !(size - 1)) + 1));
                return Ok(Self { ranges: vec![Range { first, count: (size - 1) as u64 }] });
            }
        };
        let bits: u32 = bits
            .parse()
            .ok()
            .filter(|bits| (8..=30).contains(bits))
            .ok_or_else(|| wrong("bits are 8 to 30"))?;
        let size = 1_u64 << (32 - bits);
        let network = base.to_bits() & !((size - 1) as u32);
        let first = IpAddr::V4(Ipv4Addr::from_bits(network + 1));
        Ok(Self { ranges: vec![Range { first, count: size - 2 }] })
    }
}

/// As it can be read again: `FIRST-LAST`, or one address, with commas between several.
impl Display for LocalAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Range { first, count }) in self.ranges.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            match count {
                1 => write!(f, "{comma}{first}")?,
                more => write!(f, "{comma}{first}-{}", plus(*first, more - 1))?,
            }
        }
        Ok(())
    }
}

fn distance(first: IpAddr, last: IpAddr) -> Option<u64> {
    match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            u64::from(last.to_bits()).checked_sub(first.to_bits().into())
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            u64::try_from(last.to_bits().checked_sub(first.to_bits())?).ok().filter(|count| *count < 1 << 32)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str) -> LocalAddresses {
        text.parse().unwrap()
    }

    #[test]
    fn ranges_are_used_in_turn() {
        let mut all = addresses("127.0.0.2-127.0.0.3");
        all.add(&addresses("127.1.0.0/30"));
        assert_eq!(all.count(), 4);
        let seen: Vec<String> = (0..5).map(|n| all.nth(n).unwrap().to_string()).collect();
        assert_eq!(seen, ["127.0.0.2", "127.0.0.3", "127.1.0.1", "127.1.0.2", "127.0.0.2"]);
        assert_eq!(
            all.ends().map(|(_, last)| last.to_string()).collect::<Vec<_>>(),
            ["127.0.0.3", "127.1.0.2"]
        );
        assert_eq!(LocalAddresses::default().nth(3), None);
        assert_eq!(addresses("::1").nth(7).unwrap().to_string(), "::1");
    }

    #[test]
    fn ranges_are_written_as_they_can_be_read() {
        for (text, written) in [
            ("127.0.0.2", "127.0.0.2"),
            ("127.0.0.2-127.0.1.1", "127.0.0.2-127.0.1.1"),
            ("127.1.0.0/30", "127.1.0.1-127.1.0.2"),
            ("::1-::3", "::1-::3"),
            ("fd00::77/120", "fd00::1-fd00::ff"),
            ("fd00::6/127", "fd00::7"),
        ] {
            assert_eq!(
                (addresses(text).to_string().as_str(), addresses(written)),
                (written, addresses(text))
            );
        }
        let both = LocalAddresses::of([&addresses("::1"), &addresses("127.0.0.2-127.0.0.3")]);
        assert_eq!(both.to_string(), "::1, 127.0.0.2-127.0.0.3");
        assert_eq!(LocalAddresses::default().to_string(), "");
    }

    #[test]
    fn what_is_no_range_is_said() {
        for wrong in [
            "",
            "x",
            "127.0.0.9-127.0.0.2",
            "127.0.0.1-::1",
            "127.0.0.1/31",
            "::1/64",
            "127.0.0.1/x",
            "::1/128",
        ] {
            assert!(wrong.parse::<LocalAddresses>().is_err(), "{wrong}");
        }
    }
}
