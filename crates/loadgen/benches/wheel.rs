//! Timer wheel against the heap of the standard library: ns of the thread's CPU for taking one robot out and putting it
//! back. Time is simulated; only the thread's clock is read.
//!
//! Below it the longest single turn in us, the least of all repetitions: now and then the wheel deals out
//! a whole list. `-- --callgrind N` makes N turns of 100,000 robots in the wheel, for callgrind.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

#[path = "../src/wheel/mod.rs"]
#[allow(dead_code, reason = "its tests are compiled, but run from the crate")]
mod wheel;

use bakeoff_sys::thread::cpu_time;
use bakeoff_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use wheel::Wheel;

const TURNS: usize = 1_000_000;
const REPETITIONS: usize = 5;
const MOST: u32 = 100_000;
const ROBOTS: [u32; 4] = [10, 1_000, 10_000, MOST];

/// Name, and how long a robot waits at least and at most.
const WAITS: [(&str, Nanos, Nanos); 4] = [
    ("1 s", Nanos::from_secs(1), Nanos::from_secs(1)),
    ("0.5 to 1.5 s", Nanos::from_millis(500), Nanos::from_millis(1500)),
    ("1 us to 10 ms", Nanos::from_micros(1), Nanos::from_millis(10)),
    ("1 s to 4 h", Nanos::from_secs(1), Nanos::from_secs(14_400)),
];

trait Timers {
    fn of(robots: u32) -> Self;
    fn insert(&mut self, due: Nanos, slot: u32);
    fn next_due(&self) -> Option<Nanos>;
    fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, u32)>;
}

impl Timers for Wheel {
    fn of(robots: u32) -> Self {
        Self::with_capacity(robots as usize)
    }
    fn insert(&mut self, due: Nanos, slot: u32) {
        self.insert(due, slot);
    }
    fn next_due(&self) -> Option<Nanos> {
        self.next_due()
    }
    fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, u32)> {
        self.pop_due(now)
    }
}

/// Equal times in the order of slots, not of insertion: the heap need not keep that.
type Heap = BinaryHeap<Reverse<(Nanos, u32)>>;

impl Timers for Heap {
    fn of(robots: u32) -> Self {
        Self::with_capacity(robots as usize)
    }
    fn insert(&mut self, due: Nanos, slot: u32) {
        self.push(Reverse((due, slot)));
    }
    fn next_due(&self) -> Option<Nanos> {
        self.peek().map(|Reverse((due, _))| *due)
    }
    fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, u32)> {
        self.peek().filter(|Reverse((due, _))| *due <= now)?;
        self.pop().map(|Reverse(entry)| entry)
    }
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--callgrind").skip(1);
    if let Some(turns) = arguments.next() {
        let turns = turns.parse().expect("--callgrind takes a number of turns");
        let mut robots = Robots::<Wheel>::new(MOST, 1);
        return robots.turns(turns);
    }
    println!("{TURNS} turns, median of {REPETITIONS}: ns of CPU a turn");
    println!("{:<14} {:>7} {:>7} {:>7}", "waits", "robots", "heap", "wheel");
    for (row, (name, ..)) in WAITS.iter().enumerate() {
        for robots in ROBOTS {
            line(name, robots, turn_ns::<Heap>(robots, row), turn_ns::<Wheel>(robots, row));
        }
    }
    for robots in ROBOTS {
        line("all at once", robots, burst_ns::<Heap>(robots), burst_ns::<Wheel>(robots));
    }
    println!("longest turn: us of CPU");
    for (row, (name, ..)) in WAITS.iter().enumerate() {
        line(name, MOST, longest_us::<Heap>(MOST, row), longest_us::<Wheel>(MOST, row));
    }
}

fn line(name: &str, robots: u32, heap: f64, wheel: f64) {
    println!("{name:<14} {robots:>7} {heap:>7.1} {wheel:>7.1}");
}

/// Robots that wait, go on when they are due, and wait again.
struct Robots<T> {
    timers: T,
    row: usize,
    random: u64,
}

impl<T: Timers> Robots<T> {
    fn new(robots: u32, row: usize) -> Self {
        let mut all = Self { timers: T::of(robots), row, random: 1 };
        let (_, least, most) = WAITS[row];
        let spread = most.get().max(2 * least.get());
        for slot in 0..robots {
            let due = Nanos::new(all.uniform(spread));
            all.timers.insert(due, slot);
        }
        all
    }

    fn uniform(&mut self, below: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.random) * u128::from(below)) >> 64) as u64
    }

    #[inline]
    fn turn(&mut self) {
        let (_, least, most) = WAITS[self.row];
        let now = self.timers.next_due().expect("robots never end");
        let (due, slot) = self.timers.pop_due(now).expect("the next one is due");
        let wait = Nanos::new(least.get() + self.uniform(most.since(least).get() + 1));
        self.timers.insert(due + wait, slot);
    }

    #[inline(never)]
    fn turns(&mut self, turns: usize) {
        (0..turns).for_each(|_| self.turn());
        black_box(&self.random);
    }
}

fn turn_ns<T: Timers>(robots: u32, row: usize) -> f64 {
    let mut robots = Robots::<T>::new(robots, row);
    robots.turns(TURNS / 4);
    median(|| {
        let before = cpu_time();
        robots.turns(TURNS);
        cpu_time().since(before).get() as f64 / TURNS as f64
    })
}

/// The kernel's work in between is charged too, but not to the same turn in each repetition.
fn longest_us<T: Timers>(robots: u32, row: usize) -> f64 {
    let once = || {
        let mut robots = Robots::<T>::new(robots, row);
        let turns = (0..TURNS).map(|_| {
            let before = cpu_time();
            robots.turn();
            cpu_time().since(before)
        });
        turns.max().unwrap_or_default().get() as f64 / 1e3
    };
    (0..REPETITIONS).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// All are put in for one moment, and taken out: ns for each.
fn burst_ns<T: Timers>(robots: u32) -> f64 {
    let mut timers = T::of(robots);
    let mut due = Nanos::ZERO;
    let rounds = TURNS as u32 / robots;
    median(|| {
        let before = cpu_time();
        for _ in 0..rounds {
            due += Nanos::from_secs(1);
            (0..robots).for_each(|slot| timers.insert(due, slot));
            while timers.pop_due(due).is_some() {}
        }
        cpu_time().since(before).get() as f64 / f64::from(rounds * robots)
    })
}

fn median(mut cost: impl FnMut() -> f64) -> f64 {
    let mut costs: Vec<f64> = (0..REPETITIONS).map(|_| cost()).collect();
    costs.sort_by(f64::total_cmp);
    costs[REPETITIONS / 2]
}
