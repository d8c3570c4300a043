//! Ranges of local ports within which the kernel keeps connections by itself.
//!
//! Both sides of the wall; looked up once a run.

use super::local::{Local, LocalPort, PortRange, bind_local, tcp_socket};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

/// Whether the kernel keeps connections within this range by itself ([`LocalPort::Within`]). It does so since Linux
/// 6.3, and only with ports that `net.ipv4.ip_local_port_range` of this network has: it silently ignores a bound
/// outside of those.
pub fn kernel_gives(range: PortRange) -> bool {
    let there = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok();
    let there = there.as_deref().and_then(parse).is_some_and(|there| there.holds(range));
    there && is_taken(range).unwrap_or(false)
}

/// `FIRST LAST`
fn parse(text: &str) -> Option<PortRange> {
    let mut ends = text.split_whitespace().map(|end| end.parse::<u16>().ok());
    PortRange::new(ends.next()??, ends.next()??)
}

/// Whether a socket takes the option.
fn is_taken(range: PortRange) -> io::Result<bool> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let fd = tcp_socket(any)?;
    let from = Local { address: Some(any.ip()), port: LocalPort::Within(range) };
    Ok(bind_local(&fd, any, from).is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::{begin, listen};
    use super::*;
    use std::collections::BTreeSet;

    fn range(first: u16, last: u16) -> PortRange {
        PortRange::new(first, last).unwrap()
    }

    #[test]
    fn a_range_has_two_ports_at_least() {
        assert_eq!(range(1024, 30_000).count(), 28_977);
        assert_eq!(range(1, u16::MAX).count(), 65_535);
        assert_eq!([(0, 9), (9, 9), (9, 8)].map(|(first, last)| PortRange::new(first, last)), [None; 3]);
    }

    #[test]
    fn what_the_kernel_gives_out_is_read_as_it_is_written() {
        assert_eq!(parse("32768\t60999\n"), Some(range(32_768, 60_999)));
        assert_eq!([parse(""), parse("7"), parse("9 x"), parse("60999 32768")], [None; 4]);
        let all = range(32_768, 60_999);
        assert!(all.holds(all) && all.holds(range(40_000, 40_001)));
        assert!(!all.holds(range(1024, 40_000)) && !all.holds(range(40_000, 61_000)));
    }

    /// Where the kernel says that it keeps to a range, it does: never a port outside of it, and in the end none.
    #[test]
    fn the_kernel_keeps_to_a_range_that_it_gives() {
        let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let there = parse(&text).unwrap();
        let few = range(there.last() - 7, there.last());
        assert!(!kernel_gives(range(there.first().saturating_sub(9).max(1), there.last())));
        if !kernel_gives(few) {
            assert!(
                std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(),
                "the kernel has no IP_LOCAL_PORT_RANGE"
            );
            println!(
                "SKIP the_kernel_keeps_to_a_range_that_it_gives: no IP_LOCAL_PORT_RANGE before Linux 6.3"
            );
            return;
        }
        let listener = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let to = listener.local_addr().unwrap();
        let from = Local { address: Some("127.0.0.10".parse().unwrap()), port: LocalPort::Within(few) };
        let begun: Vec<_> = (0..=few.count()).map(|_| begin(to, from, true)).collect();
        let (stand, refused): (Vec<_>, Vec<_>) = begun.into_iter().partition(Result::is_ok);
        let ports: BTreeSet<u16> =
            stand.iter().flatten().map(|stream| stream.local_addr().unwrap().port()).collect();
        // Other programs on this machine may have some of them.
        assert!(!ports.is_empty() && ports.len() == stand.len(), "{ports:?}");
        assert!(ports.iter().all(|port| (few.first()..=few.last()).contains(port)), "{ports:?}");
        let kinds: Vec<_> =
            refused.iter().filter_map(|begun| begun.as_ref().err()).map(io::Error::kind).collect();
        assert!(
            !kinds.is_empty() && kinds.iter().all(|kind| *kind == io::ErrorKind::AddrNotAvailable),
            "{kinds:?}"
        );
    }
}
