//! Quick starts on the pages of the layers, run as they stand: as root, on a machine with a network of its own.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed
#![allow(clippy::print_stdout, reason = "the SKIP line is for whoever runs the tests")]

use nix::unistd::Uid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const LAYERS: &str = env!("CARGO_BIN_EXE_bakeoff-layers");

/// What each page's quick start prints when it does what the page promises.
const OUTCOMES: [(&str, &[&str]); 6] = [
    ("integrity", &["Operation not permitted", "hello"]),
    ("store", &["mounted site.vault on mnt", "hello"]),
    ("mac", &["nothing is wrong", "hello", "Permission denied", "read refused"]),
    ("police", &["armed", "200\n429\n"]),
    ("remotefs", &["hello", "read yes", "to be told of /projects/x"]),
    ("credentials", &["x.transfer: for user:bob@home.example", "taken back: x.transfer"]),
];

/// Indented blocks between `## Quick start` and the next heading, without their indentation.
fn blocks(page: &str) -> Vec<String> {
    let start = page.lines().skip_while(|line| *line != "## Quick start").skip(1);
    let section: Vec<&str> = start.take_while(|line| !line.starts_with('#')).collect();
    let is_code = |line: &str| line.starts_with("    ");
    let chunks = section
        .chunk_by(|one, other| (is_code(one) || one.is_empty()) == (is_code(other) || other.is_empty()));
    let text =
        |chunk: &[&str]| chunk.iter().map(|line| format!("{}\n", line.get(4..).unwrap_or(""))).collect();
    chunks.filter(|chunk| chunk.iter().any(|line| is_code(line))).map(text).collect()
}

/// A directory with `bin/bakeoff`, and one that is empty. What integrity froze there can be removed in any case.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::Builder::new().prefix("bakeoff-quick-start-").tempdir().unwrap());
        for name in ["bin", "empty"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        // As `bakeoff layer` does.
        let bakeoff = place.path("bin/bakeoff");
        fs::write(&bakeoff, format!("#!/bin/sh\n[ \"$1\" = layer ] && shift && exec {LAYERS} \"$@\"\n"))
            .unwrap();
        fs::set_permissions(&bakeoff, fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut thaw = Command::new(LAYERS);
        let _ = thaw.args(["integrity", "thaw"]).arg(self.path("empty/site")).output();
    }
}

/// Output of a block that succeeds, standard error first. Its processes and mounts end with it, in namespaces of
/// their own; so does its `/run`.
fn run(page: &str, block: &str) -> String {
    let place = Place::new();
    fs::write(place.path("script"), block).unwrap();
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]);
    command.args(["--mount-proc", "bash", "-ec"]);
    command.arg("ip link set lo up; mount -t tmpfs run /run; exec bash -e \"$0\"").arg(place.path("script"));
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env_remove("XDG_RUNTIME_DIR").current_dir(place.path("empty"));
    let ended = command.output().unwrap();
    let said = [ended.stderr, ended.stdout].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    assert!(ended.status.success(), "{page}: {}\n{block}\n{said}", ended.status);
    said
}

#[test]
fn the_quick_starts_of_the_layers_run_as_they_stand() {
    let missing =
        ["/dev/fuse", "/usr/bin/curl", "/usr/bin/python3"].into_iter().find(|path| !Path::new(path).exists());
    let reason = if Uid::effective().is_root() { missing } else { Some("root") };
    if let Some(reason) = reason {
        let test = "the_quick_starts_of_the_layers_run_as_they_stand";
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: needs {reason}");
        println!("SKIP {test}: needs {reason}");
        return;
    }
    for (page, words) in OUTCOMES {
        let path = format!("{}/../../../docs/layers/{page}.md", env!("CARGO_MANIFEST_DIR"));
        let blocks = blocks(&fs::read_to_string(path).unwrap());
        let said: String = blocks.iter().map(|block| run(page, block)).collect();
        for word in words {
            assert!(said.contains(word), "{page} does not say `{word}`:\n{said}");
        }
    }
}
