//! Test site: a tree with its vault, and a mount of it that never outlives its test.

pub(crate) use crate::daemon::{Mount, PATIENCE, can_mount, is_mounted, until};

use crate::daemon::count;
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;
use tempfile::TempDir;

/// A tree, a key file and a vault.
pub(crate) struct Site {
    folder: TempDir,
}

/// The files of every site, with their sizes.
pub(crate) const FILES: [(&str, usize); 5] = [
    ("index.html", 700),
    ("img/large.bin", 3_000_000),
    ("img/other.bin", 200_000),
    ("img/empty", 0),
    ("a/b/c/deep.css", 34_000),
];

/// Bytes that identify their file and position.
pub(crate) fn text_of(path: &str, bytes: usize) -> Vec<u8> {
    path.bytes().cycle().enumerate().map(|(at, byte)| byte ^ (at / 251) as u8).take(bytes).collect()
}

impl Site {
    pub(crate) fn new() -> Self {
        let site = Self::unsealed();
        for (path, bytes) in FILES {
            site.write(path, &text_of(path, bytes));
        }
        symlink("../index.html", site.tree().join("img/link")).unwrap();
        site.seal();
        site
    }

    /// A site without files and vault.
    pub(crate) fn unsealed() -> Self {
        let folder = tempfile::Builder::new().prefix("bakeoff-store-").tempdir().unwrap();
        fs::create_dir_all(folder.path().join("tree")).unwrap();
        fs::create_dir_all(folder.path().join("mnt")).unwrap();
        let site = Self { folder };
        assert_done(&site.layers(&["keygen", "--key", &site.text("key")]));
        // Other users must be able to reach the mount point.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(site.folder.path(), open).unwrap();
        site
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.tree().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.path("site.vault")
    }

    pub(crate) fn mount_point(&self) -> PathBuf {
        self.path("mnt")
    }

    pub(crate) fn seal(&self) {
        let (tree, vault, key) = (self.text("tree"), self.text("site.vault"), self.text("key"));
        assert_done(&self.layers(&["seal", &tree, "--out", &vault, "--key", &key]));
    }

    /// `bakeoff-layers store ...`, to its end.
    pub(crate) fn layers(&self, words: &[&str]) -> Output {
        command().args(words).output().unwrap()
    }

    /// With the vault and the key file as arguments.
    pub(crate) fn with_key(&self, word: &str) -> Output {
        self.layers(&[word, &self.text("site.vault"), "--key", &self.text("key")])
    }

    pub(crate) fn mount(&self) -> Mount {
        let mut command = command();
        command.arg("mount").arg(self.vault()).arg(self.mount_point());
        command.arg("--key").arg(self.path("key")).arg("--status").arg(self.path("status"));
        Mount::of(command, self.mount_point(), self.path("status"))
    }

    /// Message of a mount that must fail.
    pub(crate) fn refused_mount(&self, key: &[&str]) -> String {
        let (vault, at) = (self.text("site.vault"), self.text("mnt"));
        let output = self.layers(&[&["mount", &vault, &at], key].concat());
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(!is_mounted(&self.mount_point()));
        String::from_utf8(output.stderr).unwrap()
    }

    /// `bakeoff-layers integrity ...`, to its end.
    pub(crate) fn integrity(&self, words: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
        assert_done(&command.arg("integrity").args(words).output().unwrap());
    }

    pub(crate) fn key_flags(&self) -> [String; 2] {
        ["--key".to_owned(), self.text("key")]
    }
}

pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
    command.arg("store");
    command
}

pub(crate) fn assert_done(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

impl Mount {
    pub(crate) fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        fs::read(self.at.join(path))
    }

    /// A counter, once the status file had time to be written.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.counts([name])[0]
    }

    /// Several, of one time. The file is written within a tenth of a second after a change. So it is up to date when
    /// it stays unchanged for longer than a busy machine delays that.
    pub(crate) fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        let read = || fs::read_to_string(&self.status).unwrap();
        let mut text = read();
        loop {
            std::thread::sleep(Duration::from_millis(700));
            let again = read();
            if again == text {
                return names.map(|name| count(&text, name));
            }
            text = again;
        }
    }

    /// The status file's first line.
    pub(crate) fn state(&self) -> String {
        fs::read_to_string(&self.status).unwrap().lines().next().unwrap().to_owned()
    }

    /// Progress of a lock.
    pub(crate) fn dropped(&self) -> String {
        let text = fs::read_to_string(&self.status).unwrap();
        text.lines().find_map(|line| line.strip_prefix("dropped ")).unwrap().to_owned()
    }

    /// The children of the daemon: its keeper.
    pub(crate) fn children(&self) -> Vec<Pid> {
        let id = self.daemon.id();
        let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        text.split_whitespace().map(|word| Pid::from_raw(word.parse().unwrap())).collect()
    }
}
