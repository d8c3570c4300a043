//! Local ports for concurrent connections: enough of them, or an error that says the number.

use super::EnvironmentError;
use std::net::{IpAddr, UdpSocket};

/// Refuses more connections at once to one address and port than there are local ports for them. `range`: first and
/// last port of outgoing connections, if it can be read; `addresses`: local addresses that the plan names, 0 if the
/// kernel chooses.
///
/// # Errors
/// There are fewer.
pub fn ensure_ports(
    connections: u64,
    range: Option<(u16, u16)>,
    addresses: u64,
) -> Result<(), EnvironmentError> {
    let Some((first, last)) = range else { return Ok(()) };
    let each = u64::from(last.saturating_sub(first)) + 1;
    let addresses = addresses.max(1);
    let there = each.saturating_mul(addresses);
    if connections <= there {
        return Ok(());
    }
    Err(EnvironmentError::Ports { connections, addresses, there, each })
}

/// Refuses a local address that connections are to come from and that this machine does not have.
///
/// # Errors
/// The machine does not have it.
pub fn ensure_address(address: IpAddr) -> Result<(), EnvironmentError> {
    UdpSocket::bind((address, 0)).map(drop).map_err(|why| EnvironmentError::Address { address, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_not_there_is_named_with_what_puts_it_there() {
        assert!(ensure_address([127, 9, 9, 9].into()).is_ok(), "all of 127.0.0.0/8 is");
        let said = ensure_address("2001:db8::7".parse().unwrap()).unwrap_err().to_string();
        assert!(said.contains("ip address add 2001:db8::7/128 dev lo"), "{said}");
        let said = ensure_address([192, 0, 2, 7].into()).unwrap_err().to_string();
        assert!(said.contains("ip address add 192.0.2.7/32 dev lo"), "{said}");
    }

    #[test]
    fn each_local_address_has_all_ports() {
        let range = Some((32_768, 60_999));
        assert!(ensure_ports(28_232, range, 0).is_ok());
        let said = ensure_ports(28_233, range, 0).unwrap_err().to_string();
        assert!(said.contains("28233 connections") && said.contains("have 28232"), "{said}");
        assert!(said.contains("`from`"), "{said}");
        assert!(ensure_ports(56_464, range, 2).is_ok());
        assert!(ensure_ports(56_465, range, 2).is_err());
        assert!(ensure_ports(u64::MAX, None, 0).is_ok());
    }
}
