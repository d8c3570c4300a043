//! Enough local ports for the connections that will be open at once, or an error that says the number.

use super::EnvironmentError;

/// Refuses more connections at once to one address and port than there are local ports for them.
/// `range`: first and last port of outgoing connections, where it can be read; `addresses`: local
/// addresses that the plan names, 0 where the kernel chooses.
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

#[cfg(test)]
mod tests {
    use super::*;

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
