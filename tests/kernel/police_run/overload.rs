//! Overload: more clients than the server can take. Preferred clients are served, and no admitted one waits long.

use crate::stage::{Daemon, Got, Server, Site, may_run, until};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const PYTHON: &str = "/usr/bin/python3";

const RULES: &str = r#"
[server]
listen = 80
classes = { high = 8200, low = 8201 }
[overload]
target = "20ms"
[[from]]
source = "127.0.1.0/24"
class = "high"
[[from]]
source = "127.0.0.0/8"
class = "low"
refuse = "reset"
"#;

#[test]
fn under_overload_the_preferred_are_served_and_the_others_are_refused_early() {
    let test = "under_overload_the_preferred_are_served_and_the_others_are_refused_early";
    if !may_run(test, &[PYTHON]) {
        return;
    }
    let site = Site::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/kernel/police_run/slow.py");
    let server = Server::start(&site, &[PYTHON, &script.canonicalize().unwrap().display().to_string()]);
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    assert!(daemon.armed.contains("2 classes, on lo; full"), "{}", daemon.armed);
    assert_eq!(daemon.count("bound-low"), 0, "nothing was measured");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in 0..24 {
            let (site, over) = (&site, &over);
            let from = format!("127.0.9.{client}");
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    // Served or refused at once; at the very end the server may go.
                    assert!(matches!(site.ask(&from, "/"), Got::Reply(200, _) | Got::Reset));
                }
            });
        }
        until("the bounds are measured", || daemon.count("bound-low") > 0);
        until("some are refused", || daemon.count("refused.queue") > 0);
        let high: Vec<Got> = (0..40).map(|_| site.ask("127.0.1.1", "/")).collect();
        over.store(true, Ordering::Relaxed);
        assert!(high.iter().all(|got| *got == Got::body("high")), "{high:?}");
    });
    // At 4 ms each no more than 5 fit into 20 ms; fewer than 4 are no bound. Stalls raise it to five times that.
    let (high, low) = (daemon.count("bound-high"), daemon.count("bound-low"));
    assert!((4..=25).contains(&high) && (1..=13).contains(&low) && low < high, "{high} {low}");
    assert!(daemon.count("rule.from-127.0.0.0/8.refused") > 0);
    assert_eq!(daemon.count("rule.from-127.0.1.0/24.refused"), 0, "{}", daemon.status());
}
