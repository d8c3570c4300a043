//! Check of a new link by measurement: payload carried by one TCP connection, and the one-way delay of single packets.

use crate::LinkError;
use crate::end::End;
use crate::shape::{FRAME, bytes_in, time_for};
use bakeoff_units::{BitsPerSecond, Bytes, Clock, MonotonicClock, Nanos};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// Length of a transfer, or so many frames if they take longer.
const TRANSFER: Nanos = Nanos::from_millis(400);
const TRANSFER_FRAMES: u64 = 60;
/// Its beginning does not count: the bucket is full, TCP starts slowly.
const START: Nanos = Nanos::from_millis(100);
/// A link without a byte for so long, on top of the expected time, is dead.
const PATIENCE: Duration = Duration::from_secs(5);
/// One-way probes, and the time between two.
const PROBES: usize = 200;
const PROBE_GAP: Duration = Duration::from_millis(1);

/// One-way delays of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Shortest.
    pub min: Nanos,
    /// Median.
    pub median: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// Longest.
    pub max: Nanos,
    /// Number of packets.
    pub count: u64,
}

impl Delays {
    /// The delays of a histogram.
    pub fn of(histogram: &bakeoff_meter::Histogram) -> Self {
        let at = |q| histogram.quantile(q);
        Self { min: at(0.0), median: at(0.5), p99: at(0.99), max: at(1.0), count: histogram.count() }
    }
}

/// TCP payload a second, of one connection.
pub(crate) fn carried(from: &End, to: &End, rate: BitsPerSecond) -> Result<BitsPerSecond, LinkError> {
    let listener = from.inside(|| TcpListener::bind((from.address, 0)))?;
    let address = listener.local_addr().map_err(LinkError::Dead)?;
    let received = std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&listener));
        let received = to.inside(|| TcpStream::connect_timeout(&address, PATIENCE)).map(|stream| {
            receive(&stream, rate).map_err(LinkError::Dead)
            // Dropping the stream ends the sender.
        });
        // Should the connection never have been made, the sender still waits for one.
        let _ = from.inside(|| TcpStream::connect_timeout(&address, PATIENCE));
        let _ = sender.join();
        received
    })??;
    BitsPerSecond::new(received).ok_or(LinkError::Dead(io::ErrorKind::TimedOut.into()))
}

/// Sends until the receiver has enough.
fn send(listener: &TcpListener) {
    let Ok((mut stream, _)) = listener.accept() else { return };
    let bytes = [0x5a; 16 * 1024];
    while stream.write_all(&bytes).is_ok() {}
}

/// Makes a call until no signal ends it: with a time limit the kernel does not begin it anew, not even after a process
/// was stopped and goes on (signal(7)).
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Bits a second between two reads, so that both ends of the time are moments at which bytes came.
fn receive(mut stream: &TcpStream, rate: BitsPerSecond) -> io::Result<u64> {
    let enough = TRANSFER.max(time_for(rate, Bytes::new(FRAME.get() * TRANSFER_FRAMES)));
    stream.set_read_timeout(Some(PATIENCE + enough.as_duration()))?;
    let clock = MonotonicClock::new();
    let mut buffer = vec![0; 256 * 1024];
    let skipped = bytes_in(rate, START).max(4 * FRAME.get());
    let (mut total, mut counted, mut begin) = (0_u64, 0_u64, None);
    loop {
        let length = uninterrupted(|| stream.read(&mut buffer))?;
        let now = clock.now();
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        total += length as u64;
        match begin {
            None if total >= skipped => begin = Some(now),
            None => {}
            Some(begin) => {
                counted += length as u64;
                if now.since(begin) >= enough {
                    return Ok((counted as f64 * 8.0 / now.since(begin).as_secs_f64()) as u64);
                }
            }
        }
    }
}

/// One-way delay of single small packets from a socket to a socket, waking the receiver included.
pub(crate) fn one_way(from: &End, to: &End, asked: Nanos) -> Result<Delays, LinkError> {
    let receiver = to.inside(|| UdpSocket::bind((to.address, 0)))?;
    let sender = from.inside(|| UdpSocket::bind((from.address, 0)))?;
    let target = receiver.local_addr().map_err(LinkError::Dead)?;
    let timeout = asked.as_duration() + Duration::from_millis(500);
    receiver.set_read_timeout(Some(timeout)).map_err(LinkError::Dead)?;
    let clock = MonotonicClock::new();
    std::thread::scope(|scope| {
        let probing = scope.spawn(|| probe(&sender, target, clock));
        let mut delays = bakeoff_meter::Histogram::new();
        let mut stamp = [0; 8];
        while delays.count() < PROBES as u64 {
            match uninterrupted(|| receiver.recv(&mut stamp)) {
                Ok(8) => delays.record(clock.now().since(Nanos::new(u64::from_ne_bytes(stamp)))),
                Ok(_) => {}
                Err(_) => break, // what is lost does not come; see below for nothing at all
            }
        }
        let sent = probing.join().unwrap_or_else(|_| Err(io::Error::other("the sender panicked")));
        sent.map_err(LinkError::Dead)?;
        match delays.count() {
            0 => Err(LinkError::Dead(io::ErrorKind::TimedOut.into())),
            _ => Ok(Delays::of(&delays)),
        }
    })
}

fn probe(sender: &UdpSocket, target: SocketAddr, clock: MonotonicClock) -> io::Result<()> {
    for _ in 0..PROBES {
        sender.send_to(&clock.now().get().to_ne_bytes(), target)?;
        std::thread::sleep(PROBE_GAP);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_ends_no_check() {
        let mut calls = 0;
        let mut call = || {
            calls += 1;
            if calls < 3 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(calls) }
        };
        assert_eq!(uninterrupted(&mut call).unwrap(), 3);
        let other = uninterrupted(|| Err::<(), _>(io::ErrorKind::TimedOut.into()));
        assert_eq!(other.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
