//! `bakeoff load`: check for room for the connections, before the run.
//!
//! Cold. Says what is needed, what there is, and which flag or setting gives more.

use crate::Failure;
use bakeoff_loadgen::Target;
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

/// Refuses ports that may not be had, and more connections at once than there are ports to the target. A sentence
/// where there are enough of the kernel's and they are slow to find: it gives out every second port first, and when
/// those are gone it goes through all of them for each connection (measured: 2.3 ms of CPU in place of 0.02).
pub(super) fn ports(connections: usize, target: &Target) -> Result<Option<String>, Failure> {
    let room = match target.ports {
        Some(ports) => {
            ports.ensure_allowed().map_err(Failure::failed)?;
            let slow = ports.are_the_kernels();
            Some(Room { each: ports.count(), whose: format!("--ports {ports}"), slow })
        }
        None => {
            let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok();
            let each = range.and_then(|text| ports_of(&text));
            each.map(|each| Room { each, whose: "net.ipv4.ip_local_port_range".to_owned(), slow: true })
        }
    };
    let addresses = target.from.count().max(1);
    room.map_or(Ok(None), |room| room.for_so_many(connections as u64, addresses, target.address))
}

/// The ports of a local address.
struct Room {
    each: u64,
    /// What says how many they are.
    whose: String,
    /// Whether they are slow to find when most are taken.
    slow: bool,
}

impl Room {
    fn for_so_many(
        &self,
        connections: u64,
        addresses: u64,
        to: SocketAddr,
    ) -> Result<Option<String>, Failure> {
        let Self { each, whose, slow } = self;
        let there = each.saturating_mul(addresses);
        let example = if to.ip().is_loopback() { "127.0.0.2-127.0.0.9" } else { "FIRST-LAST" };
        let wish = format!(
            "{addresses} local address(es) have {there} ({whose} has {each}); give more addresses with --from, such \
             as {example}"
        );
        if connections > there {
            let need = format!("{connections} connections at once need as many local ports, and");
            return Err(Failure::usage(format!("{need} {wish}")));
        }
        Ok((*slow && connections > there / 2).then(|| {
            format!("{connections} connections take more than half of the local ports, and past that each takes milliseconds to open: {wish}")
        }))
    }
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

    fn target() -> Target {
        Target::plain("127.0.0.1:80".parse().unwrap(), "127.0.0.1".to_owned())
    }

    #[test]
    fn too_many_for_the_ports_is_said_beforehand() {
        let one = target();
        assert!(matches!(ports(1, &one), Ok(None)));
        let message = ports(200_000, &one).unwrap_err().message;
        assert!(message.contains("--from"), "{message}");
        let many = Target { from: "127.0.1.0/24".parse().unwrap(), ..target() };
        assert!(ports(200_000, &many).is_ok());
        let few = Target { ports: "2001:2100".parse().ok(), ..target() };
        assert!(ports(100, &few).is_ok());
        let message = ports(101, &few).unwrap_err().message;
        assert!(message.contains("--ports 2001:2100 has 100"), "{message}");
    }

    #[test]
    fn more_than_half_of_the_ports_is_slow_and_said() {
        let room = Room { each: 28_232, whose: "the kernel".to_owned(), slow: true };
        let to = target().address;
        let said = |connections, addresses| room.for_so_many(connections, addresses, to).unwrap();
        assert_eq!((said(14_116, 1), said(28_232, 2)), (None, None));
        let sentence = said(14_117, 1).unwrap();
        assert!(sentence.contains("14117") && sentence.contains("--from"), "{sentence}");
        assert!(room.for_so_many(28_233, 1, to).is_err());
    }
}
