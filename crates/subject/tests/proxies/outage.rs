//! Proxies killed and started again: on the same port, with their store on disk and without their store in memory.

use crate::stage::{Stage, has, on_disk, spec, until};
use crate::support::{NEVER, Yard, all_gone, command, identity, play};
use bakeoff_subject::{Product, ProxyMode, ProxySpec};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn what_is_on_disk_is_still_there_and_what_was_in_memory_is_not() {
    let in_reverse = |product| spec(product, ProxyMode::Reverse);
    for (spec, survives) in [
        (in_reverse(Product::Nginx), true),
        (in_reverse(Product::Apache), true),
        (on_disk(Product::Squid, ProxyMode::Reverse), true),
        (in_reverse(Product::Varnish), false),
        (in_reverse(Product::HaProxy), false),
    ] {
        if has(spec.product, "what_is_on_disk_is_still_there_and_what_was_in_memory_is_not") {
            is_killed_and_started_again(&spec, survives);
        }
    }
}

fn is_killed_and_started_again(spec: &ProxySpec, survives: bool) {
    let (stage, path, product) = (Stage::set(spec), "/keep/20000/once", spec.product);
    until("a hit", || {
        let before = stage.origin.asked(path);
        assert_eq!(stage.get(path).status, 200);
        stage.origin.asked(path) == before && stage.reading().objects != Some(0)
    });
    let (before, asked) = (stage.running.cpu().unwrap().nanos, stage.origin.asked(path));
    let all: Vec<_> = stage.running.processes().into_iter().map(identity).collect();
    let killed = stage.running.kill().unwrap();
    all_gone(&all, Duration::ZERO);
    let refused = TcpStream::connect(stage.running.address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{product:?}");
    killed.start().unwrap().wait(&NEVER).unwrap_or_else(|error| panic!("{product:?}: {error}"));
    stage.running.alive().unwrap();
    if survives {
        // Squid reads its index when it already answers.
        until("what was on disk", || stage.reading().objects != Some(0));
    }
    assert_eq!(stage.get(path).body_bytes, 20_000, "{product:?}");
    assert_eq!(stage.origin.asked(path) == asked, survives, "{product:?}");
    assert!(stage.running.cpu().unwrap().nanos >= before, "{product:?}: its account goes on");
    let again: Vec<_> = stage.running.processes().into_iter().map(identity).collect();
    let Stage { running, .. } = stage;
    assert_eq!(running.stop().left, 0);
    all_gone(&again, Duration::ZERO);
}

#[test]
fn who_does_not_come_back_says_why() {
    let yard = Yard::new();
    let script = format!(
        "if test -e {{dir}}/once; then echo not twice; exit 7; fi; touch {{dir}}/once; exec {} http {{port}}",
        play().display()
    );
    let running = yard.start(&command(&["sh", "-c", &script])).unwrap();
    let starting = running.kill().unwrap().start().unwrap();
    let said = starting.wait(&NEVER).unwrap_err().to_string();
    assert!(said.contains("exit status 7") && said.contains("not twice"), "{said}");
    assert_eq!(running.stop().left, 0);
}
