//! The host that asks: round trips, then a stream there, then one back.

use super::frame::Frame;
use super::stream::Peer;
use super::{GRACE, NetworkError};
use bakeoff_units::{BitsPerSecond, Bytes, Clock, MonotonicClock, Nanos};
use serde::{Serialize, Serializer};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the network does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Who answered.
    pub listener: SocketAddr,
    /// Time to open the connection.
    #[serde(rename = "connect_ns", serialize_with = "nanos")]
    pub connect: Nanos,
    /// A request of 16 bytes and a reply of 16 bytes, one after the other.
    pub round_trips: RoundTrips,
    /// The stream from here to the listener.
    pub there: Throughput,
    /// The stream from the listener to here.
    pub back: Throughput,
}

/// Round trips.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundTrips {
    /// How many.
    pub count: u64,
    /// How many a second.
    pub per_second: f64,
    /// Half were faster.
    #[serde(rename = "p50_ns", serialize_with = "nanos")]
    pub p50: Nanos,
    /// 99 of 100 were faster.
    #[serde(rename = "p99_ns", serialize_with = "nanos")]
    pub p99: Nanos,
}

/// A stream, as its receiver saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Bytes, without the first block.
    #[serde(serialize_with = "bytes")]
    pub bytes: Bytes,
    /// From the end of the first block to the end of the last.
    #[serde(rename = "time_ns", serialize_with = "nanos")]
    pub time: Nanos,
    /// Bits per second of payload; `None` when not even two blocks came.
    #[serde(rename = "bits_per_second", serialize_with = "bits")]
    pub rate: Option<BitsPerSecond>,
}

/// More samples tell nothing more, and take memory.
const MOST_ROUND_TRIPS: usize = 200_000;
/// A listener that is busy with strangers may take so long to let us in.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// Of the whole time, for each of the three parts; the rest is for setting up and ends.
const PART: f64 = 0.3;

/// Measures for `time`, at most [`super::LONGEST`].
///
/// # Errors
/// Nobody listens there, or what listens is no bakeoff of this version, or it broke off.
pub fn ask(listener: SocketAddr, time: Nanos, interrupted: &AtomicBool) -> Result<Answer, NetworkError> {
    ask_patiently(listener, time, PATIENCE, interrupted)
}

/// The same, with another time to be let in.
pub(super) fn ask_patiently(
    listener: SocketAddr,
    time: Nanos,
    patience: Nanos,
    interrupted: &AtomicBool,
) -> Result<Answer, NetworkError> {
    let clock = MonotonicClock::new();
    let began = clock.now();
    let stream = TcpStream::connect_timeout(&listener, patience.as_duration())
        .map_err(|why| NetworkError::Connect { address: listener, why })?;
    let connect = clock.now().since(began);
    let mut peer = Peer::new(stream, listener, patience)?;
    peer.say(Frame::Hello(time.get()))?;
    let granted = match peer.hear()? {
        Frame::Welcome(ns) => Nanos::new(ns).min(time),
        _ => return Err(NetworkError::Stranger { peer: listener }),
    };
    peer.allow(granted + GRACE);
    let part = granted.times(PART);
    let go_on = || match interrupted.load(Ordering::Relaxed) {
        true => Err(NetworkError::Interrupted),
        false => Ok(()),
    };
    go_on()?;
    let round_trips = round_trips(&mut peer, part)?;
    go_on()?;
    let there = there(&mut peer, part)?;
    go_on()?;
    let back = back(&mut peer, part)?;
    peer.say(Frame::Bye)?;
    Ok(Answer { listener, connect, round_trips, there, back })
}

fn round_trips(peer: &mut Peer, time: Nanos) -> Result<RoundTrips, NetworkError> {
    let began = peer.now();
    let mut times: Vec<Nanos> = Vec::new();
    let mut now = began;
    while times.is_empty() || (now.since(began) < time && times.len() < MOST_ROUND_TRIPS) {
        let number = times.len() as u64;
        peer.say(Frame::Ping(number))?;
        if peer.hear()? != Frame::Pong(number) {
            return Err(peer.broken("an answer to another question"));
        }
        let after = peer.now();
        times.push(after.since(now));
        now = after;
    }
    times.sort_unstable();
    let at = |quantile: f64| times[((times.len() - 1) as f64 * quantile).round() as usize];
    let spent = now.since(began).as_secs_f64().max(1e-9);
    Ok(RoundTrips {
        count: times.len() as u64,
        per_second: times.len() as f64 / spent,
        p50: at(0.5),
        p99: at(0.99),
    })
}

fn there(peer: &mut Peer, time: Nanos) -> Result<Throughput, NetworkError> {
    let end = peer.now() + time;
    peer.send_block()?;
    while peer.now() < end {
        peer.send_block()?;
    }
    peer.say(Frame::End)?;
    match (peer.hear()?, peer.hear()?) {
        (Frame::Received(bytes), Frame::Took(ns)) => Ok(Throughput::of(bytes, Nanos::new(ns))),
        _ => Err(peer.broken("no count of what it received")),
    }
}

fn back(peer: &mut Peer, time: Nanos) -> Result<Throughput, NetworkError> {
    peer.say(Frame::Send(time.get()))?;
    let (mut bytes, mut began) = (0, None);
    loop {
        match peer.hear()? {
            Frame::Block(length) => {
                peer.skip(length)?;
                match began {
                    None => began = Some(peer.now()),
                    Some(_) => bytes += u64::from(length),
                }
            }
            Frame::End => {
                let now = peer.now();
                return Ok(Throughput::of(bytes, now.since(began.unwrap_or(now))));
            }
            other => return Err(peer.broken(format!("{other:?} among blocks"))),
        }
    }
}

impl Throughput {
    fn of(bytes: u64, time: Nanos) -> Self {
        let bits = (bytes as f64 * 8.0 / time.as_secs_f64()) as u64; // `as` maps NaN to 0
        let rate = if bytes == 0 || time == Nanos::ZERO { None } else { BitsPerSecond::new(bits) };
        Self { bytes: Bytes::new(bytes), time, rate }
    }
}

fn nanos<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.get())
}

fn bytes<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(bytes.get())
}

fn bits<S: Serializer>(rate: &Option<BitsPerSecond>, serializer: S) -> Result<S::Ok, S::Error> {
    rate.map(BitsPerSecond::get).serialize(serializer)
}
