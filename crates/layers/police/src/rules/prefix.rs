//! Prefixes of addresses.
//!
//! Measured side, pure.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address and the number of its significant bits; the others are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressPrefix {
    address: IpAddr,
    length: u8,
}

impl AddressPrefix {
    /// The prefix of this length that contains an address; `None` if the address has fewer bits.
    pub fn of(address: IpAddr, length: u8) -> Option<Self> {
        let address = match address {
            IpAddr::V4(v4) if length <= 32 => {
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) if length <= 128 => {
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
            _ => return None,
        };
        Some(Self { address, length })
    }

    /// Its first address.
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// Number of significant bits: 0 to 32, or 0 to 128.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Whether an address is in it.
    pub fn holds(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Self::of(address, self.length) == Some(self)
    }
}

impl fmt::Display for AddressPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}
