//! Litmus tests of coherence: a change through one mount is visible in the other, at once and each time.
//!
//! Each begins by making a stale read likely: the other mount's kernel has the data in its caches.

use crate::relay::{OneWay, relay};
use crate::support::{Mount, Site, bytes, can_mount, count, until};
use std::cell::{LazyCell, RefCell};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

/// Rounds of each program on each wire. A stale read needs luck only where two threads race.
const ROUNDS: [(Wire, usize); 3] = [(Wire::Fast, 50), (Wire::Slow, 10), (Wire::Breaking, 20)];

/// Wire between the mounts and their server.
#[derive(Clone, Copy, PartialEq)]
enum Wire {
    Fast,
    /// Half a megabyte a second.
    Slow,
    /// All connections break before each round, and the sessions are lost.
    Breaking,
}

/// Runs a program in rounds on each wire, each way in turn.
fn rounds(test: &str, program: impl Fn(&Mount, &Mount, usize)) {
    if !can_mount(test) {
        return;
    }
    for (wire, rounds) in ROUNDS {
        let site = Site::new();
        let (server, ways) = (site.serve(), Arc::new(Mutex::new(Vec::new())));
        let its = ways.clone();
        let relayed = relay(server.address, move |way| pass(way, wire, &its));
        let address = if wire == Wire::Fast { server.address } else { relayed };
        let (a, b) = (site.mount_at(address, "a", &[]), site.mount_at(address, "b", &[]));
        for round in 0..rounds {
            if wire == Wire::Breaking {
                let before = [&a, &b].map(|mount| count(&mount.status, "sessions"));
                let broken: Vec<TcpStream> = ways.lock().unwrap().drain(..).collect();
                broken.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
                let is_anew = |(mount, before): (&Mount, u64)| count(&mount.status, "sessions") > before;
                until("there are new sessions", || [&a, &b].into_iter().zip(before).all(is_anew));
            }
            let (one, other) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
            program(one, other, round);
        }
        // The test is void unless the other mount forgot something.
        server.counts("breaks", 1);
    }
}

fn pass(way: &OneWay, wire: Wire, ways: &Mutex<Vec<TcpStream>>) {
    let (mut from, mut to, mut bytes) = (&way.from, &way.to, [0; 512]);
    ways.lock().unwrap().push(way.from.try_clone().unwrap());
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if wire == Wire::Slow {
            thread::sleep(Duration::from_millis(1));
        }
        if to.write_all(&bytes[..length]).is_err() {
            return;
        }
    }
}

#[test]
fn what_is_written_and_closed_is_read_by_who_opens() {
    rounds("what_is_written_and_closed_is_read_by_who_opens", |one, other, round| {
        // Of one length for a while, so that times alone tell a new one from an old one.
        let text = format!("{round:03}").repeat(1 + round / 10 * 700);
        one.write("file", "before");
        let open = File::open(other.path("file")).unwrap();
        assert_eq!(bytes(&open), "before");
        one.write("file", &text);
        assert_eq!(bytes(&open), text, "round {round}");
        assert_eq!(other.read("file"), text, "round {round}");
        assert_eq!(one.read("file"), text, "round {round}");
    });
}

#[test]
fn both_append_and_nothing_is_lost() {
    rounds("both_append_and_nothing_is_lost", |one, other, round| {
        let name = format!("log-{}", round / 10);
        let appending =
            |mount: &Mount| OpenOptions::new().append(true).create(true).open(mount.path(&name)).unwrap();
        let before = appending(one).metadata().unwrap().len() as usize;
        let (barrier, lines) = (Barrier::new(2), 4);
        thread::scope(|scope| {
            for (mount, who) in [(one, "one"), (other, "two")] {
                let (barrier, appending) = (&barrier, &appending);
                scope.spawn(move || {
                    let mut file = appending(mount);
                    barrier.wait();
                    for line in 0..lines {
                        file.write_all(format!("{round} {who} {line}\n").as_bytes()).unwrap();
                    }
                });
            }
        });
        let text = one.read(&name);
        assert_eq!(text, other.read(&name));
        // Both have it now; the other one appends a line.
        let open = File::open(one.path(&name)).unwrap();
        assert_eq!(bytes(&open), text);
        appending(other).write_all(b"more\n").unwrap();
        assert_eq!(bytes(&open), text.clone() + "more\n", "round {round}");
        for who in ["one", "two"] {
            let expected: Vec<_> = (0..lines).map(|line| format!("{round} {who} {line}")).collect();
            let got: Vec<_> = text[before..].lines().filter(|line| line.contains(who)).collect();
            assert_eq!(got, expected, "round {round}");
        }
    });
}

#[test]
fn who_has_a_file_open_that_is_replaced_reads_it_on() {
    rounds("who_has_a_file_open_that_is_replaced_reads_it_on", |one, other, round| {
        let (old, new) = (format!("old {round}"), format!("new {round}, and longer"));
        one.write("file", &old);
        let mut open = File::open(other.path("file")).unwrap();
        assert_eq!(other.read("file"), old);
        one.write("temporary", &new);
        fs::rename(one.path("temporary"), one.path("file")).unwrap();
        assert_eq!(other.read("file"), new, "round {round}");
        assert_eq!(other.names(""), ["file"]);
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert_eq!(text, old, "round {round}");
    });
}

#[test]
fn what_is_cut_off_is_gone_and_what_is_added_is_nought() {
    rounds("what_is_cut_off_is_gone_and_what_is_added_is_nought", |one, other, round| {
        one.write("file", &"x".repeat(9000));
        assert_eq!(other.read("file").len(), 9000);
        let length = 100 * round;
        let file = OpenOptions::new().write(true).open(one.path("file")).unwrap();
        file.set_len(length as u64).unwrap();
        assert_eq!(fs::metadata(other.path("file")).unwrap().len(), length as u64, "round {round}");
        assert_eq!(other.read("file"), "x".repeat(length), "round {round}");
        file.set_len(9500).unwrap();
        assert_eq!(other.read("file"), "x".repeat(length) + &"\0".repeat(9500 - length), "round {round}");
    });
}

#[test]
fn who_has_a_file_open_that_is_removed_reads_it_on() {
    rounds("who_has_a_file_open_that_is_removed_reads_it_on", |one, other, round| {
        one.write("file", "still there");
        let mut open = File::open(other.path("file")).unwrap();
        fs::remove_file(one.path("file")).unwrap();
        let gone = File::open(other.path("file")).map(drop).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound, "round {round}");
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert_eq!(text, "still there");
        assert_eq!(open.metadata().unwrap().len(), 11);
    });
}

#[test]
fn directories_come_and_go() {
    rounds("directories_come_and_go", |one, other, round| {
        assert!(!other.path("directory").exists(), "round {round}: that it is not there is cached");
        fs::create_dir(one.path("directory")).unwrap();
        assert_eq!(other.names("directory"), [""; 0], "round {round}");
        other.write("directory/file", "x");
        let full = fs::remove_dir(one.path("directory")).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::DirectoryNotEmpty, "round {round}");
        fs::rename(one.path("directory/file"), one.path("moved")).unwrap();
        assert_eq!((other.names("directory"), other.read("moved")), (vec![], "x".to_owned()));
        fs::remove_file(other.path("moved")).unwrap();
        fs::remove_dir(one.path("directory")).unwrap();
        let gone = fs::read_dir(other.path("directory")).map(drop).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound, "round {round}");
    });
}

/// A break of attributes alone leaves pages and names, also that there is none.
#[test]
fn what_is_kept_while_attributes_change_is_forgotten_with_the_next_change() {
    rounds("what_is_kept_while_attributes_change_is_forgotten_with_the_next_change", |one, other, round| {
        let (directory, file) = (format!("d{round}"), format!("d{round}/file"));
        let mode = |name: &str| {
            fs::set_permissions(one.path(name), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap()
        };
        let times = || {
            let file = OpenOptions::new().write(true).open(one.path(&file)).unwrap();
            file.set_times(fs::FileTimes::new().set_modified(UNIX_EPOCH).set_accessed(UNIX_EPOCH)).unwrap();
        };
        fs::create_dir(one.path(&directory)).unwrap();
        assert!(!other.path(&file).exists(), "round {round}");
        mode(&directory);
        one.write(&file, "old");
        times();
        assert_eq!(other.read(&file), "old", "round {round}");
        mode(&file);
        one.write(&file, "new");
        times();
        assert_eq!(other.read(&file), "new", "round {round}");
    });
}

#[test]
fn a_size_is_that_of_what_was_written_though_the_file_is_open() {
    rounds("a_size_is_that_of_what_was_written_though_the_file_is_open", |one, other, round| {
        let mut file = File::create(one.path("file")).unwrap();
        let (mut whole, open) = (0, File::open(other.path("file")).unwrap());
        for more in [1, 4095, 5000] {
            file.write_all(&vec![b'x'; more]).unwrap();
            whole += more;
            assert_eq!(bytes(&open).len(), whole, "round {round}");
            assert_eq!(fs::metadata(other.path("file")).unwrap().len(), whole as u64, "round {round}");
        }
        file.sync_all().unwrap();
    });
}

#[test]
fn of_two_who_make_the_same_file_one_does() {
    rounds("of_two_who_make_the_same_file_one_does", |one, other, round| {
        let (name, barrier) = (format!("file-{round}"), Barrier::new(2));
        assert!(!one.path(&name).exists() && !other.path(&name).exists(), "that it is not there is cached");
        let make = |mount: &Mount| {
            barrier.wait();
            match File::create_new(mount.path(&name)) {
                Ok(_) => 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
                    0
                }
            }
        };
        let made = thread::scope(|scope| {
            let others = scope.spawn(|| make(other));
            make(one) + others.join().unwrap()
        });
        assert_eq!(made, 1, "round {round}");
        assert!(one.path(&name).exists() && other.path(&name).exists());
    });
}

#[test]
fn what_was_made_is_listed_and_what_was_removed_is_not() {
    rounds("what_was_made_is_listed_and_what_was_removed_is_not", |one, other, round| {
        let mut expected = other.names("");
        let name = format!("file-{round:03}");
        one.write(&name, "x");
        expected.push(name.clone());
        assert_eq!(other.names(""), expected, "round {round}");
        if round % 3 == 0 {
            fs::remove_file(other.path(&name)).unwrap();
            expected.pop();
            assert_eq!(one.names(""), expected, "round {round}");
        }
    });
}

#[test]
fn both_write_one_page_and_both_see_both() {
    rounds("both_write_one_page_and_both_see_both", |one, other, round| {
        one.write("file", &"-".repeat(100));
        assert_eq!((one.read("file").len(), other.read("file").len()), (100, 100));
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            for (mount, at) in [(one, 10), (other, 50)] {
                let barrier = &barrier;
                scope.spawn(move || {
                    let file = OpenOptions::new().write(true).open(mount.path("file")).unwrap();
                    barrier.wait();
                    file.write_all_at(format!("{round:03}").as_bytes(), at).unwrap();
                });
            }
        });
        let mut expected = "-".repeat(100);
        expected.replace_range(10..13, &format!("{round:03}"));
        expected.replace_range(50..53, &format!("{round:03}"));
        assert_eq!(one.read("file"), expected, "round {round}");
        assert_eq!(other.read("file"), expected, "round {round}");
        // Both have the page now; once more, one after the other.
        let open = File::open(one.path("file")).unwrap();
        assert_eq!(bytes(&open), expected);
        let file = OpenOptions::new().write(true).open(other.path("file")).unwrap();
        file.write_all_at(b"end", 97).unwrap();
        expected.replace_range(97..100, "end");
        assert_eq!(bytes(&open), expected, "round {round}");
    });
}

/// Maps each file whose path it reads, and for an empty one looks at the last again. Rust's mappings need unsafe
/// code.
const MAPPER: &str = "
import mmap, os, sys
for line in sys.stdin:
    if path := line.rstrip('\\n'):
        file = os.open(path, os.O_RDONLY)
        pages = mmap.mmap(file, 0, prot=mmap.PROT_READ)
        os.close(file)
    print(pages[:3].decode(), pages[-3:].decode(), flush=True)
";

#[test]
fn what_is_mapped_is_what_was_written_last() {
    let mapper = LazyCell::new(|| {
        let mut python = Command::new("python3");
        let child = python.args(["-c", MAPPER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let (input, output) = child.map(|child| (child.stdin.unwrap(), child.stdout.unwrap())).unwrap();
        RefCell::new((input, BufReader::new(output)))
    });
    let mapped = |path: &str| {
        let (input, output) = &mut *mapper.borrow_mut();
        writeln!(input, "{path}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line
    };
    rounds("what_is_mapped_is_what_was_written_last", |one, other, round| {
        let written = |letter: &str| format!("{letter}{round:02}").repeat(3000);
        one.write("file", &written("a"));
        assert_eq!(mapped(other.path("file").to_str().unwrap()), format!("a{round:02} a{round:02}\n"));
        // In place: beyond the end of a truncated file nothing is mapped.
        let file = OpenOptions::new().write(true).open(one.path("file")).unwrap();
        file.write_all_at(written("b").as_bytes(), 0).unwrap();
        assert_eq!(mapped(""), format!("b{round:02} b{round:02}\n"));
    });
}
