//! SYN flood with forged senders, over a link: each SYN is counted, preferred clients are served, and nothing stays
//! behind. Both ends are networks of the test's own.

use crate::link::{IP, ip, join};
use crate::packets::{SYN, Segment, Wrapping, frame};
use crate::stage::{Daemon, NGINX, PATIENCE, PUBLIC, SILENCE, Server, Site, left_of, may_run, until};
use bakeoff_sys::namespace::Namespace;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::signal::Signal;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, bind, send, socket};
use nix::time::{ClockId, clock_gettime};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ETHTOOL: &str = "/usr/sbin/ethtool";
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)), PUBLIC);
/// Number of senders: more than the map of prefixes' own buckets holds, 65,536.
const SENDERS: usize = 100_000;
/// Limit of the flood, however long the preferred client takes.
const MOST: u64 = 3_000_000;
const REQUESTS: usize = 200;
/// Measured time of one row of the table.
const ROW: Duration = Duration::from_secs(2);

/// The preferred have buckets of their own, too: when the flood evicts them, they are fresh.
const RULES: &str = r#"
[server]
listen = 80

[[from]]
source = "198.18.0.0/24"
rate = "10000/s"
per = "/32"
each = "9000/s"

[[from]]
source = "0.0.0.0/0"
rate = "20/s"
burst = 50
per = "/24"
each = "1/s"
"#;

#[test]
fn forged_syns_are_all_counted_the_preferred_is_served_and_nothing_grows() {
    holds_out("forged_syns_are_all_counted_the_preferred_is_served_and_nothing_grows", &[]);
}

#[test]
fn in_the_driver_forged_syns_are_all_counted_and_the_preferred_is_served() {
    holds_out("in_the_driver_forged_syns_are_all_counted_and_the_preferred_is_served", &["--xdp"]);
}

fn holds_out(test: &str, flags: &[&str]) {
    if !may_run(test, &[NGINX, IP]) {
        return;
    }
    let site = Site::new();
    let (far, server) = linked(&site);
    let daemon = Daemon::start(&site, &server, RULES, flags);
    let before = daemon.map_bytes();
    let Seen { asked, flood } = flooded(&far, &forged(), |asked| asked == REQUESTS);
    let unserved = asked.iter().find(|(reply, _)| !is_served(reply));
    assert!(unserved.is_none(), "{unserved:?}");
    let [passed, refused] = all_counted(&daemon, flood.sent);
    assert!(passed >= 50, "the burst is the strangers': {passed}");
    let reasons = ["rate", "rate-per", "lost-race"].map(|reason| daemon.count(&format!("refused.{reason}")));
    assert_eq!(reasons.iter().sum::<u64>(), refused, "each has its reason: {}", daemon.status());
    // The preferred client's SYN that the link lost was sent again.
    let [passed, refused] = counted(&daemon, "198.18.0.0/24");
    assert!(passed >= REQUESTS as u64 && refused == 0, "{passed} {refused}");
    assert_eq!(daemon.map_bytes(), before);
    until("no connection is left at the server", || open_connections(&site.network) == 0);
}

fn counted(daemon: &Daemon<'_>, source: &str) -> [u64; 2] {
    ["passed", "refused"].map(|what| daemon.count(&format!("rule.from-{source}.{what}")))
}

/// The same for all forged SYNs: exactly as many, as the link delivered every one of them to police.
fn all_counted(daemon: &Daemon<'_>, sent: u64) -> [u64; 2] {
    until("each forged SYN is counted once", || counted(daemon, "0.0.0.0/0").iter().sum::<u64>() == sent);
    counted(daemon, "0.0.0.0/0")
}

#[test]
fn the_driver_drops_as_long_as_the_daemon_lives() {
    let test = "the_driver_drops_as_long_as_the_daemon_lives";
    if !may_run(test, &[NGINX, IP, ETHTOOL]) {
        return;
    }
    let site = Site::new();
    let (far, server) = linked(&site);
    let rules = "[server]\nlisten = 80\n[[from]]\nsource = \"198.18.0.2\"\nrefuse = \"drop\"\n";
    let mut daemon = Daemon::start(&site, &server, rules, &["--xdp"]);
    let connect = || far.run(|| TcpStream::connect_timeout(&SERVER, SILENCE)).unwrap();
    assert_eq!(connect().unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(driver_drops(&site) > 0, "the driver itself says so");
    until("the same is in the status", || daemon.count("refused.refused") == driver_drops(&site));
    assert!(has_xdp(&site));
    let held = daemon.held();
    assert_eq!(daemon.end(Signal::SIGKILL), None);
    until("the kernel forgets it", || left_of(&held).is_empty());
    assert!(!has_xdp(&site));
    assert!(connect().is_ok());
}

fn driver_drops(site: &Site) -> u64 {
    let output = site.run(&[ETHTOOL, "-S", "here"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let counts = text.lines().filter_map(|line| line.trim().split_once("_xdp_drops: "));
    counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
}

fn has_xdp(site: &Site) -> bool {
    let output = site.run(&[IP, "link", "show", "here"]);
    String::from_utf8(output.stdout).unwrap().contains("xdp")
}

#[test]
#[ignore = "benches/police shows it"]
fn what_a_flood_costs_the_preferred() {
    if !may_run("what_a_flood_costs_the_preferred", &[NGINX, IP]) {
        return;
    }
    let frames = forged();
    for (name, flags) in [("none", None), ("tcx", Some(&[][..])), ("xdp", Some(&["--xdp"][..]))] {
        let site = Site::new();
        let (far, server) = linked(&site);
        let daemon = flags.map(|flags| Daemon::start(&site, &server, RULES, flags));
        for frames in [&[][..], &frames[..]] {
            let (began, before) = (Instant::now(), ticks());
            let seen = flooded(&far, frames, |_| began.elapsed() >= ROW);
            let after = ticks();
            let refused = daemon.as_ref().map_or(0, |daemon| all_counted(daemon, seen.flood.sent)[1]);
            show(&format!("{name:<5} {refused:>8} refused"), &seen, before, after);
        }
    }
}

/// Ticks of all processors: in soft interrupts, and in total.
fn ticks() -> [u64; 2] {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let ticks: Vec<u64> =
        text.lines().next().unwrap().split_whitespace().skip(1).map(|ticks| ticks.parse().unwrap()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
    [ticks[6], ticks[..8].iter().sum()]
}

fn show(begin: &str, Seen { asked, flood }: &Seen, before: [u64; 2], after: [u64; 2]) {
    let served = asked.iter().filter(|(reply, _)| is_served(reply)).count();
    let mut took: Vec<Duration> = asked.iter().map(|(_, took)| *took).collect();
    took.sort_unstable();
    let quantile = |q: f64| took[(took.len() as f64 * q) as usize].as_secs_f64() * 1e3;
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    let took_s = flood.took.as_secs_f64();
    let share = if flood.sent == 0 { 0.0 } else { flood.cpu.as_secs_f64() / took_s / cores * 100.0 };
    let softirq = (after[0] - before[0]) as f64 / (after[1] - before[1]) as f64 * 100.0;
    println!(
        "{begin} of {:>8} forged SYNs, {:>7.0}/s, {} more lost by the link; preferred: {served} of {} served, \
         p50 {:.2} ms, p99 {:.2} ms; of {cores} cores {share:.0} % sending, {softirq:.0} % in soft interrupts",
        flood.sent,
        flood.sent as f64 / took_s,
        flood.lost,
        asked.len(),
        quantile(0.5),
        quantile(0.99),
    );
}

/// A server at the near end of a link, whose replies to anybody go out over it; and the far end.
fn linked(site: &Site) -> (Namespace, Server<'_>) {
    let far = Namespace::create().unwrap();
    join(&site.network, &far);
    ip(&site.network, "route add default via 198.18.0.2");
    // A client that never answers is forgotten after a second.
    let set = || fs::write("/proc/sys/net/ipv4/tcp_synack_retries", "0").unwrap();
    site.network.run(set).unwrap();
    (far, site.nginx_of("server { listen 198.18.0.1:80; location / { return 200 \"ok\"; } }"))
}

/// SYNs to the server from all over the world.
fn forged() -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64; // Marsaglia's xorshift: the same ones in each run
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()
    };
    let syn = |[a, b, c, d, e, f, g, h]: [u8; 8]| {
        let from = (Ipv4Addr::new(1 + a % 120, b, c, d).into(), u16::from_be_bytes([e | 4, f]));
        let sequence = u32::from_be_bytes([g, h, f, e]);
        let segment = Segment { from, to: (SERVER.ip(), PUBLIC), flags: SYN, sequence, payload: b"" };
        frame(&segment, &Wrapping::default())
    };
    (0..SENDERS).map(|_| syn(random())).collect()
}

struct Seen {
    /// Replies to the preferred client, and their times.
    asked: Vec<(io::Result<String>, Duration)>,
    flood: Flood,
}

/// Statistics of the flood.
#[derive(Default)]
struct Flood {
    sent: u64,
    /// Frames lost because the other end of the link was full.
    lost: u64,
    took: Duration,
    /// CPU time.
    cpu: Duration,
}

/// One client asks until it has `enough`, while another floods.
fn flooded(far: &Namespace, frames: &[Vec<u8>], enough: impl Fn(usize) -> bool + Send + Sync) -> Seen {
    let over = AtomicBool::new(false);
    let work = || {
        std::thread::scope(|scope| {
            let flood = scope.spawn(|| flood(frames, &over));
            let mut asked = Vec::new();
            while !enough(asked.len()) {
                let began = Instant::now();
                asked.push((ask(), began.elapsed()));
            }
            over.store(true, Ordering::Relaxed);
            Seen { asked, flood: flood.join().unwrap() }
        })
    };
    far.run(work).unwrap()
}

/// For whole frames, on the device `there`.
pub(crate) fn wire() -> OwnedFd {
    let device = getifaddrs().unwrap().find_map(|one| {
        let address = one.address.filter(|_| one.interface_name == "there")?;
        address.as_link_addr().copied()
    });
    let wire = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(wire.as_raw_fd(), &device.unwrap()).unwrap();
    wire
}

/// Sends all frames, over and over until it is over, at least once.
fn flood(frames: &[Vec<u8>], over: &AtomicBool) -> Flood {
    let wire = wire();
    let (began, mut flood) = (Instant::now(), Flood::default());
    for frame in frames.iter().cycle() {
        let tried = flood.sent + flood.lost;
        if tried >= MOST || (tried >= SENDERS as u64 && over.load(Ordering::Relaxed)) {
            break;
        }
        match send(wire.as_raw_fd(), frame, MsgFlags::empty()) {
            Ok(_) => flood.sent += 1,
            Err(Errno::ENOBUFS) => flood.lost += 1,
            Err(error) => panic!("{error}"),
        }
    }
    flood.took = began.elapsed();
    flood.cpu = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into();
    flood
}

/// A connection with one request; data that the link loses is sent again.
fn ask() -> io::Result<String> {
    let mut stream = TcpStream::connect(SERVER)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}

fn is_served(reply: &io::Result<String>) -> bool {
    reply.as_ref().is_ok_and(|reply| reply.starts_with("HTTP/1.1 200") && reply.ends_with("\r\n\r\nok"))
}

/// Number of connections at the server, including requested ones, without closed ones.
fn open_connections(network: &Namespace) -> usize {
    let text = network.run(|| fs::read_to_string("/proc/thread-self/net/tcp").unwrap()).unwrap();
    // Local address in hex, state: 0A listens, 06 is TIME_WAIT.
    let is_open = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[1].ends_with(":0050") && !["0A", "06"].contains(&words[3])
    };
    text.lines().skip(1).filter(is_open).count()
}
