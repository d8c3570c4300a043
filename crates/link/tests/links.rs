//! Links on the real kernel. They need root; without it they say that they were skipped.

// The SKIP line is for the person who runs the tests.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use bakeoff_link::{DelayBy, Link, LinkError, LinkSpec, Making, Mechanism};
use bakeoff_sys::net::Local;
use bakeoff_units::Nanos;
use nix::sys::socket::{setsockopt, sockopt};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The executable of `examples/holder.rs`, which cargo builds with the tests.
fn holder() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().join("examples/holder")
}

/// None, and the reason is printed, where links cannot be made at all.
fn may_run(test: &str) -> bool {
    let missing = match bakeoff_sys::namespace::Namespace::create() {
        Err(why) => format!("cannot make a network namespace ({why}); run as root"),
        Ok(_) if !["/usr/sbin/tc", "/sbin/tc", "/usr/bin/tc"].iter().any(|tc| Path::new(tc).exists()) => {
            "`tc` is not installed (apt-get install iproute2)".to_owned()
        }
        Ok(_) => return true,
    };
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
    false
}

/// Limit for hangs, on any machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// The kernel's mechanism where it has one, and ours.
const BOTH: [DelayBy; 2] = [DelayBy::Best, DelayBy::Emulator];

fn link(rate: &str, delay: &str, loss: &str, delay_by: DelayBy) -> Link {
    let spec =
        LinkSpec { rate: rate.parse().unwrap(), delay: delay.parse().unwrap(), loss: loss.parse().unwrap() };
    let make = || Link::make(spec, Making { executable: &holder(), seed: 7, delay_by });
    // Each is six attempts with growing pauses. A link that a busy machine cannot shape in all of them is tried again.
    let shaped = |made: &Result<Link, LinkError>| {
        !matches!(made, Err(LinkError::Rate { .. } | LinkError::Delay { .. }))
    };
    let began = Instant::now();
    loop {
        let made = make();
        if shaped(&made) || began.elapsed() > PATIENCE {
            return made.unwrap();
        }
    }
}

/// Sends `bytes` from the subject's side to the generator's.
fn transfer(link: &Link, bytes: usize) {
    let listener = link.subject().run(|| TcpListener::bind((link.subject_address(), 0))).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| listener.accept().unwrap().0.write_all(&vec![1; bytes]).unwrap());
        let mut stream = link.generator().run(|| TcpStream::connect(address)).unwrap().unwrap();
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), bytes);
    });
}

#[test]
fn a_rate_is_carried_within_a_tenth_and_its_bytes_are_counted() {
    if !may_run("a_rate_is_carried_within_a_tenth_and_its_bytes_are_counted") {
        return;
    }
    for rate in ["10Mbit", "100Mbit"] {
        let mut link = link(rate, "0s", "0%", DelayBy::Best);
        assert_eq!(link.mechanism(), Mechanism::Tbf);
        assert!(link.emulator_process().is_none());
        let asked = link.spec().rate.get() as f64;
        let share = link.got().carried.get() as f64 / asked;
        println!("{rate}: {} carried, one way {:?}", link.got().carried, link.got().delays);
        assert!((0.9..=1.1).contains(&share), "{share}");
        let before = link.read().unwrap();
        transfer(&link, 500_000);
        let after = link.read().unwrap();
        let down = after.to_generator.bytes - before.to_generator.bytes;
        // 500,000 bytes and a header of 66 for each 1448; some more if a packet came twice.
        assert!((500_000 + 345 * 66..560_000).contains(&down), "{down}");
        let busy = after.since(&before, link.spec().rate, Nanos::from_secs(1)).busy.unwrap();
        assert!((busy - down as f64 * 8.0 / asked).abs() < 1e-9, "{busy}");
    }
}

#[test]
fn connections_come_from_addresses_that_are_on_no_device() {
    if !may_run("connections_come_from_addresses_that_are_on_no_device") {
        return;
    }
    let link = link("100Mbit", "0s", "0%", DelayBy::Best);
    let addresses =
        ["198.18.0.4", "198.18.200.9", "198.19.255.255"].map(|text| text.parse::<Ipv4Addr>().unwrap());
    let listener = link.subject().run(|| TcpListener::bind((link.subject_address(), 0))).unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    let from = |address: Ipv4Addr| {
        let local = Local { address: Some(address.into()), ..Local::default() };
        link.generator().run(|| bakeoff_sys::net::begin(to, local, true)).unwrap()
    };
    assert_eq!(from(addresses[1]).unwrap_err().kind(), ErrorKind::AddrNotAvailable);
    link.have_sources(&[addresses[0]..=addresses[1], addresses[2]..=addresses[2]]).unwrap();
    listener.set_nonblocking(true).unwrap();
    for address in addresses {
        let _connection = from(address).unwrap();
        let begin = Instant::now();
        let peer = loop {
            match listener.accept() {
                Ok((_, peer)) => break peer,
                Err(why) => assert!(begin.elapsed() < PATIENCE, "{address}: {why}"),
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(peer.ip(), address);
    }
}

#[test]
fn a_delay_is_never_shorter_than_asked_for() {
    if !may_run("a_delay_is_never_shorter_than_asked_for") {
        return;
    }
    for delay_by in BOTH {
        let mut link = link("20Mbit", "10ms", "0%", delay_by);
        println!("{}: {:?}", link.mechanism().label(), link.got());
        assert_ne!(link.mechanism(), Mechanism::Tbf);
        // Histograms keep three digits.
        let asked = Nanos::from_millis(10).times(0.999);
        assert!(link.got().delays.min >= asked, "{:?}", link.got());
        let before = link.read().unwrap();
        let begin = Instant::now();
        transfer(&link, 50_000);
        assert!(begin.elapsed() >= Duration::from_millis(40), "set-up and reply are two round trips");
        let passed = link.read().unwrap().since(&before, link.spec().rate, Nanos::from_secs(1));
        assert!(passed.packets >= 35 && passed.lost == 0 && passed.overflowed == 0, "{passed:?}");
        assert_eq!(passed.emulator.is_some(), link.emulator_process().is_some());
        if let Some(emulator) = passed.emulator {
            println!("emulator: {:?}, cpu {}", bakeoff_link::Delays::of(&emulator.delays), emulator.cpu);
            assert!(emulator.refused == 0 && emulator.delays.quantile(0.0) >= asked, "{emulator:?}");
            assert!(emulator.cpu > Nanos::ZERO);
        }
    }
}

/// 4000 packets with p = 0.05: 200 expected, standard deviation 13.8; five of them.
#[test]
fn packets_are_lost_in_their_share_and_counted_one_by_one() {
    if !may_run("packets_are_lost_in_their_share_and_counted_one_by_one") {
        return;
    }
    for delay_by in BOTH {
        let mut link = link("20Mbit", "1ms", "5%", delay_by);
        let (came, [lost, packets, overflowed]) = datagrams(&mut link, 4000);
        println!("{}: {lost} of {packets} lost", link.mechanism().label());
        assert!((131..=269).contains(&lost), "{lost}");
        assert_eq!((came + lost, packets, overflowed), (4000, 4000, 0));
    }
}

/// Sends so many to the subject's side; returns how many came, and how many were lost, sent and overflowed meanwhile by
/// the link's own account. Packets that were neither lost nor have come are on their way.
fn datagrams(link: &mut Link, count: u64) -> (u64, [u64; 3]) {
    let receiver = link.subject().run(|| UdpSocket::bind((link.subject_address(), 0))).unwrap().unwrap();
    // Room for all of them, however late the receiver has a core.
    setsockopt(&receiver, sockopt::RcvBufForce, &(16 << 20)).unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let sender = link.generator().run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    let target = receiver.local_addr().unwrap();
    let (rate, began) = (link.spec().rate, Instant::now());
    let (mut sent, mut came, mut sums) = (0, 0, [0; 3]);
    let (mut before, mut buffer) = (link.read().unwrap(), [0; 16]);
    while came + sums[0] < count {
        assert!(began.elapsed() < PATIENCE, "{came} of {sent} came, {} were lost", sums[0]);
        // No more on their way than queues hold, however slowly the link's own process gets on.
        while sent < count && sent < came + sums[0] + 100 {
            sender.send_to(b"0123456789", target).unwrap();
            sent += 1;
        }
        while came + sums[0] < sent && receiver.recv(&mut buffer).is_ok() {
            came += 1;
        }
        let now = link.read().unwrap();
        let passed = now.clone().since(&before, rate, Nanos::from_secs(1));
        before = now;
        for (sum, more) in sums.iter_mut().zip([passed.lost, passed.packets, passed.overflowed]) {
            *sum += more;
        }
    }
    (came, sums)
}

#[test]
fn nothing_is_left_when_the_holder_is_killed() {
    if !may_run("nothing_is_left_when_the_holder_is_killed") {
        return;
    }
    let holding = || {
        let mut command = Command::new(holder());
        let mut holder = command.args(["link", "20Mbit", "1ms"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map(Result::unwrap);
        let first = lines.next().unwrap();
        let Ok(emulator) = first.parse::<u32>() else {
            holder.wait().unwrap();
            return Err(first);
        };
        Ok((holder, emulator, lines.next().unwrap()))
    };
    let began = Instant::now();
    let (mut holder, emulator, namespace) = loop {
        match holding() {
            Ok(holding) => break holding,
            Err(why) => assert!(began.elapsed() < PATIENCE, "{why}"), // a busy machine shapes it later
        }
    };
    let inode = std::fs::metadata(namespace).unwrap().ino();
    let began = bakeoff_sys::process::stat(emulator).unwrap().start_ticks;
    assert!(held().contains(&inode));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while bakeoff_sys::process::stat(emulator)
        .is_ok_and(|stat| stat.start_ticks == began && stat.state != 'Z')
    {
        assert!(Instant::now() < deadline, "the emulator process {emulator} lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The kernel takes away devices and namespace when no process holds it.
    assert!(!held().contains(&inode));
}

/// Network namespaces that some process is in, or holds a descriptor of.
fn held() -> HashSet<u64> {
    let mut found = HashSet::new();
    for stat in bakeoff_sys::process::scan().unwrap() {
        let of = |name: &str| PathBuf::from(format!("/proc/{}/{name}", stat.pid));
        found.extend(std::fs::metadata(of("ns/net")).map(|about| about.ino()));
        for entry in std::fs::read_dir(of("fd")).into_iter().flatten().flatten() {
            let is_network = std::fs::read_link(entry.path())
                .is_ok_and(|target| target.to_string_lossy().starts_with("net:["));
            if is_network {
                found.extend(std::fs::metadata(entry.path()).map(|about| about.ino()));
            }
        }
    }
    found
}

#[test]
fn without_root_the_refusal_says_what_is_missing() {
    if !may_run("without_root_the_refusal_says_what_is_missing") {
        return;
    }
    // Where the user `nobody` can reach it.
    let copy = std::env::temp_dir().join(format!("bakeoff-holder-{}", std::process::id()));
    std::fs::copy(holder(), &copy).unwrap();
    let output =
        Command::new(&copy).args(["link", "100Mbit", "1ms"]).uid(65534).gid(65534).current_dir("/").output();
    std::fs::remove_file(&copy).unwrap();
    let said = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(said.contains("CAP_NET_ADMIN") && said.contains("run as root"), "{said}");
}
