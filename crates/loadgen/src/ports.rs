//! Local ports of connections, restricted to a range.
//!
//! Measuring side; called once a connection. Owns the next port and the way in which it is chosen: by the kernel, where
//! it keeps to such a range by itself, else here, in turn, so that each port rests as long as can be. Opens nothing.

use bakeoff_sys::net::{self, Local, LocalPort, PortRange};
use std::collections::HashMap;
use std::fmt::{self, Display};
use std::io;
use std::net::IpAddr;
use std::str::FromStr;

/// Ports that are tried for one connection: those in use are passed over, and where all of these are taken the range
/// counts as used up.
const TRIES: u32 = 256;

/// A range of local ports, for each local address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalPorts(PortRange);

/// A text that is no range of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no range of ports: it is FIRST:LAST, both of them from 1 to 65535 and the first below the last; such \
     as 1024:30000"
)]
pub struct PortsError(String);

impl LocalPorts {
    /// Number of ports that an address has.
    pub fn count(self) -> u64 {
        u64::from(self.0.count())
    }

    /// First and last.
    pub const fn ends(self) -> (u16, u16) {
        (self.0.first(), self.0.last())
    }

    /// Checks that this process may have them.
    ///
    /// # Errors
    ///
    /// The first may not be had; those behind it may then not be, either.
    pub fn ensure_allowed(self) -> Result<(), PortsRefused> {
        if net::may_have_port(self.0.first()) { Ok(()) } else { Err(PortsRefused(self)) }
    }

    /// Whether the kernel keeps to them by itself.
    pub fn are_the_kernels(self) -> bool {
        net::kernel_gives(self.0)
    }
}

/// The reason for which connections may not come from a range of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "connections may not come from ports {0}: those below net.ipv4.ip_unprivileged_port_start (1024 unless it was \
     changed) need root or CAP_NET_BIND_SERVICE; begin at 1024 or above"
)]
pub struct PortsRefused(LocalPorts);

impl FromStr for LocalPorts {
    type Err = PortsError;

    fn from_str(text: &str) -> Result<Self, PortsError> {
        let wrong = || PortsError(text.to_owned());
        let (first, last) = text.split_once(':').ok_or_else(wrong)?;
        let port = |part: &str| part.trim().parse().map_err(|_| wrong());
        PortRange::new(port(first)?, port(last)?).map(Self).ok_or_else(wrong)
    }
}

impl Display for LocalPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.ends();
        write!(f, "{first}:{last}")
    }
}

/// The allocators of ports for a worker's connections.
#[derive(Debug, Default)]
pub(crate) enum Givers {
    /// The kernel, from all its ports.
    #[default]
    Kernel,
    /// The kernel, within this range.
    KernelWithin(PortRange),
    /// This worker, in turn.
    InTurn(Turns),
}

/// A worker's ports of each address: with several workers each has every so many-th one.
#[derive(Debug)]
pub(crate) struct Turns {
    range: PortRange,
    /// The worker's number, and the number of workers.
    place: (u32, u32),
    /// The next port of each address, as a place in the range.
    next: HashMap<Option<IpAddr>, u32>,
}

impl Givers {
    /// The allocators for the worker at this place.
    pub(crate) fn new(ports: Option<LocalPorts>, (worker, workers): (usize, usize)) -> Self {
        match ports {
            None => Self::Kernel,
            Some(ports) if ports.are_the_kernels() => Self::KernelWithin(ports.0),
            Some(LocalPorts(range)) => {
                let workers = u32::try_from(workers).unwrap_or(u32::MAX);
                let worker = u32::try_from(worker).unwrap_or(0);
                Self::InTurn(Turns { range, place: (worker, workers.max(1)), next: HashMap::new() })
            }
        }
    }

    /// The local end of the next connection from this address.
    pub(crate) fn next(&mut self, address: Option<IpAddr>) -> Local {
        let port = match self {
            Self::Kernel => LocalPort::Any,
            Self::KernelWithin(range) => LocalPort::Within(*range),
            Self::InTurn(turns) => LocalPort::This(turns.next(address)),
        };
        Local { address, port }
    }

    /// Begins a connection from this address. A port in use is passed over.
    pub(crate) fn begin<T>(
        &mut self,
        address: Option<IpAddr>,
        mut begin: impl FnMut(Local) -> io::Result<T>,
    ) -> io::Result<T> {
        let tries = match self {
            Self::InTurn(turns) => TRIES.min(turns.range.count()),
            Self::Kernel | Self::KernelWithin(_) => 1,
        };
        let mut begun = begin(self.next(address));
        for _ in 1..tries {
            match begun {
                Err(why) if why.kind() == io::ErrorKind::AddrInUse => begun = begin(self.next(address)),
                other => return other,
            }
        }
        begun
    }
}

impl Turns {
    fn next(&mut self, address: Option<IpAddr>) -> u16 {
        let ((worker, workers), count) = (self.place, self.range.count());
        let next = self.next.entry(address).or_insert(worker);
        let place = if *next < count { *next } else { worker % count };
        *next = place + workers;
        // A place in the range is below its length, so that the sum is a port.
        self.range.first() + place as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_turn(first: u16, last: u16, place: (u32, u32)) -> Givers {
        let range = PortRange::new(first, last).unwrap();
        Givers::InTurn(Turns { range, place, next: HashMap::new() })
    }

    fn ports(givers: &mut Givers, address: Option<IpAddr>, count: usize) -> Vec<u16> {
        let port = |local: Local| match local.port {
            LocalPort::This(port) => port,
            other => panic!("{other:?}"),
        };
        (0..count).map(|_| port(givers.next(address))).collect()
    }

    #[test]
    fn a_range_is_read_as_polyclt_wrote_it() {
        let ports: LocalPorts = "1024:30000".parse().unwrap();
        assert_eq!(
            (ports.count(), ports.ends(), ports.to_string().as_str()),
            (28_977, (1024, 30_000), "1024:30000")
        );
        for wrong in ["", "1024", "1024-30000", "0:9", "9:9", "9:8", "1:65536", "-1:9", "a:b", "1:2:3"] {
            let said = wrong.parse::<LocalPorts>().unwrap_err().to_string();
            assert!(said.contains(&format!("`{wrong}`")) && said.contains("1024:30000"), "{said}");
        }
    }

    #[test]
    fn each_address_has_all_ports_in_turn() {
        let mut givers = in_turn(7, 9, (0, 1));
        let (one, other) = ("127.0.0.1".parse().ok(), "127.0.0.2".parse().ok());
        assert_eq!(ports(&mut givers, one, 4), [7, 8, 9, 7]);
        assert_eq!(ports(&mut givers, other, 2), [7, 8]);
        assert_eq!(ports(&mut givers, one, 2), [8, 9]);
        assert_eq!(ports(&mut in_turn(65_534, 65_535, (0, 1)), None, 3), [65_534, 65_535, 65_534]);
    }

    #[test]
    fn workers_share_a_range_and_none_is_left_over() {
        let workers = [0, 1, 2].map(|worker| ports(&mut in_turn(10, 17, (worker, 3)), None, 4));
        assert_eq!(workers, [[10, 13, 16, 10], [11, 14, 17, 11], [12, 15, 12, 15]]);
        // More workers than ports: they meet, and pass over ports in use.
        assert_eq!(ports(&mut in_turn(10, 11, (5, 8)), None, 2), [11, 11]);
    }

    #[test]
    fn ports_of_others_are_passed_over_and_a_range_that_is_used_up_is_said() {
        let taken = || io::Error::from(io::ErrorKind::AddrInUse);
        let mut givers = in_turn(10, 14, (0, 1));
        let begun = givers.begin(None, |local| match local.port {
            LocalPort::This(port @ 12..) => Ok(port),
            _ => Err(taken()),
        });
        assert_eq!(begun.unwrap(), 12);
        let mut tried = 0;
        let begun: io::Result<()> = givers.begin(None, |_| {
            tried += 1;
            Err(taken())
        });
        assert_eq!((begun.unwrap_err().kind(), tried), (io::ErrorKind::AddrInUse, 5));
        // A refused connection stays refused, whatever the port.
        let begun: io::Result<()> = givers.begin(None, |_| {
            tried += 1;
            Err(io::ErrorKind::ConnectionRefused.into())
        });
        assert_eq!((begun.unwrap_err().kind(), tried), (io::ErrorKind::ConnectionRefused, 6));
        assert_eq!(Givers::Kernel.next(None), Local::default());
    }
}
