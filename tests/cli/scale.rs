//! `bakeoff load`: many robots, few connections, fewer descriptors. `benches/scale` has the large numbers.

use crate::support::{Origin, Yard};

/// 300 connections and the process's own descriptors (64) fit under 400, with none to spare for connections that are
/// being closed while others are opened.
#[test]
fn two_thousand_robots_share_three_hundred_connections_under_a_tight_limit() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let url = format!("{}/bytes/1000", origin.url);
    let robots = ["load", &url, "--json", "--robots", "2000", "-c", "300", "--think", "50ms", "-n", "6000"];
    for more in [&[][..], &["--no-keepalive"]] {
        let args = [&robots[..], more].concat();
        let ended = yard.start(yard.shell("ulimit -n 400; exec \"$@\"", &args)).wait();
        // 4 if the server is quicker than the generator.
        assert!(matches!(ended.code(), Some(0 | 4)), "{ended:?}");
        let json = ended.json();
        assert_eq!((json["replies"].as_u64(), json["errors"].as_u64()), (Some(6000), Some(0)), "{json}");
        let connections = json["connections"].as_u64().unwrap();
        if more.is_empty() {
            assert!(connections <= 300, "{json}");
        } else {
            assert_eq!(connections, 6000, "{json}");
        }
    }
}

/// Ten times the possible rate: unsent requests are counted exactly, and not kept.
#[test]
fn a_rate_that_cannot_be_is_accounted_for_to_the_request() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &["--burn", "1ms", "--threads", "1"]);
    let url = format!("{}/bytes/10", origin.url);
    let args = ["load", &url, "--json", "--rate", "10000/s", "-c", "20", "-d", "1s"];
    // 0, or 4 when the generator itself was late on a busy machine.
    let ended = yard.start(yard.bakeoff(&args)).wait();
    assert!(matches!(ended.code(), Some(0 | 4)), "{ended:?}");
    let json = ended.json();
    let of = |key: &str| json[key].as_u64().unwrap();
    let unsent = json["errors_by_class"]["not-sent"].as_u64().unwrap();
    assert_eq!((of("requests"), of("errors")), (10_000, unsent), "{json}");
    assert_eq!(of("replies") + unsent, 10_000, "{json}");
    // 1 ms each of one thread's time, as fast as that was when the origin measured it; in a second and the wait at its
    // end.
    assert!(of("replies") <= 5000, "{json}");
    assert!(of("postponed") > 0, "{json}");
}
