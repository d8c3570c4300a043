//! Both ends against each other, and each against strangers, on loopback.

use super::ask::ask_patiently;
use super::frame::{FRAME, Frame};
use super::serve::session;
use super::stream::Peer;
use super::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

const SHORT: Nanos = Nanos::from_millis(200);
/// Longer than anything here takes on a busy machine.
const LONG: Nanos = Nanos::from_secs(60);
static NEVER: AtomicBool = AtomicBool::new(false);
static NOW: AtomicBool = AtomicBool::new(true);

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

type Serving = thread::JoinHandle<Result<Served, NetworkError>>;

fn serving(listener: Listener) -> (SocketAddr, Serving) {
    let address = listener.address();
    (address, thread::spawn(move || listener.serve(LONG, &NEVER)))
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG.as_duration())).unwrap();
    stream
}

/// What comes until the other side closes; a reset is an end, too.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut part = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut part) {
        all.extend_from_slice(&part[..read]);
    }
    all
}

fn frame(stream: &mut TcpStream) -> Frame {
    let mut bytes = [0; FRAME];
    stream.read_exact(&mut bytes).unwrap();
    Frame::parse(&bytes).unwrap()
}

#[test]
fn two_ends_measure_a_network() {
    let (address, serving) = serving(Listener::bind(any()).unwrap());
    let answer = ask(address, SHORT, &NEVER).unwrap();
    let served = serving.join().unwrap().unwrap();
    assert_eq!((answer.listener, served.strangers), (address, 0));
    assert!(answer.round_trips.count > 0 && answer.round_trips.p50 <= answer.round_trips.p99);
    assert!(answer.there.rate.is_some() && answer.back.rate.is_some(), "{answer:?}");
    // The first block of each stream is in no throughput.
    assert_eq!(served.received.get(), answer.there.bytes.get() + BLOCK as u64);
    assert_eq!(served.sent.get(), answer.back.bytes.get() + BLOCK as u64);
    assert!(served.sent <= served.received);
    assert_eq!(Likeness::of(&answer), Likeness::Loopback);
    assert!(TcpStream::connect(address).is_err(), "the listener is still there");
}

#[test]
fn strangers_are_turned_away_and_the_client_is_served() {
    let (address, serving) = serving(Listener::bind(any()).unwrap().impatient(LONG));
    let mut other_version = Frame::Hello(1).bytes();
    other_version[4] = 9;
    let mut not_a_greeting = Frame::Ping(1).bytes().to_vec();
    not_a_greeting.extend(Frame::Send(u64::MAX).bytes());
    for said in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[0; 4096], &[0x16, 3, 1, 2, 0], &not_a_greeting]
    {
        let mut stranger = connected(address);
        stranger.write_all(said).unwrap();
        // It may have been turned away by now.
        let _ = stranger.shutdown(std::net::Shutdown::Write);
        assert!(rest(&mut stranger).is_empty(), "{said:?}");
    }
    let mut other = connected(address);
    other.write_all(&other_version).unwrap();
    assert_eq!(rest(&mut other), Frame::Welcome(0).bytes(), "as long as what it said");
    // These two stay, half a greeting and none.
    let mut half = connected(address);
    half.write_all(&Frame::Hello(1).bytes()[..7]).unwrap();
    let _silent = connected(address);
    ask(address, SHORT, &NEVER).unwrap();
    assert_eq!(serving.join().unwrap().unwrap().strangers, 5);
}

#[test]
fn who_says_nothing_goes() {
    let listener = Listener::bind(any()).unwrap().impatient(Nanos::from_millis(20));
    let (address, over) = (listener.address(), AtomicBool::new(false));
    thread::scope(|scope| {
        let serving = scope.spawn(|| listener.serve(LONG, &over));
        assert!(rest(&mut connected(address)).is_empty());
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(serving.join().unwrap(), Err(NetworkError::Interrupted)));
    });
}

#[test]
fn a_crowd_at_the_door_keeps_nobody_out() {
    let (address, serving) = serving(Listener::bind(any()).unwrap().impatient(LONG));
    let mut crowd: Vec<TcpStream> = (0..17).map(|_| connected(address)).collect();
    assert!(rest(&mut crowd[0]).is_empty(), "the seventeenth pushes the first one out");
    ask(address, SHORT, &NEVER).unwrap();
    assert_eq!(serving.join().unwrap().unwrap().strangers, 2, "our own client pushed another one out");
    drop(crowd);
}

#[test]
fn the_listener_never_sends_more_than_it_received() {
    let (address, serving) = serving(Listener::bind(any()).unwrap());
    let mut client = connected(address);
    client.write_all(&Frame::Hello(LONG.get()).bytes()).unwrap();
    assert_eq!(frame(&mut client), Frame::Welcome(LONG.get()));
    // Nothing was received, nothing is sent.
    client.write_all(&Frame::Send(u64::MAX).bytes()).unwrap();
    assert_eq!(frame(&mut client), Frame::End);
    // Three blocks, the last one short: two fit.
    for length in [BLOCK, BLOCK, 100] {
        client.write_all(&Frame::Block(length as u32).bytes()).unwrap();
        client.write_all(&vec![7; length]).unwrap();
    }
    client.write_all(&Frame::End.bytes()).unwrap();
    assert_eq!(frame(&mut client), Frame::Received(BLOCK as u64 + 100));
    assert!(matches!(frame(&mut client), Frame::Took(_)));
    for expected in [2, 0] {
        client.write_all(&Frame::Send(u64::MAX).bytes()).unwrap();
        for _ in 0..expected {
            assert_eq!(frame(&mut client), Frame::Block(BLOCK as u32));
            client.read_exact(&mut vec![0; BLOCK]).unwrap();
        }
        assert_eq!(frame(&mut client), Frame::End);
    }
    client.write_all(&Frame::Bye.bytes()).unwrap();
    let served = serving.join().unwrap().unwrap();
    assert_eq!((served.received.get(), served.sent.get()), (2 * BLOCK as u64 + 100, 2 * BLOCK as u64));
}

#[test]
fn a_client_that_breaks_the_rules_is_dropped() {
    let mut too_long = Frame::Block(1).bytes();
    too_long[8..].copy_from_slice(&u64::MAX.to_be_bytes());
    for (said, word) in [
        (Frame::Pong(1).bytes().to_vec(), "nothing for a client to say"),
        (Frame::Welcome(1).bytes().to_vec(), "nothing for a client to say"),
        (Frame::End.bytes().to_vec(), "nothing for a client to say"),
        (too_long.to_vec(), "a frame without meaning"),
        (
            [Frame::Block(1).bytes().to_vec(), vec![0], Frame::Ping(1).bytes().to_vec()].concat(),
            "among blocks",
        ),
        (Frame::Block(9).bytes().to_vec(), "closed the connection"),
        (Vec::new(), "closed the connection"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "is no bakeoff"),
    ] {
        let (address, serving) = serving(Listener::bind(any()).unwrap());
        let mut client = connected(address);
        client.write_all(&Frame::Hello(LONG.get()).bytes()).unwrap();
        client.write_all(&said).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        rest(&mut client);
        let why = serving.join().unwrap().unwrap_err().to_string();
        assert!(why.contains(word), "{said:?}: {why}");
    }
}

#[test]
fn an_exchange_ends_when_its_time_is_over() {
    let listener = TcpListener::bind(any()).unwrap();
    let mut client = connected(listener.local_addr().unwrap());
    let (stream, address) = listener.accept().unwrap();
    let mut peer = Peer::new(stream, address, Nanos::from_millis(50)).unwrap();
    // It asks as long as it is answered.
    let asking = thread::spawn(move || {
        while client.write_all(&Frame::Ping(1).bytes()).is_ok() && client.read_exact(&mut [0; FRAME]).is_ok()
        {
        }
    });
    assert!(matches!(session(&mut peer), Err(NetworkError::Late { .. })));
    drop(peer);
    asking.join().unwrap();
}

#[test]
fn a_longer_time_than_is_given_is_cut() {
    let (address, serving) = serving(Listener::bind(any()).unwrap());
    let mut client = connected(address);
    client.write_all(&Frame::Hello(u64::MAX).bytes()).unwrap();
    assert_eq!(frame(&mut client), Frame::Welcome(LONGEST.get()));
    client.write_all(&Frame::Bye.bytes()).unwrap();
    serving.join().unwrap().unwrap();
}

#[test]
fn what_is_no_listener_is_recognised() {
    let mut other_version = Frame::Welcome(0).bytes();
    other_version[4] = 9;
    let wrong_pong = [Frame::Welcome(SHORT.get()).bytes(), Frame::Pong(77).bytes()].concat();
    for (says, word) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "is no bakeoff"),
        (Frame::Pong(1).bytes().to_vec(), "is no bakeoff"),
        (other_version.to_vec(), "speaks version 9"),
        (wrong_pong, "an answer to another question"),
        (Vec::new(), "closed the connection"),
    ] {
        let listener = TcpListener::bind(any()).unwrap();
        let address = listener.local_addr().unwrap();
        let told = says.clone();
        let answering = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; FRAME]).unwrap();
            stream.write_all(&told).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            rest(&mut stream);
        });
        let why = ask(address, SHORT, &NEVER).unwrap_err().to_string();
        assert!(why.contains(word), "{says:?}: {why}");
        answering.join().unwrap();
    }
}

#[test]
fn nobody_there_nobody_comes_and_nobody_answers() {
    let free = TcpListener::bind(any()).unwrap().local_addr().unwrap();
    assert!(matches!(ask(free, SHORT, &NEVER), Err(NetworkError::Connect { .. })));
    let nobody = Listener::bind(any()).unwrap().serve(Nanos::from_millis(20), &NEVER);
    assert!(matches!(nobody, Err(NetworkError::Nobody { strangers: 0, .. })));
    let silent = TcpListener::bind(any()).unwrap();
    let patience = Nanos::from_duration(Duration::from_millis(50));
    let unanswered = ask_patiently(silent.local_addr().unwrap(), SHORT, patience, &NEVER);
    assert!(matches!(unanswered, Err(NetworkError::Late { .. })));
    assert!(matches!(Listener::bind(silent.local_addr().unwrap()), Err(NetworkError::Bind { .. })));
}

#[test]
fn ctrl_c_ends_both() {
    let listener = Listener::bind(any()).unwrap();
    assert!(matches!(listener.serve(LONG, &NOW), Err(NetworkError::Interrupted)));
    let (address, serving) = serving(Listener::bind(any()).unwrap());
    assert!(matches!(ask(address, SHORT, &NOW), Err(NetworkError::Interrupted)));
    assert!(matches!(serving.join().unwrap(), Err(NetworkError::Broken { .. })));
}
