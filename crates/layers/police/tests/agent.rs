//! Overload agent before a simulated server under ten times its capacity: preferred clients are served.
//!
//! Virtual time, so the result is the same everywhere. The server takes 1 ms a connection and looks at its queues in
//! turn, as nginx does; a client waits a second. Connections are admitted by the kernel's rule.

#![allow(clippy::unwrap_used)]

use bakeoff_layers_police::agent::{Agent, OPEN, QueueReading};
use std::collections::VecDeque;

const CLASSES: usize = 3;
/// Longest wait of a client, in s.
const PATIENCE: f64 = 1.0;
/// Time that a refusal in the kernel costs the server, in s.
const REFUSAL: f64 = 1e-6;
/// Limit on one queue, nginx' backlog.
const BACKLOG: usize = 511;
/// Beginning and end of the peak, and of the run, in s.
const UP: f64 = 20.0;
const DOWN: f64 = 40.0;
const END: f64 = 60.0;

struct Random(u64);

impl Random {
    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// Server, clients and the agent that bounds the queues.
struct World {
    random: Random,
    agent: Option<Agent>,
    queues: [VecDeque<f64>; CLASSES],
    /// Class whose turn it is.
    turn: usize,
    /// Time at which the server finishes its connection.
    free: f64,
    arrived: u64,
    next_look: f64,
    bounds: Vec<u32>,
    seen: Seen,
}

/// Results.
#[derive(Default)]
struct Seen {
    /// Offered and served in time during the peak, without its first two seconds.
    offered: [u32; CLASSES],
    served: [u32; CLASSES],
    /// The last wait above 50 ms in the peak and after it, s after its beginning and its end.
    late_up: f64,
    late_down: f64,
    refused_behind: u32,
}

impl World {
    fn new(agent: Option<Agent>, seed: u64) -> Self {
        let bounds = vec![OPEN; CLASSES];
        let (queues, seen) = (Default::default(), Seen::default());
        Self {
            random: Random(seed),
            agent,
            queues,
            turn: 0,
            free: 0.0,
            arrived: 0,
            next_look: 0.0,
            bounds,
            seen,
        }
    }

    fn rates(now: f64) -> [f64; CLASSES] {
        [200.0, 600.0, if (UP..DOWN).contains(&now) { 9000.0 } else { 100.0 }]
    }

    fn run(mut self) -> Seen {
        let mut now = 0.0;
        while now < END {
            let rates = Self::rates(now);
            let all: f64 = rates.iter().sum();
            now += self.random.exponential(1.0 / all);
            let mut draw = self.random.unit() * all;
            let mut class = 0;
            while class < CLASSES - 1 && draw >= rates[class] {
                draw -= rates[class];
                class += 1;
            }
            while self.next_look < now {
                self.serve(self.next_look);
                self.look();
            }
            self.serve(now);
            self.arrive(now, class);
        }
        self.seen
    }

    /// Serves connections until that time.
    fn serve(&mut self, until: f64) {
        loop {
            let mut order = (0..CLASSES).map(|step| (self.turn + step) % CLASSES);
            let earliest =
                self.queues.iter().filter_map(|queue| queue.front()).copied().fold(f64::MAX, f64::min);
            let start = self.free.max(earliest);
            if start > until {
                return;
            }
            let has_come = |class: &usize| self.queues[*class].front().is_some_and(|came| *came <= start);
            let class = order.find(has_come).unwrap();
            let came = self.queues[class].pop_front().unwrap();
            self.turn = class + 1;
            self.free = start + 0.0002 + self.random.exponential(0.0008);
            self.note(class, came, start - came, self.free - came);
        }
    }

    fn note(&mut self, class: usize, came: f64, waited: f64, took: f64) {
        if took <= PATIENCE && (UP + 2.0..DOWN).contains(&came) {
            self.seen.served[class] += 1;
        }
        if waited > 0.05 && came > DOWN {
            self.seen.late_down = came - DOWN;
        } else if waited > 0.05 && came > UP {
            self.seen.late_up = came - UP;
        }
    }

    /// The daemon's look, each 10 ms.
    fn look(&mut self) {
        let waiting = self.queues.iter().map(|queue| queue.len() as u64).sum();
        let now_ns = (self.next_look * 1e9) as u64;
        if let Some(agent) = &mut self.agent {
            agent.look(QueueReading { now_ns, arrived: self.arrived, waiting });
            self.bounds = agent.bounds();
        }
        self.next_look += 0.01;
    }

    fn arrive(&mut self, now: f64, class: usize) {
        if (UP + 2.0..DOWN).contains(&now) {
            self.seen.offered[class] += 1;
        }
        let above: usize = self.queues[..=class].iter().map(VecDeque::len).sum();
        if self.bounds[class] != OPEN && above >= self.bounds[class] as usize {
            self.free = self.free.max(now) + REFUSAL;
            self.seen.refused_behind += u32::from(now > DOWN + 2.0);
        } else if self.queues[class].len() < BACKLOG {
            self.queues[class].push_back(now);
            self.arrived += 1;
        }
    }
}

#[test]
fn ten_times_the_load_costs_neither_goodput_nor_the_preferred() {
    const PEAK: f64 = 18.0;
    for seed in (1..=5).map(|seed| seed * 7919) {
        let seen = World::new(Some(Agent::new(20_000_000, &[1000, 500, 250])), seed).run();
        let goodput = f64::from(seen.served.iter().sum::<u32>()) / PEAK;
        let share = |class: usize| f64::from(seen.served[class]) / f64::from(seen.offered[class]);
        println!(
            "goodput {goodput:.0}/s, served {:.3} {:.3} {:.4}, above 50 ms until {:.2} s and {:.2} s, refused behind {}",
            share(0),
            share(1),
            share(2),
            seen.late_up,
            seen.late_down,
            seen.refused_behind
        );
        // Capacity is 1000/s by construction.
        assert!(goodput >= 970.0, "{goodput}");
        assert!(share(0) >= 0.98, "{}", share(0));
        assert!(share(1) >= 0.85, "{}", share(1));
        assert!(seen.late_up <= 1.0 && seen.late_down <= 1.0, "{} {}", seen.late_up, seen.late_down);
    }
}

/// Control: the test above would fail for a server without bounds.
#[test]
fn without_bounds_the_preferred_wait_behind_all_others() {
    let seen = World::new(None, 7919).run();
    assert!(seen.late_up > 15.0, "{}", seen.late_up);
}
