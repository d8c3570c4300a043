//! Local ports that connections come from.

use crate::support::{OK, Peer, closed, errors, lists, run, totals, within_patience};
use bakeoff_loadgen::{LocalPorts, Reuse, Target};
use std::num::NonZeroU64;
use std::sync::{Arc, Barrier, Mutex};

/// Addresses of a peer's callers, in the order of their coming.
type Callers = Arc<Mutex<Vec<(String, u16)>>>;

/// Answers everything, and notes the callers.
fn noting(callers: &Callers) -> Peer {
    let callers = callers.clone();
    Peer::new(move |talk| {
        let caller = talk.stream().unwrap().peer_addr().unwrap();
        callers.lock().unwrap().push((caller.ip().to_string(), caller.port()));
        talk.answer_all(OK);
    })
}

/// As many connections as fit into the range one after the other, all closed from here, so that each port rests.
#[test]
fn connections_come_from_the_ports_that_were_named_of_each_address() {
    within_patience(|| {
        for (ports, threads) in [("21000:21063", 1), ("21064:21127", 2)] {
            let callers = Callers::default();
            let peer = noting(&callers);
            let ports: LocalPorts = ports.parse().unwrap();
            let once = Target {
                reuse: Reuse::UpTo(NonZeroU64::MIN),
                from: "127.0.4.1-127.0.4.2".parse().unwrap(),
                ports: Some(ports),
                ..peer.target()
            };
            let mut station = crate::Station::new(once, threads, Vec::new()).unwrap();
            let recording = run(&mut station, closed(&lists(2, 30), threads));
            assert_eq!((errors(&recording), totals(&recording)), (vec![], (60, 60, 60)));
            let callers = callers.lock().unwrap().clone();
            let (first, last) = ports.ends();
            assert!(callers.iter().all(|(_, port)| (first..=last).contains(port)), "{callers:?}");
            for address in ["127.0.4.1", "127.0.4.2"] {
                let mut of_it: Vec<u16> =
                    callers.iter().filter(|(of, _)| of == address).map(|(_, port)| *port).collect();
                assert_eq!(of_it.len(), 30, "{callers:?}");
                of_it.sort_unstable();
                of_it.dedup();
                assert!(of_it.len() == 30 || ports.are_the_kernels(), "each port once: {of_it:?}");
            }
        }
    });
}

#[test]
fn a_range_that_is_used_up_is_a_connection_that_failed() {
    within_patience(|| {
        let together = Arc::new(Barrier::new(2));
        let peer = Peer::new(move |talk| {
            if talk.request().is_some() {
                together.wait();
                talk.say(OK);
            }
        });
        let two =
            Target { from: "127.0.4.3".parse().unwrap(), ports: "21128:21129".parse().ok(), ..peer.target() };
        let mut station = crate::Station::new(two, 1, Vec::new()).unwrap();
        let recording = run(&mut station, closed(&lists(3, 1), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![("connect-failed", 1)], (3, 2, 2)));
    });
}
