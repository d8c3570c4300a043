//! `bakeoff doctor`: checks of the machine.

use crate::support::Yard;

#[test]
fn findings_and_the_exit_code_say_the_same() {
    let yard = Yard::new();
    let ended = yard.run(&["doctor", "--json"]);
    let said = ended.json();
    assert_eq!(ended.code(), Some(if said["spoilt"] == true { 4 } else { 0 }), "{said}");
    let findings = said["findings"].as_array().unwrap();
    for name in ["load-average", "descriptors", "governor", "programs", "links", "guest"] {
        let finding = findings.iter().find(|finding| finding["name"] == name).unwrap();
        assert!(["ok", "note", "spoils"].contains(&finding["level"].as_str().unwrap()));
        let told = ["wanted", "why", "how"].map(|key| !finding[key].as_str().unwrap().is_empty());
        assert_eq!(told, [finding["level"] != "ok"; 3], "{finding}");
        assert!(!finding["found"].as_str().unwrap().is_empty());
    }
    let text = yard.run(&["doctor"]).stdout;
    assert!(text.contains("As it should be") && text.contains("descriptors"), "{text}");
}

#[test]
fn more_connections_than_the_machine_can_open_spoil() {
    let ended = Yard::new().run(&["doctor", "--json", "--connections", "1000000"]);
    let said = ended.json();
    let of = |name: &str| {
        let found = said["findings"].as_array().unwrap().iter().find(|finding| finding["name"] == name);
        found.unwrap()["level"].as_str().unwrap().to_owned()
    };
    let hard = bakeoff_sys::rlimit::open_files().unwrap().hard;
    assert_eq!(of("descriptors"), if hard < 1_000_128 { "spoils" } else { "note" });
}
