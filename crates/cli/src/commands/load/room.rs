//! `bakeoff load`: whether the machine has room for so many connections, found out beforehand.
//!
//! Cold. Says what is needed, what there is, and which flag or setting gives more.

use crate::Failure;
use bakeoff_loadgen::LocalAddresses;
use std::fs;
use std::net::SocketAddr;

/// What the process needs besides its connections.
const OTHERS: u64 = 64;

/// Raises the limit of descriptors as far as it may, and refuses what does not fit.
pub(super) fn descriptors(connections: usize) -> Result<(), Failure> {
    let wanted = connections as u64 + OTHERS;
    match bakeoff_sys::rlimit::raise_open_files(wanted) {
        Ok(limit) if limit.soft >= wanted => Ok(()),
        Ok(limit) => Err(Failure::failed(format!(
            "{connections} connections need {wanted} file descriptors and the limit is {}; raise it (`ulimit -n {wanted}`) \
             or take fewer --connections",
            limit.soft
        ))),
        Err(why) => Err(Failure::failed(format!("the limit of file descriptors cannot be read: {why}"))),
    }
}

/// Refuses more connections at once than there are ports to the target.
pub(super) fn ports(connections: usize, from: &LocalAddresses, to: SocketAddr) -> Result<(), Failure> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok();
    let Some(each) = range.and_then(|text| ports_of(&text)) else { return Ok(()) };
    let addresses = from.count().max(1);
    let there = each.saturating_mul(addresses);
    if connections as u64 <= there {
        return Ok(());
    }
    let hint = if to.ip().is_loopback() { "127.0.0.2-127.0.0.9" } else { "FIRST-LAST" };
    Err(Failure::usage(format!(
        "{connections} connections at once need as many local ports, and {addresses} local address(es) have {there} \
         (net.ipv4.ip_local_port_range has {each}); give more addresses with --from, such as {hint}"
    )))
}

/// Both ends are in the range.
fn ports_of(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    (last + 1).checked_sub(first)
}

/// Connections in TIME_WAIT on this machine (in this network namespace), if the kernel tells.
pub(super) fn time_wait() -> Option<u64> {
    let text = fs::read_to_string("/proc/net/sockstat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw").skip(1);
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_counted_with_both_ends() {
        assert_eq!(ports_of("32768\t60999\n"), Some(28_232));
        assert_eq!((ports_of("7"), ports_of("9 7")), (None, None));
    }

    #[test]
    fn too_many_for_the_ports_is_said_beforehand() {
        let to = "127.0.0.1:80".parse().unwrap();
        let one = LocalAddresses::default();
        assert!(ports(1, &one, to).is_ok());
        let message = ports(200_000, &one, to).unwrap_err().message;
        assert!(message.contains("--from"), "{message}");
        assert!(ports(200_000, &"127.0.1.0/24".parse().unwrap(), to).is_ok());
    }
}
