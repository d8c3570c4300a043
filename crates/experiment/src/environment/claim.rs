//! Claims of cores by runs, so that two bakeoffs on one machine see each other: process, cores, and start of each.
//!
//! Measuring side, cold: at a run's start and end. Each run holds a socket whose name in the kernel's abstract
//! namespace says it all. The name ends with its process however that ends, needs no file and no right, and every user
//! can read it (`/proc/net/unix`). A run that comes second notifies those that are there. No run is kept from anything.
//! Other network namespaces (containers) cannot be seen. Any user may make such a name: it is read as untrusted data,
//! and all that it can do is make a warning.

use super::cores::{core_list, parse_core_list};
use super::host::Host;
use bakeoff_results::Warning;
use std::collections::BTreeSet;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The beginning of every name.
const PREFIX: &str = "bakeoff/run/";
/// The kernel takes no longer names (`sun_path` has 108 bytes, the first of which is 0).
const LONGEST: usize = 107;
/// At most this many others are looked at, so that names cannot keep a run busy.
const MOST: usize = 32;
/// At most this many names of others are given.
const NAMED: usize = 3;
/// The label of the warning.
const LABEL: &str = "other-run";

/// A run's claim, held as long as it measures.
#[derive(Debug)]
pub struct MachineClaim {
    /// `None` if the system does not let us: then only we see the others.
    socket: Option<UnixDatagram>,
    own: Other,
    host: Host,
    found: Vec<Other>,
}

/// Announces the cores on which `what` (a plan's name) measures from now on, and looks for earlier claims.
pub fn claim(what: &str, cores: &[usize]) -> MachineClaim {
    let own = Other {
        pid: std::process::id(),
        cores: cores.to_vec(),
        since: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        what: what.to_owned(),
    };
    claim_as(own, Host::here())
}

fn claim_as(own: Other, host: Host) -> MachineClaim {
    let socket = bound(&own.name()).ok();
    let there = others(&host, &own);
    for other in &there {
        // A run that does not take it has ended, or its queue is full.
        let _ = socket.as_ref().map(|socket| told(socket, &other.name(), &own.name()));
    }
    MachineClaim { socket, own, host, found: there }
}

impl MachineClaim {
    /// The others that were there at the start, in one warning.
    pub fn found(&self) -> Option<Warning> {
        warning(&self.found, &self.own.cores)
    }

    /// All others in one warning: those at the start, those there now, and those that notified us.
    pub fn others(&self) -> Option<Warning> {
        let mut all = self.found.clone();
        all.extend(others(&self.host, &self.own));
        let mut name = [0; LONGEST];
        for _ in 0..MOST {
            let Some(length) = self.socket.as_ref().and_then(|socket| socket.recv(&mut name).ok()) else {
                break;
            };
            all.extend(Other::parse(&String::from_utf8_lossy(&name[..length])));
        }
        all.retain(|other| other.disturbs(&self.own));
        all.sort_by(|a, b| (&a.since, a.pid).cmp(&(&b.since, b.pid)));
        all.dedup();
        warning(&all, &self.own.cores)
    }
}

fn bound(name: &str) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn told(socket: &UnixDatagram, other: &str, own: &str) -> io::Result<usize> {
    socket.send_to_addr(own.as_bytes(), &SocketAddr::from_abstract_name(other)?)
}

/// Another bakeoff, as its name describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Other {
    pid: u32,
    cores: Vec<usize>,
    since: String,
    what: String,
}

impl Other {
    /// `bakeoff/run/PID/CORES/SINCE/WHAT`, plain letters only, and as much of the last as fits.
    fn name(&self) -> String {
        let Self { pid, cores, since, what } = self;
        let name = format!("{PREFIX}{pid}/{}/{since}/{what}", core_list(cores));
        name.chars().take(LONGEST).map(plain).collect()
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.splitn(4, '/');
        let pid = parts.next()?.parse().ok()?;
        let cores = parse_core_list(parts.next()?)?;
        let mut words = parts.map(|part| part.chars().map(plain).collect());
        Some(Self { pid, cores, since: words.next()?, what: words.next()? })
    }

    fn disturbs(&self, own: &Self) -> bool {
        self.pid != own.pid && self.cores.iter().any(|core| own.cores.contains(core))
    }
}

/// One sentence, however many there are: each name once. `None` without others.
fn warning(others: &[Other], own: &[usize]) -> Option<Warning> {
    let mut both: Vec<usize> = others.iter().flat_map(|other| &other.cores).copied().collect();
    both.retain(|core| own.contains(core));
    both.sort_unstable();
    both.dedup();
    let names: BTreeSet<String> = others.iter().map(|other| format!("`{}`", other.what)).collect();
    let names = match (names.len().checked_sub(NAMED), Vec::from_iter(names)) {
        (Some(more @ 1..), names) => format!("{} and {more} more", names[..NAMED].join(", ")),
        (_, names) => names.join(", "),
    };
    let who = match others {
        [] => return None,
        [Other { pid, since, .. }] => {
            format!("Another bakeoff ({names}, process {pid}, since {since}) measures")
        }
        many => format!("{} other bakeoffs ({names}) measure", many.len()),
    };
    let sentence = format!(
        "{who} on the same cores ({}): each takes time and cache from the others, so figures of all are worth less. Run \
         one after the other, or give each cores of its own.",
        core_list(&both)
    );
    Some(Warning { label: LABEL.to_owned(), sentence })
}

fn plain(letter: char) -> char {
    if letter.is_ascii_graphic() || letter == ' ' { letter } else { '?' }
}

/// Claims in the kernel's table of sockets that share a core with ours. A name is behind an `@`, and last.
fn others(host: &Host, own: &Other) -> Vec<Other> {
    let table = host.text("/proc/self/net/unix").unwrap_or_default();
    let named = table.lines().filter_map(|line| Other::parse(line.split_once(" @")?.1));
    named.filter(|other| other.disturbs(own)).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::super::host::tests::machine;
    use super::*;

    fn other(pid: u32, cores: &[usize], what: &str) -> Other {
        Other { pid, cores: cores.to_vec(), since: "2026-11-23T08:02:28Z".to_owned(), what: what.to_owned() }
    }

    fn table(names: &[String]) -> String {
        let rows: Vec<String> =
            names.iter().map(|name| format!("0000000000000000: 2 0 0 0002 01 4711 @{name}\n")).collect();
        format!("Num  RefCount Protocol Flags Type St Inode Path\n{}", rows.concat())
    }

    #[test]
    fn those_with_a_core_of_ours_are_seen_and_nobody_else() {
        let own = other(7, &[0, 1], "mine");
        let there = [other(8, &[1, 2], "a plan"), other(9, &[2, 3], "far"), other(7, &[0], "mine")];
        let mut names: Vec<String> = there.iter().map(Other::name).collect();
        names.extend(
            ["/tmp/x", "bakeoff/run/", "bakeoff/run/8/1/now", "bakeoff/run/x/1/now/y"].map(Into::into),
        );
        let (_directory, host) = machine(&[("/proc/self/net/unix", &table(&names))]);
        assert_eq!(others(&host, &own), there[..1]);
    }

    #[test]
    fn a_name_has_room_and_letters_of_any_kind_do_no_harm() {
        let long = other(u32::MAX, &(0..64).collect::<Vec<_>>(), &"é\n/".repeat(99));
        let name = long.name();
        assert_eq!((name.len(), name.is_ascii()), (LONGEST, true));
        let read = Other::parse(&name).unwrap();
        assert!(read.what.starts_with("??/??/") && read.cores == long.cores, "{read:?}");
        assert_eq!(Other::parse("bakeoff/run/1/0/\u{1b}[2J/x").unwrap().since, "?[2J");
    }

    #[test]
    fn the_second_names_the_first_and_the_first_hears_of_the_second() {
        // Processes and cores that no machine has.
        let (first, second) =
            (other(3_000_000_001, &[9001, 9002], "one"), other(3_000_000_002, &[9002], "two"));
        let before = claim_as(first.clone(), Host::here());
        let after = claim_as(second.clone(), Host::here());
        let said = |other: &Other, own: &[usize]| warning(std::slice::from_ref(other), own);
        assert_eq!((before.found(), after.found()), (None, said(&first, &[9002])));
        let found = after.found().unwrap();
        assert!(
            found.label == "other-run" && found.sentence.contains("`one`, process 3000000001"),
            "{found:?}"
        );
        assert!(found.sentence.contains("same cores (9002)"), "{found:?}");
        assert_eq!(before.others(), said(&second, &[9001, 9002]), "it is there");
        drop(after);
        let after = claim_as(second.clone(), Host::here());
        drop(after);
        assert_eq!(before.others(), said(&second, &[9001, 9002]), "it was there, and said so");
        drop(before);
        assert_eq!(claim_as(second, Host::here()).found(), None, "a name ends with who had it");
    }

    #[test]
    fn many_others_are_one_sentence_with_each_name_once() {
        let names = ["plan", "compare", "plan", "b", "a", "a"];
        let all: Vec<Other> =
            names.iter().zip(10..).map(|(name, pid)| other(pid, &[0, 1, 4], name)).collect();
        let said = warning(&all, &[1, 0]).unwrap().sentence;
        let start = "6 other bakeoffs (`a`, `b`, `compare` and 1 more) measure on the same cores (0-1): ";
        assert!(said.starts_with(start), "{said}");
        let two = warning(&all[..2], &[1]).unwrap().sentence;
        assert!(
            two.starts_with("2 other bakeoffs (`compare`, `plan`) measure on the same cores (1): "),
            "{two}"
        );
    }

    #[test]
    fn a_machine_without_a_table_shows_nobody() {
        let (_directory, host) = machine(&[]);
        assert_eq!(claim_as(other(3_000_000_003, &[9003], "x"), host).others(), None);
    }
}
