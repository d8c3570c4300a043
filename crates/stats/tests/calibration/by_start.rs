//! Comparison of intervals by their coverage when starts differ: the candidates, and the one that was taken.
//!
//! Rounds are `luck of the start + noise of the round`, three rounds a start and the last start
//! perhaps cut short, 10 % of the rounds with four-fold noise; the truth is 0.

use bakeoff_content::SplitMix64;
use bakeoff_stats::{Interval, Level, Scale, effect_of};
use statrs::distribution::{ContinuousCDF, StudentsT};

const LEVEL: f64 = 0.9875;
const RESAMPLES: usize = 999;

/// Rounds of one run, by start.
type Starts = Vec<Vec<f64>>;

/// A way to an interval; the generator is for resampling.
type Method = fn(&Starts, &mut SplitMix64) -> Interval;

#[derive(Clone, Copy)]
struct Candidate {
    name: &'static str,
    method: Method,
    runs: u32,
}

const ROUNDS: Candidate = Candidate { name: "Yuen on rounds", method: yuen_on_rounds, runs: 10_000 };
const TAKEN: Candidate = Candidate { name: "Yuen by start (taken)", method: taken, runs: 10_000 };

const CANDIDATES: [Candidate; 7] = [
    ROUNDS,
    Candidate { name: "block bootstrap, percentiles", method: percentiles, runs: 2000 },
    Candidate { name: "block bootstrap, studentised", method: studentised, runs: 2000 },
    Candidate { name: "Student on start means", method: student_on_means, runs: 10_000 },
    Candidate { name: "Yuen on start means", method: yuen_on_means, runs: 10_000 },
    Candidate { name: "by start, starts - 1 degrees", method: all_degrees, runs: 10_000 },
    TAKEN,
];

#[test]
fn by_start_holds_where_rounds_do_not() {
    for rounds in [22, 40, 80] {
        for luck in [0.0, 1.0, 3.0] {
            let (held, _) = try_out(&Candidate { runs: 1000, ..TAKEN }, rounds, luck);
            assert!(held >= 0.9775, "{rounds} rounds, luck {luck}: {held}"); // 3 standard errors
        }
    }
    let (held, _) = try_out(&Candidate { runs: 1000, ..ROUNDS }, 40, 3.0);
    assert!(held < 0.93, "{held}");
}

#[test]
fn without_luck_it_is_not_grossly_wider() {
    for (rounds, most) in [(22, 1.45), (28, 1.5), (40, 1.3), (80, 1.2)] {
        let width = |candidate| try_out(&Candidate { runs: 500, ..candidate }, rounds, 0.0).1;
        let times = width(TAKEN) / width(ROUNDS);
        assert!((1.0..most).contains(&times), "{rounds} rounds: {times}");
    }
}

/// Coverage in percent at 98.75 %, and the mean width in units of that of Yuen on rounds.
pub(crate) fn print_table() {
    println!("| starts | rounds | luck / noise | {} |", CANDIDATES.map(|c| c.name).join(" | "));
    println!("|---|---|---|{}", "---|".repeat(CANDIDATES.len()));
    for rounds in [22, 28, 40, 56, 80] {
        for luck in [0.0, 1.0, 3.0] {
            print_row(rounds, luck, &CANDIDATES);
        }
    }
    println!("fewer starts than count for process luck:");
    for rounds in [6, 10, 14, 20] {
        for luck in [0.0, 1.0, 3.0] {
            print_row(rounds, luck, &[ROUNDS, TAKEN]);
        }
    }
}

fn print_row(rounds: usize, luck: f64, candidates: &[Candidate]) {
    let unit = try_out(&ROUNDS, rounds, luck).1;
    let cell = |c: &Candidate| {
        let (held, width) = try_out(c, rounds, luck);
        format!("{:.2} ({:.2})", held * 100.0, width / unit)
    };
    let cells: Vec<String> = candidates.iter().map(cell).collect();
    println!("| {} | {rounds} | {luck} | {} |", rounds.div_ceil(3), cells.join(" | "));
}

/// The share of intervals that hold the truth, and their mean width.
fn try_out(candidate: &Candidate, rounds: usize, luck: f64) -> (f64, f64) {
    let mut rng = SplitMix64::new(1000 + rounds as u64);
    let mut resampling = SplitMix64::new(7);
    let (mut held, mut width) = (0.0, 0.0);
    for _ in 0..candidate.runs {
        let interval = (candidate.method)(&sample(rounds, luck, &mut rng), &mut resampling);
        held += f64::from(u32::from(interval.contains(0.0)));
        width += interval.high - interval.low;
    }
    (held / f64::from(candidate.runs), width / f64::from(candidate.runs))
}

fn sample(rounds: usize, luck: f64, rng: &mut SplitMix64) -> Starts {
    let mut left = rounds;
    let mut starts = Starts::new();
    while left > 0 {
        let offset = luck * rng.normal();
        let size = left.min(3);
        let mut round = || {
            let factor = if rng.unit() < 0.1 { 4.0 } else { 1.0 };
            offset + factor * rng.normal()
        };
        starts.push((0..size).map(|_| round()).collect());
        left -= size;
    }
    starts
}

fn taken(starts: &Starts, _: &mut SplitMix64) -> Interval {
    let index: Vec<u32> = starts.iter().zip(0_u32..).flat_map(|(start, i)| vec![i; start.len()]).collect();
    estimate(&starts.concat(), &index)
}

fn yuen_on_rounds(starts: &Starts, _: &mut SplitMix64) -> Interval {
    estimate(&starts.concat(), &[])
}

fn yuen_on_means(starts: &Starts, _: &mut SplitMix64) -> Interval {
    estimate(&means(starts), &[])
}

fn student_on_means(starts: &Starts, _: &mut SplitMix64) -> Interval {
    let means = means(starts);
    let n = means.len() as f64;
    let middle = means.iter().sum::<f64>() / n;
    let squares: f64 = means.iter().map(|x| (x - middle).powi(2)).sum();
    around(middle, t(means.len() - 1) * (squares / (n * (n - 1.0))).sqrt())
}

fn all_degrees(starts: &Starts, _: &mut SplitMix64) -> Interval {
    let (middle, error) = trimmed(starts);
    around(middle, t(starts.len() - 1) * error)
}

fn percentiles(starts: &Starts, rng: &mut SplitMix64) -> Interval {
    let middles = resampled(starts, rng, |resample| trimmed(resample).0);
    let cut = cut();
    Interval { low: middles[cut], high: middles[RESAMPLES - 1 - cut] }
}

fn studentised(starts: &Starts, rng: &mut SplitMix64) -> Interval {
    let (middle, error) = trimmed(starts);
    let errors = resampled(starts, rng, |resample| {
        let (at, error) = trimmed(resample);
        (at - middle) / error
    });
    let cut = cut();
    Interval { low: middle - errors[RESAMPLES - 1 - cut] * error, high: middle - errors[cut] * error }
}

/// A statistic of whole starts drawn with replacement, ascending.
fn resampled(starts: &Starts, rng: &mut SplitMix64, statistic: impl Fn(&Starts) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let resample =
                starts.iter().map(|_| starts[rng.below(starts.len() as u64) as usize].clone()).collect();
            statistic(&resample)
        })
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Number of resamples that lie beyond either end.
fn cut() -> usize {
    ((1.0 - LEVEL) / 2.0 * RESAMPLES as f64) as usize
}

/// The 20 % trimmed mean of the rounds and its standard error over starts.
fn trimmed(starts: &Starts) -> (f64, f64) {
    let mut sorted = starts.concat();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let cut = n / 5;
    let (kept, low, high) = (&sorted[cut..n - cut], sorted[cut], sorted[n - 1 - cut]);
    let middle = sorted.iter().map(|x| x.clamp(low, high)).sum::<f64>() / n as f64;
    let sum = |start: &Vec<f64>| start.iter().map(|x| x.clamp(low, high) - middle).sum::<f64>();
    let squares: f64 = starts.iter().map(|start| sum(start).powi(2)).sum();
    let (g, h) = (starts.len() as f64, kept.len() as f64);
    (kept.iter().sum::<f64>() / h, (squares * g / (g - 1.0)).sqrt() / h)
}

fn estimate(values: &[f64], index: &[u32]) -> Interval {
    effect_of(values, index, Level::new(LEVEL).unwrap(), Scale::Difference).unwrap().interval
}

fn means(starts: &Starts) -> Vec<f64> {
    starts.iter().map(|start| start.iter().sum::<f64>() / start.len() as f64).collect()
}

fn around(middle: f64, half_width: f64) -> Interval {
    Interval { low: middle - half_width, high: middle + half_width }
}

fn t(freedom: usize) -> f64 {
    -StudentsT::new(0.0, 1.0, freedom as f64).unwrap().inverse_cdf((1.0 - LEVEL) / 2.0)
}
