//! Cost of opens under enforcement: the first open of a file, and those that the kernel answers from its ignore mark,
//! beside the same opens of a tree without enforcement. As root.
//!
//!     cargo build --release --bins && cargo run --release -p bakeoff-layers-integrity --example opens
//!
//! Starts `bakeoff-layers` from two directories above itself, where cargo puts it. Times are CPU times of the opening
//! thread and of the deciding process.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use bakeoff_sys::thread::cpu_time;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Files whose first open is measured.
const FILES: usize = 1_000;
/// Number of opens in a block, compared with the same block in the other tree.
const BLOCK: usize = 5_000;
/// Pairs of blocks.
const PAIRS: usize = 40;

fn main() {
    let dir = std::env::temp_dir().join(format!("bakeoff-opens-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    for size_bytes in [1_024, 34_000, 131_072] {
        first_opens(&dir, size_bytes);
    }
    remembered_opens(&dir, None);
    remembered_opens(&dir, Some(&dir.join("site/unsigned")));
    std::fs::remove_dir_all(&dir).unwrap();
}

/// The enforcing processes; they end when it is dropped.
struct Guard(Child, PathBuf);

impl Guard {
    fn start(dir: &Path, flags: &[&str]) -> Self {
        Self::start_beside(dir, flags, None)
    }

    /// The same with an unsigned file in the tree.
    fn start_beside(dir: &Path, flags: &[&str], unsigned: Option<&Path>) -> Self {
        let layers = std::env::current_exe().unwrap().parent().unwrap().with_file_name("bakeoff-layers");
        let run = |arguments: &[&str]| {
            let done = Command::new(&layers).arg("integrity").args(arguments).current_dir(dir).output();
            assert!(done.unwrap().status.success());
        };
        for name in ["key", "pub"] {
            let _ = std::fs::remove_file(dir.join(name));
        }
        run(&["keygen", "--key", "key", "--pub", "pub"]);
        run(&["seal", "site", "--key", "key", "--out", "manifest"]);
        unsigned.into_iter().for_each(|path| std::fs::write(path, "x").unwrap());
        let mut command = Command::new(&layers);
        command.args(["integrity", "enforce", "site", "--manifest", "manifest", "--pub", "pub"]);
        command.args(["--mode", "deny", "--status", "status"]).args(flags).current_dir(dir);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("armed"), "{line}");
        Self(child, dir.to_owned())
    }

    fn worker(&self) -> u32 {
        let text = std::fs::read_to_string(self.1.join("status")).unwrap();
        text.lines().find_map(|line| line.strip_prefix("worker-pid ")).unwrap().parse().unwrap()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn first_opens(dir: &Path, size_bytes: usize) {
    let site = dir.join("site");
    fill(&site, FILES, size_bytes);
    let paths: Vec<PathBuf> = (0..FILES).map(|at| site.join(at.to_string())).collect();
    // In memory, as hashing from disk would measure the disk.
    paths.iter().for_each(|path| drop(std::fs::read(path).unwrap()));
    let plain: Vec<f64> = paths.iter().map(|path| open_us(path)).collect();
    let guard = Guard::start(dir, &["--no-ahead"]);
    let worker = guard.worker();
    let (mut opener, mut decider) = (Vec::new(), Vec::new());
    for path in &paths {
        let before = process_us(worker);
        opener.push(open_us(path));
        // Work after its answer counts, too.
        std::thread::sleep(Duration::from_millis(1));
        decider.push(process_us(worker) - before);
    }
    drop(guard);
    let both: Vec<f64> = opener.iter().zip(&decider).map(|(opener, decider)| opener + decider).collect();
    let hash_us = hash_us(&paths[0]);
    let (plain, opener, decider, both) = (median(plain), median(opener), median(decider), median(both));
    println!(
        "first open of {size_bytes} bytes: {both:.1} us (opener {opener:.1}, deciding process {decider:.1}), \
         {plain:.1} us unenforced; {:.1} us without hashing, which takes {hash_us:.1} us",
        both - hash_us
    );
    for (when, flags) in [("at the open", &["--no-ahead"][..]), ("before", &[])] {
        let guard = Guard::start(dir, flags);
        let (opener, decider) = one_after_the_other(&paths, guard.worker());
        let both = opener + decider;
        println!(
            "  without a pause between them, hashed {when}: {both:.1} us (opener {opener:.1}, deciding process \
             {decider:.1})"
        );
    }
    std::fs::remove_dir_all(&site).unwrap();
}

/// CPU time of an open and of the work for it, without sleeps in between, so that the caches stay warm.
fn one_after_the_other(paths: &[PathBuf], worker: u32) -> (f64, f64) {
    let before = process_us(worker);
    let opener: f64 = paths.iter().map(|path| open_us(path)).sum();
    std::thread::sleep(Duration::from_millis(20));
    (opener / paths.len() as f64, (process_us(worker) - before) / paths.len() as f64)
}

/// Opens of files with a verdict, and of the same files in a tree without enforcement. Beside an unsigned file their
/// marks stay.
fn remembered_opens(dir: &Path, unsigned: Option<&Path>) {
    const SOME: usize = 100;
    for name in ["site", "free"] {
        fill(&dir.join(name), SOME, 34_000);
    }
    let guard = Guard::start_beside(dir, &[], unsigned);
    let block = |name: &str| {
        let paths: Vec<PathBuf> = (0..SOME).map(|at| dir.join(name).join(at.to_string())).collect();
        let before = cpu_time();
        for turn in 0..BLOCK {
            drop(File::open(&paths[turn % SOME]).unwrap());
        }
        cpu_time().since(before).get() as f64 / 1e3 / BLOCK as f64
    };
    block("site");
    block("free");
    let (mut ratios, mut enforced, mut free) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        // Alternates the order.
        let (site, other) = if pair % 2 == 0 {
            let site = block("site");
            (site, block("free"))
        } else {
            let other = block("free");
            (block("site"), other)
        };
        ratios.push(site / other);
        enforced.push(site);
        free.push(other);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "open and close with a verdict, {}: {:.3} us, {:.3} us unenforced; ratio {:.4} (median of {PAIRS} pairs, \
         quartiles {:.4} to {:.4})",
        if unsigned.is_some() { "with marks" } else { "without marks" },
        median(enforced),
        median(free),
        ratios[PAIRS / 2],
        ratios[PAIRS / 4],
        ratios[PAIRS * 3 / 4]
    );
    drop(guard);
    for name in ["site", "free"] {
        std::fs::remove_dir_all(dir.join(name)).unwrap();
    }
}

fn fill(dir: &Path, files: usize, size_bytes: usize) {
    std::fs::create_dir(dir).unwrap();
    for at in 0..files {
        let text = vec![b'a' + (at % 26) as u8; size_bytes];
        std::fs::write(dir.join(at.to_string()), text).unwrap();
        let readable = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(dir.join(at.to_string()), readable).unwrap();
    }
}

fn open_us(path: &Path) -> f64 {
    let before = cpu_time();
    let file = File::open(path);
    let took = cpu_time().since(before);
    file.unwrap().read_exact(&mut [0]).unwrap();
    took.get() as f64 / 1e3
}

/// BLAKE3 over a file in memory, the fastest of some.
fn hash_us(path: &Path) -> f64 {
    let bytes = std::fs::read(path).unwrap();
    let once = || {
        let before = cpu_time();
        let digest = bakeoff_layers_base::digest::Algorithm::Blake3.digest(&bytes);
        std::hint::black_box(digest);
        cpu_time().since(before).get() as f64 / 1e3
    };
    (0..100).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// CPU time of a process and all its threads.
fn process_us(pid: u32) -> f64 {
    bakeoff_sys::cpu_clock::process(pid).unwrap().get() as f64 / 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
