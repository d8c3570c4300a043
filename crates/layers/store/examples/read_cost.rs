//! Cost of reading the same files through several mounts: wall time, CPU and bytes from a disk, for the reader and
//! the daemons behind.
//!
//!     read_cost [--cold] [--rounds N] [--files N] [--threads N] NAME=DIR[:PID] ...
//!
//! The first NAME is the reference. In each round every tree is read once, in an order that rotates;
//! files are opened, read whole and closed in a fixed random order. `--cold` drops the kernel's caches
//! before each. Prints the medians and their ratio to the reference in the same round.

#![allow(clippy::print_stdout, reason = "an example prints")]
#![allow(clippy::unwrap_used)] // a measurement that cannot be made has failed

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

struct Tree {
    name: String,
    root: PathBuf,
    daemon: Option<u32>,
    rounds: Vec<Cost>,
}

#[derive(Clone, Copy)]
struct Cost {
    wall_s: f64,
    cpu_s: f64,
    disk_bytes: f64,
}

struct Wanted {
    cold: bool,
    rounds: usize,
    files: usize,
    threads: usize,
}

fn main() {
    let (wanted, mut trees) = arguments();
    let mut files = Vec::new();
    walk(&trees[0].root, Path::new(""), &mut files);
    files.sort();
    shuffle(&mut files);
    files.truncate(wanted.files);
    for round in 0..wanted.rounds {
        for turn in 0..trees.len() {
            let at = (turn + round) % trees.len();
            let cost = read(&trees[at], &files, &wanted);
            trees[at].rounds.push(cost);
        }
    }
    let bytes: u64 = files.iter().map(|file| fs::metadata(trees[0].root.join(file)).unwrap().len()).sum();
    println!("{} files, {bytes} bytes, {} rounds", files.len(), wanted.rounds);
    for tree in &trees {
        let of = |pick: fn(&Cost) -> f64| median(tree.rounds.iter().map(pick).collect());
        let ratio = |pick: fn(&Cost) -> f64| {
            let pairs = tree.rounds.iter().zip(&trees[0].rounds);
            median(pairs.map(|(own, plain)| pick(own) / pick(plain)).collect())
        };
        println!(
            "{:<12} {:8.2} us wall, {:8.2} us CPU a file, {:7.0} MB/s, {:.3} bytes of the disk a byte; wall x{:.3}, \
             CPU x{:.3}",
            tree.name,
            of(|cost| cost.wall_s) / files.len() as f64 * 1e6,
            of(|cost| cost.cpu_s) / files.len() as f64 * 1e6,
            bytes as f64 / 1e6 / of(|cost| cost.wall_s),
            of(|cost| cost.disk_bytes) / bytes as f64,
            ratio(|cost| cost.wall_s),
            ratio(|cost| cost.cpu_s),
        );
    }
}

fn read(tree: &Tree, files: &[PathBuf], wanted: &Wanted) -> Cost {
    if wanted.cold {
        nix::unistd::sync();
        fs::write("/proc/sys/vm/drop_caches", "3").unwrap();
    }
    let (begin, daemon_before) = (Instant::now(), daemon_cpu_s(tree));
    let own_before = own_cpu_s();
    let disk_before = disk_bytes(tree);
    std::thread::scope(|scope| {
        for part in 0..wanted.threads {
            scope.spawn(move || {
                let mut buffer = vec![0; 128 << 10];
                for file in files.iter().skip(part).step_by(wanted.threads) {
                    let mut open = File::open(tree.root.join(file)).unwrap();
                    while open.read(&mut buffer).unwrap() > 0 {}
                }
            });
        }
    });
    let wall_s = begin.elapsed().as_secs_f64();
    let cpu_s = own_cpu_s() - own_before + daemon_cpu_s(tree) - daemon_before;
    Cost { wall_s, cpu_s, disk_bytes: disk_bytes(tree) - disk_before }
}

/// Bytes that the kernel fetched from a disk for the reader and the daemon.
fn disk_bytes(tree: &Tree) -> f64 {
    let of = |process: &str| -> f64 {
        let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
        line.unwrap().parse().unwrap()
    };
    of("self") + tree.daemon.map_or(0.0, |daemon| of(&daemon.to_string()))
}

/// The process's CPU clock, which counts nanoseconds and not ticks.
fn own_cpu_s() -> f64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap();
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

fn daemon_cpu_s(tree: &Tree) -> f64 {
    let Some(daemon) = tree.daemon else { return 0.0 };
    let tasks = fs::read_dir(format!("/proc/{daemon}/task")).unwrap();
    let of = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    tasks.map(|task| of(task.unwrap())).sum::<f64>() / 1e9
}

fn arguments() -> (Wanted, Vec<Tree>) {
    let mut wanted = Wanted { cold: false, rounds: 9, files: usize::MAX, threads: 1 };
    let mut trees = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().unwrap().parse().unwrap();
        match word.as_str() {
            "--cold" => wanted.cold = true,
            "--rounds" => wanted.rounds = number(),
            "--files" => wanted.files = number(),
            "--threads" => wanted.threads = number(),
            other => trees.push(tree(other)),
        }
    }
    (wanted, trees)
}

fn tree(word: &str) -> Tree {
    let (name, place) = word.split_once('=').unwrap();
    let (root, daemon) = match place.split_once(':') {
        Some((root, daemon)) => (root, Some(daemon.parse().unwrap())),
        None => (place, None),
    };
    Tree { name: name.to_owned(), root: root.into(), daemon, rounds: Vec::new() }
}

fn walk(root: &Path, below: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            walk(root, &path, files);
        } else {
            files.push(path);
        }
    }
}

/// The same order in every run.
fn shuffle(files: &mut [PathBuf]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..files.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        files.swap(last, (state % (last as u64 + 1)) as usize);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
