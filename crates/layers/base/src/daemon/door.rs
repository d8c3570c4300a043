//! TCP listener with one thread a connection, and the seats of connections.
//!
//! Measured side, hot once a connection, before anything else is known of a peer. A connection is a stranger's until
//! its host says that it is not. Strangers have few seats, fewer of one address; when these are taken the connection
//! that has waited longest gives way to the new one. So silence keeps nobody out, and no stranger takes the seat of a
//! known peer. The host decides the protocol, who is known, and how long a connection may last.

use super::mount::STATUS_DELAY;
use crate::locks::lock;
use crate::named;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;
use thiserror::Error;

/// Time limit for a connection's first byte.
const FIRST_BYTE: Duration = Duration::from_secs(2);

/// The address cannot be listened on.
#[derive(Debug, Error)]
#[error("cannot listen on {address}: {error}")]
pub struct ListenError {
    address: SocketAddr,
    error: io::Error,
}

/// Listens, and returns the address that it got, as port 0 means any port.
///
/// # Errors
/// The kernel's error.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let bound = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
    bound.map(|(at, listener)| (listener, at)).map_err(|error| ListenError { address, error })
}

/// Limits on connections at a time.
#[derive(Clone, Copy, Debug)]
pub struct SeatLimits {
    /// All.
    pub all: usize,
    /// Those of strangers.
    pub strangers: usize,
    /// Strangers of one address, or of one network of IPv6.
    pub strangers_of_address: usize,
}

named! {
    /// Reasons why a stranger's connection is closed.
    pub enum SentAway {
        /// Known peers have all seats, or no thread can be had.
        TooMany "too-many-connections",
        /// A newer stranger took its seat.
        TooManyStrangers "too-many-strangers",
        /// A newer one of its own address did.
        TooManyOfAddress "too-many-of-address",
        /// It said nothing in time.
        Silent "silent",
    }
}

/// Server that handles the connections.
pub trait ConnectionHandler: Send + Sync + 'static {
    /// Connections at present.
    fn seats(&self) -> &Arc<Seats>;

    /// Serves one connection until its end; says to its seat when the peer is known.
    fn attend(&self, stream: TcpStream, seat: &Seat);

    /// Counts a connection that was closed.
    fn send_away(&self, why: SentAway);
}

/// Seats of a server's connections.
#[derive(Debug)]
pub struct Seats {
    limits: SeatLimits,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    last: u64,
    /// Strangers, the oldest first, with what closes their connections.
    strangers: BTreeMap<u64, (IpAddr, TcpStream)>,
}

/// Seat of a connection, until it is dropped.
#[derive(Debug)]
pub struct Seat {
    seats: Arc<Seats>,
    number: u64,
    machine: IpAddr,
}

impl Seats {
    /// Empty seats.
    pub fn new(limits: SeatLimits) -> Arc<Self> {
        Arc::new(Self { limits, taken: Mutex::default() })
    }

    /// Number of connections.
    pub fn taken(&self) -> usize {
        lock(&self.taken).all
    }

    /// Gives a stranger a seat, and says why another one lost his, if one did.
    fn take(
        self: &Arc<Self>,
        stream: &TcpStream,
        address: IpAddr,
    ) -> Result<(Seat, Option<SentAway>), SentAway> {
        let closer = stream.try_clone().map_err(|_| SentAway::TooMany)?;
        let machine = machine(address);
        let mut taken = lock(&self.taken);
        let of_address = taken.strangers.iter().filter(|(_, (its, _))| *its == machine);
        let (first, count) = (of_address.clone().next().map(|(number, _)| *number), of_address.count());
        let oldest = taken.strangers.keys().next().copied();
        let is_full = taken.all >= self.limits.all || taken.strangers.len() >= self.limits.strangers;
        let loses = if count >= self.limits.strangers_of_address {
            first.map(|number| (number, SentAway::TooManyOfAddress))
        } else if is_full {
            Some((oldest.ok_or(SentAway::TooMany)?, SentAway::TooManyStrangers))
        } else {
            None
        };
        if let Some((_, loser)) = loses.and_then(|(number, _)| taken.strangers.remove(&number)) {
            let _ = loser.shutdown(Shutdown::Both);
        }
        taken.all += 1;
        taken.last += 1;
        let number = taken.last;
        taken.strangers.insert(number, (machine, closer));
        Ok((Seat { seats: self.clone(), number, machine }, loses.map(|(_, why)| why)))
    }
}

impl Seat {
    /// Notes that its peer is no stranger.
    pub fn is_known(&self) {
        lock(&self.seats.taken).strangers.remove(&self.number);
    }

    /// Where the peer is: its address, or network of IPv6.
    pub const fn machine(&self) -> IpAddr {
        self.machine
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = lock(&self.seats.taken);
        taken.all = taken.all.saturating_sub(1);
        taken.strangers.remove(&self.number);
    }
}

/// An address as one peer has it: of IPv6 he has the lower 64 bits, too.
fn machine(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// Accepts connections in a thread of its own, as long as the host exists.
///
/// # Errors
/// The thread cannot be started.
pub fn open<H: ConnectionHandler>(listener: TcpListener, host: Weak<H>) -> io::Result<()> {
    thread::Builder::new().name("accept".to_owned()).spawn(move || accept(&listener, &host)).map(drop)
}

fn accept<H: ConnectionHandler>(listener: &TcpListener, host: &Weak<H>) {
    loop {
        let accepted = listener.accept();
        let Some(host) = host.upgrade() else { return };
        match accepted {
            Ok((stream, address)) => take(&host, stream, address.ip()),
            // Out of descriptors: they come back when connections close.
            Err(_) => thread::sleep(STATUS_DELAY),
        }
    }
}

fn take<H: ConnectionHandler>(host: &Arc<H>, stream: TcpStream, address: IpAddr) {
    let seat = match host.seats().take(&stream, address) {
        Ok((seat, loses)) => {
            loses.into_iter().for_each(|why| host.send_away(why));
            seat
        }
        Err(why) => return host.send_away(why),
    };
    let its = host.clone();
    let attended =
        thread::Builder::new().name("connection".to_owned()).spawn(move || match speaks(&stream) {
            Ok(()) => its.attend(stream, &seat),
            Err(error) if error.kind() == ErrorKind::WouldBlock => its.send_away(SentAway::Silent),
            Err(_) => {}
        });
    if attended.is_err() {
        host.send_away(SentAway::TooMany);
    }
}

/// Waits for the first byte, which stays to be read.
fn speaks(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(FIRST_BYTE))?;
    stream.peek(&mut [0])?;
    stream.set_read_timeout(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const LIMITS: SeatLimits = SeatLimits { all: 6, strangers: 4, strangers_of_address: 2 };

    #[test]
    fn a_stranger_takes_the_seat_of_a_stranger_alone() {
        let (listener, seats) = (TcpListener::bind("127.0.0.1:0").unwrap(), Seats::new(LIMITS));
        let all = RefCell::new(Vec::new());
        let come = |address: &str, is_known: bool| {
            let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (seat, loses) = seats.take(&listener.accept().unwrap().0, address.parse().unwrap())?;
            if is_known {
                seat.is_known();
            }
            all.borrow_mut().push((peer, seat));
            Ok(loses)
        };
        let (own, all_lose) = (Some(SentAway::TooManyOfAddress), Some(SentAway::TooManyStrangers));
        // An address has two strangers, and the next ones put out the older.
        let losers = [(); 4].map(|()| come("192.0.2.2", false));
        assert_eq!(losers, [Ok(None), Ok(None), Ok(own), Ok(own)]);
        // Who is known is put out by nobody, and leaves room to the strangers of his address.
        assert_eq!(["192.0.2.3"; 2].map(|at| come(at, true)), [Ok(None); 2]);
        assert_eq!(come("192.0.2.3", false), Ok(all_lose), "six seats are taken");
        drop(all.borrow_mut().drain(..4));
        assert_eq!(["192.0.2.3"; 3].map(|at| come(at, true)), [Ok(None); 3]);
        assert_eq!(come("192.0.2.3", true), Ok(all_lose), "the last stranger");
        assert_eq!(come("192.0.2.3", true), Err(SentAway::TooMany));
    }

    #[test]
    fn a_network_of_ipv6_is_one_machine() {
        let at = |text: &str| machine(text.parse().unwrap());
        assert_eq!(at("2001:db8:1:2::3"), at("2001:db8:1:2:ffff::4"));
        assert_ne!(at("2001:db8:1:2::3"), at("2001:db8:1:3::3"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
    }
}
