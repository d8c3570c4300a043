//! Cost of recording one reply: ns of the thread's CPU for [`Recorder::reply`] and the record of its lateness, four
//! histograms in all. Target: at most 60, better 20.
//!
//! Each row is another spread of times, drawn before the clock runs; the middle one is typical of servers. `--
//! --callgrind N` makes exactly N recordings of that row and nothing else, for callgrind: the cost of 2 N above that of
//! N is the recording alone.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

use bakeoff_meter::{Recorder, ReplyTimes};
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::Nanos;
use std::hint::black_box;

/// Number of replies drawn, and gone through again and again; a power of two.
const DRAWN: usize = 4096;
const RECORDINGS: usize = 1 << 21;
const REPETITIONS: usize = 11;

/// Name, and the shortest and longest response time in ns.
const SPREADS: [(&str, f64, f64); 4] = [
    ("all equal", 150e3, 150e3),
    ("100 us to 2 ms", 100e3, 2e6),
    ("10 us to 1 s", 10e3, 1e9),
    ("1 ns to 1 h", 1.0, 3.6e12),
];
const TYPICAL: usize = 1;

/// A reply and how late its request was sent.
struct Reply {
    times: ReplyTimes,
    late: Nanos,
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--callgrind").skip(1);
    if let Some(count) = arguments.next() {
        let count = count.parse().expect("--callgrind takes a number of recordings");
        return record(&mut Recorder::new(), &draw(TYPICAL), count);
    }
    println!("{RECORDINGS} replies, {REPETITIONS} times; ns of CPU a reply (targets: 60, 20)");
    println!("{:<16} {:>8} {:>8} {:>8}", "response times", "median", "least", "most");
    for (row, (name, ..)) in SPREADS.iter().enumerate() {
        let costs = costs(row);
        let (median, least, most) = (costs[REPETITIONS / 2], costs[0], costs[REPETITIONS - 1]);
        println!("{name:<16} {median:>8.1} {least:>8.1} {most:>8.1}");
    }
}

/// Ascending.
fn costs(row: usize) -> Vec<f64> {
    let replies = draw(row);
    let mut recorder = Recorder::new();
    record(&mut recorder, &replies, DRAWN);
    let mut costs: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let before = cpu_time();
            record(&mut recorder, &replies, RECORDINGS);
            cpu_time().since(before).get() as f64 / RECORDINGS as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    costs
}

#[inline(never)]
fn record(recorder: &mut Recorder, replies: &[Reply], count: usize) {
    for at in 0..count {
        let reply = &replies[at % DRAWN];
        recorder.times.lateness.record(reply.late);
        recorder.reply(200, 13_000, reply.times);
    }
    black_box(recorder);
}

/// Response times whose logarithm is uniform; sent a little late, the first byte well before the last.
fn draw(row: usize) -> Vec<Reply> {
    let (_, shortest, longest) = SPREADS[row];
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let reply = |_| {
        let response = shortest * (longest / shortest).powf(uniform());
        let late = Nanos::new((response * 0.02 * uniform()) as u64);
        let due = Nanos::from_secs(1);
        let sent = due + late;
        let service = response * 0.98;
        let first_byte = sent + Nanos::new((service * (0.5 + 0.4 * uniform())) as u64);
        let times = ReplyTimes { due, sent, first_byte, done: sent + Nanos::new(service as u64) };
        Reply { times, late }
    };
    (0..DRAWN).map(reply).collect()
}
