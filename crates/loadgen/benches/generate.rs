//! What it costs to know when the next request is due: ns of this thread's CPU.
//!
//! `constant` and `poisson` are the pacers of the open loop, called as the loop calls them, through
//! their trait. With `-- --callgrind N constant` exactly N due times are asked for and nothing else
//! happens, for `benches/instructions`. Rendering and taking replies in are private to the crate and
//! not here.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

use bakeoff_loadgen::{Constant, Pacer, Poisson};
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::{Nanos, PerSecond};
use std::hint::black_box;

const OPERATIONS: usize = 1 << 22;
const REPETITIONS: usize = 7;
const NAMES: [&str; 2] = ["constant", "poisson"];

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--callgrind").skip(1);
    if let Some(count) = arguments.next() {
        let count = count.parse().expect("--callgrind takes a number of due times");
        let name = arguments.next().unwrap_or_else(|| "constant".to_owned());
        return ask(pacer(&name).as_mut(), count);
    }
    println!("{OPERATIONS} due times, {REPETITIONS} times; ns of CPU each, the median");
    for name in NAMES {
        let mut costs: Vec<f64> = (0..REPETITIONS).map(|_| cost(name)).collect();
        costs.sort_by(f64::total_cmp);
        println!("{name:<9} {:>6.2}", costs[REPETITIONS / 2]);
    }
}

fn pacer(name: &str) -> Box<dyn Pacer> {
    let rate = PerSecond::new(50_000.0).expect("it is above zero");
    match name {
        "constant" => Box::new(Constant::new(rate, 0, 1)),
        "poisson" => Box::new(Poisson::new(rate, 1, 0, 1)),
        _ => panic!("constant or poisson, not {name}"),
    }
}

fn ask(pacer: &mut dyn Pacer, count: usize) {
    let pacer = black_box(pacer);
    for _ in 0..count {
        black_box(pacer.due(black_box(Nanos::ZERO)));
    }
}

fn cost(name: &str) -> f64 {
    let mut pacer = pacer(name);
    let before = cpu_time();
    ask(pacer.as_mut(), OPERATIONS);
    cpu_time().since(before).get() as f64 / OPERATIONS as f64
}
