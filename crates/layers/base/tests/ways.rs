//! Ways to files, against the kernel as the judge: whatever way is accepted, nobody else can exchange a part of it.
//!
//! Every small tree of two directories and a file: whoever owns them, whatever their modes, reached directly or by a
//! link of anybody's. Of each way that is accepted another user tries to rename every part, and to write to the file.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, and its SKIP line")]

use bakeoff_layers_base::plain::{FileAudience, FileLocation, FileOwner, guard_directory, read_regular};
use nix::unistd::{Gid, Uid, geteuid, setfsgid, setfsuid};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

const OTHER: u32 = 65_534;
const OWNERS: [u32; 2] = [0, OTHER];
const MODES: [u32; 4] = [0o755, 0o775, 0o777, 0o1777];
/// Of the second directory: one that is closed and one that all share.
const FEWER: [u32; 2] = [0o755, 0o1777];

/// One step of a way: what it leads to, and the link that leads there, if one does.
#[derive(Clone, Copy, Debug)]
struct Step {
    owner: u32,
    mode: u32,
    link: Option<u32>,
}

impl Step {
    fn all(modes: &'static [u32]) -> impl Iterator<Item = Self> {
        let links = [None, Some(0), Some(OTHER)];
        OWNERS.into_iter().flat_map(move |owner| {
            let each = modes.iter().flat_map(move |mode| links.map(|link| Self { owner, mode: *mode, link }));
            each.collect::<Vec<_>>()
        })
    }

    fn is_roots(self) -> bool {
        self.owner == 0 && self.mode & 0o022 == 0 && self.link.is_none_or(|link| link == 0)
    }

    /// Makes `name` in `folder`; returns the path by which it is named, and adds every path on the way.
    fn make(self, folder: &Path, way: &mut Vec<PathBuf>, make: fn(&Path) -> io::Result<()>) -> PathBuf {
        let real = folder.join("real");
        make(&real).unwrap();
        chown(&real, Some(self.owner), Some(OTHER)).unwrap();
        way.push(real.clone());
        let Some(link) = self.link else { return real };
        let named = folder.join("link");
        symlink("real", &named).unwrap();
        lchown(&named, Some(link), Some(link)).unwrap();
        way.push(named.clone());
        named
    }

    fn set_mode(self, path: &Path) {
        fs::set_permissions(path, fs::Permissions::from_mode(self.mode)).unwrap();
    }
}

/// Runs `work` in a thread with the rights of the other user.
fn as_other<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            setfsgid(Gid::from_raw(OTHER));
            setfsuid(Uid::from_raw(OTHER));
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn of_an_accepted_way_nobody_else_can_exchange_a_part() {
    if !geteuid().is_root() {
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "it needs root");
        return println!("SKIP of_an_accepted_way_nobody_else_can_exchange_a_part: needs root");
    }
    let (mut accepted, mut all) = (0, 0);
    for first in Step::all(&MODES) {
        for second in Step::all(&FEWER) {
            for file in Step::all(&[0o644]) {
                let top = tempfile::tempdir().unwrap();
                fs::set_permissions(top.path(), fs::Permissions::from_mode(0o755)).unwrap();
                let mut way = Vec::new();
                let one = first.make(top.path(), &mut way, |path| fs::create_dir(path));
                let two = second.make(&one, &mut way, |path| fs::create_dir(path));
                let to_two = way.len();
                let path = file.make(&two, &mut way, |path| fs::write(path, "own"));
                for (step, at) in [(first, &one), (second, &two), (file, &path)] {
                    step.set_mode(at);
                }
                all += 1;
                let steps = [first, second, file];
                let exchange = |parts: &[PathBuf]| {
                    let mut parts = parts.iter();
                    as_other(|| {
                        parts.find(|part| fs::rename(part, part.with_extension("gone")).is_ok()).cloned()
                    })
                };
                let point = guard_directory(&two).is_ok();
                assert!(point || !steps[..2].iter().all(|step| step.is_roots()), "{steps:?}");
                assert!(!point || exchange(&way[..to_two]).is_none(), "{steps:?}");
                let read = read_regular(&path, FileOwner::Trusted, 3);
                let place = FileLocation::guarded(&path);
                let roots = steps.iter().all(|step| step.is_roots());
                assert!(read.is_ok() || !roots, "{steps:?}: {read:?}");
                if read.is_err() {
                    continue;
                }
                accepted += 1;
                place.unwrap().try_writing().unwrap();
                assert_eq!(exchange(&way), None, "{steps:?}");
                let written = as_other(|| fs::OpenOptions::new().write(true).open(&path));
                assert!(written.is_err(), "{steps:?}: written to");
            }
        }
    }
    assert!(accepted > 10 && accepted < all / 2, "{accepted} of {all} accepted");
}

#[test]
fn no_other_name_of_a_file_is_a_way_past_the_walk() {
    if !geteuid().is_root() {
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "it needs root");
        return println!("SKIP no_other_name_of_a_file_is_a_way_past_the_walk: needs root");
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["his", "shared"] {
        fs::create_dir(at(name)).unwrap();
    }
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(at("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
    chown(at("his"), Some(OTHER), Some(OTHER)).unwrap();
    fs::write(at("old"), "own").unwrap();
    fs::write(at("his/file"), "own").unwrap();
    // An old file of root's by a new name, and root's new one after the old is gone.
    fs::hard_link(at("old"), at("shared/file")).unwrap();
    let mut his = std::process::Command::new("/bin/sleep");
    std::os::unix::process::CommandExt::uid(his.arg("60"), OTHER);
    let mut his = his.current_dir(at("his")).spawn().unwrap();
    let file = fs::File::open(at("old")).unwrap();
    let own = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let path = |start: &str| PathBuf::from(format!("{start}{}", at("his/file").display()));
    let ways = [
        path("/dev/fd/../../.."),
        path(&format!("{own}/../../..")),
        format!("/proc/{}/cwd/file", his.id()).into(),
        path(&format!("/proc/{}/root", his.id())),
        at("shared/file"),
    ];
    let read = |way: &PathBuf| read_regular(way, FileOwner::Trusted, 3).is_ok();
    let taken: Vec<_> = ways.iter().filter(|way| read(way)).collect();
    his.kill().unwrap();
    his.wait().unwrap();
    assert!(taken.is_empty(), "{taken:?}");
    assert!(read(&own.into()), "what the caller has open");
    fs::remove_file(at("old")).unwrap();
    assert!(read(&at("shared/file")));
}

#[test]
fn nothing_but_a_short_regular_file_is_read_and_nothing_waits() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("file"), "12345").unwrap();
    fs::File::create(at("endless")).unwrap().set_len(1 << 40).unwrap();
    fs::create_dir(at("directory")).unwrap();
    nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (name, target) in
        [("zero", "/dev/zero"), ("tty", "/dev/tty"), ("round", "round"), ("to-fifo", "fifo")]
    {
        symlink(target, at(name)).unwrap();
    }
    let mut read = Vec::new();
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        for owner in [FileOwner::Trusted, FileOwner::Anybody] {
            read.extend(read_regular(&path, owner, 5).map(|bytes| (path.clone(), bytes)));
        }
        let place = FileLocation::guarded(&path).unwrap();
        assert!(place.put_new(b"x", FileAudience::Owner).is_err(), "{}: made anew", path.display());
        let kept = place.keep(true, 0o600).is_ok();
        assert_eq!(kept, ["file", "endless"].contains(&path.file_name().unwrap().to_str().unwrap()));
    }
    assert_eq!(read, vec![(at("file"), b"12345".to_vec()); 2]);
    fs::hard_link(at("file"), at("second")).unwrap();
    assert!(
        FileLocation::guarded(&at("second")).unwrap().keep(true, 0o600).is_err(),
        "another name of a file"
    );
}
