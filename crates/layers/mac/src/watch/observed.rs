//! View of the process that makes a watched call: its memory, its paths, its sockets.
//!
//! Measured side, hot. Looks through that process's own root, directory and descriptors in `/proc`, as the kernel
//! will when the call goes on. A finding may be out of date a moment later. So the caller asks afterwards whether the
//! call still waits, which shows that it was at least the same process; changes by another of its threads go unseen.

use bakeoff_layers_base::plain;
use bakeoff_sys::notify::{file_of, read_memory};
use nix::fcntl::{OFlag, open};
use nix::sys::socket::sockopt::SockType;
use nix::sys::socket::{SockType as Kind, getsockopt};
use nix::sys::stat::{Mode, SFlag, fstat};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Longest path that a call accepts.
const MOST_BYTES: usize = libc::PATH_MAX as usize;
/// Nearly all paths are shorter, and lie on one page.
const FEW_BYTES: usize = 256;

/// A thread that waits in a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) thread: u32,
    /// Its root may differ from ours. If not, `/proc` need not be asked, which takes a fifth of the time.
    pub(super) elsewhere: bool,
}

/// A path as a call names it: descriptor of the directory it is relative to, and text.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) dir: i32,
    pub(super) text: Vec<u8>,
}

/// The object at a path.
#[derive(Debug)]
pub(super) struct There {
    /// Its path, without links.
    pub(super) path: PathBuf,
    kind: SFlag,
    mode: Mode,
}

impl There {
    pub(super) fn is_dir(&self) -> bool {
        self.kind == SFlag::S_IFDIR
    }

    pub(super) fn is_link(&self) -> bool {
        self.kind == SFlag::S_IFLNK
    }

    pub(super) fn is_program(&self) -> bool {
        self.kind == SFlag::S_IFREG && self.mode.bits() & 0o111 != 0
    }
}

impl Observed {
    /// The zero-terminated text at an address.
    pub(super) fn text(self, address: u64) -> Option<Vec<u8>> {
        let mut text = vec![0; FEW_BYTES];
        let mut read = read_memory(self.thread, address, &mut text).ok()?;
        if read == FEW_BYTES && !text.contains(&0) {
            text.resize(MOST_BYTES, 0);
            read = read_memory(self.thread, address, &mut text).ok()?;
        }
        text.truncate(text.get(..read)?.iter().position(|byte| *byte == 0)?);
        Some(text)
    }

    /// Bytes at an address, up to `most`.
    pub(super) fn bytes(self, address: u64, most: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; most];
        let read = read_memory(self.thread, address, &mut bytes).ok()?;
        bytes.truncate(read);
        Some(bytes)
    }

    /// The object of this name; opens only its location (`O_PATH`).
    #[expect(clippy::disallowed_methods, reason = "where the other process would get to: not read")]
    pub(super) fn find(self, name: &Name, follow: bool) -> Option<There> {
        let link = if follow { OFlag::empty() } else { OFlag::O_NOFOLLOW };
        let at = open(&self.way(name)?, OFlag::O_PATH | OFlag::O_CLOEXEC | link, Mode::empty()).ok()?;
        let about = fstat(&at).ok()?;
        let kind = SFlag::from_bits_truncate(about.st_mode & SFlag::S_IFMT.bits());
        Some(There { path: self.path(&at)?, kind, mode: Mode::from_bits_truncate(about.st_mode) })
    }

    /// The parent directory of this name, and the name there.
    pub(super) fn folder(self, name: &Name) -> Option<(PathBuf, OsString)> {
        let text = name.text.strip_suffix(b"/").unwrap_or(&name.text);
        let at = text.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (folder, last) = text.split_at(at);
        let text = if folder.is_empty() { b".".to_vec() } else { folder.to_vec() };
        let there = self.find(&Name { dir: name.dir, text }, true)?;
        (there.is_dir() && !last.is_empty()).then(|| (there.path, OsString::from_vec(last.to_vec())))
    }

    /// Whether a descriptor is a stream socket.
    pub(super) fn is_stream(self, number: i32) -> bool {
        file_of(self.process(), number).is_ok_and(|socket| getsockopt(&socket, SockType) == Ok(Kind::Stream))
    }

    /// The process whose thread this is.
    pub(super) fn process(self) -> u32 {
        let about = plain::read_kernels(&format!("/proc/{}/status", self.thread)).unwrap_or_default();
        let line = about.lines().find_map(|line| line.strip_prefix("Tgid:"));
        line.and_then(|line| line.trim().parse().ok()).unwrap_or(self.thread)
    }

    /// Path of its program.
    pub(super) fn exe(self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.thread)).ok()
    }

    /// Path by which we reach what the other process would. `self` would mean us.
    fn way(self, Name { dir, text }: &Name) -> Option<PathBuf> {
        let own = format!("/proc/{}", self.thread);
        for (begin, stands_for) in
            [("/proc/self", ""), ("/proc/thread-self", ""), ("/dev/fd", "/fd"), ("/dev/std", "")]
        {
            let rest = text.strip_prefix(begin.as_bytes());
            let rest = match (begin, rest) {
                ("/dev/std", Some(b"in")) => b"/fd/0",
                ("/dev/std", Some(b"out")) => b"/fd/1",
                ("/dev/std", Some(b"err")) => b"/fd/2",
                (_, Some(rest)) if rest.is_empty() || rest.starts_with(b"/") => rest,
                _ => continue,
            };
            return Some(path_of([own.as_bytes(), stands_for.as_bytes(), rest].concat()));
        }
        let from = match (text.first()?, *dir) {
            (b'/', _) if !self.elsewhere => return Some(path_of(text.clone())),
            (b'/', _) => format!("{own}/root"),
            (_, libc::AT_FDCWD) => format!("{own}/cwd/"),
            (_, number) => format!("{own}/fd/{number}/"),
        };
        Some(path_of([from.as_bytes(), text].concat()))
    }

    /// Path of an object, as the log writes it; `None` for one without a path, as a pipe.
    fn path(self, at: &OwnedFd) -> Option<PathBuf> {
        let path = fs::read_link(format!("/proc/self/fd/{}", at.as_raw_fd())).ok()?;
        if !path.starts_with("/proc") {
            return path.has_root().then_some(path);
        }
        // Its own directory, or ours where a link led to `self`.
        let own = [self.thread, self.process(), std::process::id()];
        let rest = own.iter().find_map(|pid| path.strip_prefix(format!("/proc/{pid}")).ok());
        Some(rest.map_or_else(|| path.clone(), |rest| Path::new("/proc/self").join(rest)))
    }
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    OsStr::from_bytes(&bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: fn() -> Observed = || Observed { thread: std::process::id(), elsewhere: false };

    fn found(text: &str, follow: bool) -> Option<There> {
        let name = Name { dir: libc::AT_FDCWD, text: text.into() };
        let there = OWN().find(&name, follow);
        let elsewhere = Observed { elsewhere: true, ..OWN() }.find(&name, follow);
        assert_eq!(there.as_ref().map(|there| &there.path), elsewhere.as_ref().map(|there| &there.path));
        there
    }

    #[test]
    fn a_name_leads_where_it_leads_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("d")).unwrap();
        std::os::unix::fs::symlink("d", root.join("link")).unwrap();
        let text = |name: &str| root.join(name).display().to_string();
        assert_eq!(found(&text("link"), true).unwrap().path, root.join("d"));
        assert!(found(&text("link"), false).unwrap().is_link());
        assert!(found(&text("missing"), true).is_none() && found("", true).is_none());
        let name = |text: String| Name { dir: libc::AT_FDCWD, text: text.into() };
        assert_eq!(OWN().folder(&name(text("link/new"))), Some((root.join("d"), "new".into())));
        assert_eq!(OWN().folder(&name(text("d/new/"))), Some((root.join("d"), "new".into())));
        assert_eq!(OWN().folder(&name(text("missing/new"))), None);
        let at = fs::File::open(&root).unwrap();
        let within = Name { dir: at.as_raw_fd(), text: b"link/../d".to_vec() };
        assert_eq!(OWN().find(&within, true).unwrap().path, root.join("d"));
        assert_eq!(
            found("Cargo.toml", true).unwrap().path,
            std::env::current_dir().unwrap().join("Cargo.toml")
        );
    }

    #[test]
    fn what_is_a_process_own_is_not_the_observers() {
        assert_eq!(found("/proc/self/maps", true).unwrap().path, Path::new("/proc/self/maps"));
        assert_eq!(found("/proc/thread-self/maps", true).unwrap().path, Path::new("/proc/self/maps"));
        assert_eq!(found("/proc/selfish", true).map(|there| there.path), None);
        assert_eq!(
            found(&format!("/proc/{}/maps", std::process::id()), true).unwrap().path,
            Path::new("/proc/self/maps")
        );
        let (reading, _writing) = std::io::pipe().unwrap();
        assert!(found(&format!("/dev/fd/{}", reading.as_raw_fd()), true).is_none(), "a pipe has no place");
    }

    #[test]
    fn memory_ends_with_a_zero_or_is_no_text() {
        let text = [b"a".repeat(FEW_BYTES + 10), vec![0]].concat();
        assert_eq!(OWN().text(text.as_ptr() as u64).unwrap().len(), FEW_BYTES + 10);
        assert!(OWN().text(8).is_none());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(OWN().is_stream(listener.as_raw_fd()) && !OWN().is_stream(datagrams.as_raw_fd()));
    }
}
