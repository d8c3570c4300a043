//! Cost of reading a manifest. It makes a manifest of the given number of files, signs it, and reads it in a child
//! process that prints its own CPU time and peak of memory.
//!
//!     cargo run --release -p bakeoff-layers-base --example manifest_load -- 20000

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use bakeoff_layers_base::digest::{Algorithm, Digest};
use bakeoff_layers_base::key;
use bakeoff_layers_base::manifest::load::{self, TrustConditions};
use bakeoff_layers_base::manifest::signature::{self, AdminPublicKey};
use bakeoff_layers_base::manifest::{FaultAction, ManifestEntry, ManifestHeader, text};
use std::path::Path;
use std::process::Command;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("read") => read(Path::new(&words[2])),
        Some(number) => make(number.parse().expect("a number of files")),
        None => println!("usage: manifest_load FILES"),
    }
}

fn make(files: usize) {
    let dir = std::env::temp_dir().join(format!("bakeoff-manifest-load-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let (secret, public) = (dir.join("key"), dir.join("pub"));
    key::generate(&secret, &public, None).unwrap();
    let key = key::read_secret(&secret, None).unwrap();
    let header = ManifestHeader {
        version: 1,
        created_unix_s: 1,
        not_after_unix_s: u64::MAX,
        key_id: signature::id_of(&key),
        algorithm: Algorithm::Blake3,
    };
    // As long as paths of a site are: directories of a hundred files.
    let paths: Vec<String> =
        (0..files).map(|at| format!("athletics/{:05}/page-{at:08}.html", at / 100)).collect();
    let entries: Vec<ManifestEntry<'_>> = paths
        .iter()
        .map(|path| ManifestEntry {
            digest: Digest(*blake3_of(path)),
            size_bytes: 34_000,
            mode: 0o644,
            action: FaultAction::Lock,
            path,
        })
        .collect();
    let bytes = text(&header, entries.into_iter());
    let manifest = dir.join("manifest");
    std::fs::write(load::signature_path(&manifest), signature::sign(&bytes, &key, "x").unwrap()).unwrap();
    std::fs::write(&manifest, &bytes).unwrap();
    println!("{files} files, {:.1} MB", bytes.len() as f64 / 1e6);
    for _ in 0..7 {
        let own = std::env::current_exe().unwrap();
        assert!(Command::new(own).args(["read".as_ref(), dir.as_os_str()]).status().unwrap().success());
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

fn blake3_of(path: &str) -> Box<[u8; 32]> {
    Box::new(Algorithm::Blake3.digest(path.as_bytes()).0)
}

fn read(dir: &Path) {
    let public = AdminPublicKey::read(&dir.join("pub")).unwrap();
    let before = cpu_ms();
    let trust = TrustConditions { key: &public, now_unix_s: 0, seen_version: 0 };
    let manifest = load::load(&dir.join("manifest"), &trust).unwrap();
    let took = cpu_ms() - before;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().to_owned();
    println!("{} files: read and verified in {took:.2} ms of CPU, peak {peak}", manifest.len());
}

/// CPU time of this process, from the scheduler's own account.
fn cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6
}
