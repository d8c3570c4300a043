//! Source addresses at the generator's end, by the thousand: prefixes that are local there, and a way back to them.
//!
//! Cold. No address is put on a device: a socket can bind to any address that is local by its route, and a whole prefix
//! is one route.

use crate::LinkError;
use crate::end::{DEVICE, GENERATOR};
use crate::make::Link;
use crate::tool::ip;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

/// The range for benchmarks (RFC 2544), in which a link has its own addresses; it is never routed.
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const LAST: Ipv4Addr = Ipv4Addr::new(198, 19, 255, 255);
/// The address behind the network of the link itself.
const FREE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 4);

/// Addresses that connections over a link may come from, besides its own.
pub const SOURCES: RangeInclusive<Ipv4Addr> = FREE..=LAST;

impl Link {
    /// Lets connections be made from these addresses, too, which are some of [`SOURCES`].
    ///
    /// # Errors
    ///
    /// `ip` refuses.
    pub fn have_sources(&self, ranges: &[RangeInclusive<Ipv4Addr>]) -> Result<(), LinkError> {
        for (network, bits) in ranges.iter().flat_map(prefixes) {
            ip(self.generator(), &format!("route replace local {network}/{bits} dev lo"))?;
            ip(self.subject(), &format!("route replace {network}/{bits} via {GENERATOR} dev {DEVICE}"))?;
        }
        Ok(())
    }
}

/// A range as prefixes, each as large as can be.
fn prefixes(range: &RangeInclusive<Ipv4Addr>) -> Vec<(Ipv4Addr, u32)> {
    let (mut at, last) = (u64::from(range.start().to_bits()), u64::from(range.end().to_bits()));
    let mut found = Vec::new();
    while at <= last {
        let aligned = if at == 0 { 32 } else { at.trailing_zeros() };
        let host_bits = aligned.min((last - at + 1).ilog2());
        found.push((Ipv4Addr::from_bits(at as u32), 32 - host_bits));
        at += 1 << host_bits;
    }
    found
}

const _: () = assert!(GENERATOR.to_bits() & !3 == FIRST.to_bits() && FREE.to_bits() == FIRST.to_bits() + 4);

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: &str, last: &str) -> Vec<String> {
        let found = prefixes(&(first.parse().unwrap()..=last.parse().unwrap()));
        found.iter().map(|(network, bits)| format!("{network}/{bits}")).collect()
    }

    #[test]
    fn a_range_is_the_fewest_prefixes() {
        assert_eq!(of("198.18.1.1", "198.18.1.1"), ["198.18.1.1/32"]);
        assert_eq!(of("198.19.0.0", "198.19.255.255"), ["198.19.0.0/16"]);
        assert_eq!(of("10.0.0.1", "10.0.0.6"), ["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/31", "10.0.0.6/32"]);
        assert_eq!(of("0.0.0.0", "255.255.255.255"), ["0.0.0.0/0"]);
        assert!(of("10.0.0.2", "10.0.0.1").is_empty());
    }
}
