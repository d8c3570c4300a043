//! `bakeoff load`: reading several replies at a time loses none, and does not falsify their times.
//!
//! The times are for `make calibrate`. Each comparison is between runs that take turns, and allows 5 % or the
//! difference of equal runs there, whichever is more.

use crate::support::{Origin, Yard, median};

/// Runs of each kind.
const ROUNDS: usize = 5;

/// Nanoseconds by run.
struct Times {
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl Times {
    const fn new() -> Self {
        Self { p50: Vec::new(), p99: Vec::new() }
    }

    fn run(&mut self, yard: &Yard, url: &str, connections: &str, more: &[&str]) {
        let mut command = yard.bakeoff(&["load", url, "--json", "-d", "150ms", "-c", connections]);
        command.args(more);
        let json = yard.start(command).wait().exits(0).json();
        assert_eq!(json["errors"], 0);
        let of = |key: &str| json["service_ns"][key].as_u64().unwrap() as f64;
        self.p50.push(of("p50"));
        self.p99.push(of("p99"));
    }
}

/// Spread of equal runs.
fn noise(values: &[f64]) -> f64 {
    let (low, high) =
        values.iter().fold((f64::MAX, 0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    (high - low) / median(values)
}

/// Distance of the medians, and the distance allowed.
fn apart(batched: &[f64], single: &[f64]) -> (f64, f64) {
    (median(batched) / median(single) - 1.0, noise(batched).max(noise(single)).max(0.05))
}

fn compare(connections: &str) -> (Times, Times) {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &["--threads", "1"]);
    let url = format!("{}/bytes/1000", origin.url);
    let (mut batched, mut single) = (Times::new(), Times::new());
    for _ in 0..ROUNDS {
        batched.run(&yard, &url, connections, &[]);
        single.run(&yard, &url, connections, &["--no-batching"]);
    }
    (batched, single)
}

#[test]
fn no_reply_is_lost_however_many_are_looked_at_at_once() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &["--threads", "1"]);
    let url = format!("{}/bytes/1000", origin.url);
    for connections in ["1", "8", "64"] {
        for more in [&[][..], &["--no-batching"]] {
            let mut command = yard.bakeoff(&["load", &url, "--json", "-n", "2000", "-c", connections]);
            command.args(more);
            let json = yard.start(command).wait().json();
            assert_eq!((&json["replies"], &json["errors"]), (&2000.into(), &0.into()), "{json}");
            for times in ["response_ns", "service_ns"] {
                assert_eq!(json[times]["count"], 2000, "{json}");
            }
        }
    }
}

#[test]
#[ignore = "a measurement, of a machine with nothing else to do: make calibrate"]
fn one_robot_reads_the_true_service_time() {
    let (batched, single) = compare("1");
    let (apart, allowed) = apart(&batched.p50, &single.p50);
    assert!(apart.abs() <= allowed, "{:.1} % apart, {:.1} % allowed", apart * 100.0, allowed * 100.0);
}

/// Not longer: with a server that is busy all the time they are shorter, as the two of them need less CPU
/// for a request, and the time in a closed loop is robots divided by throughput.
#[test]
#[ignore = "a measurement, of a machine with nothing else to do: make calibrate"]
fn many_robots_read_times_that_are_not_longer() {
    for connections in ["8", "64"] {
        let (batched, single) = compare(connections);
        for (what, batched, single) in
            [("p50", &batched.p50, &single.p50), ("p99", &batched.p99, &single.p99)]
        {
            let (apart, allowed) = apart(batched, single);
            assert!(
                apart <= allowed,
                "{connections} {what}: {:.1} % longer, {:.1} % allowed",
                apart * 100.0,
                allowed * 100.0
            );
        }
    }
}
