//! `bakeoff doctor`: the machine, and the network between two of it.

use crate::support::{Helper, Yard};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{ChildStdout, Stdio};

#[test]
fn findings_and_the_exit_code_say_the_same() {
    let yard = Yard::new();
    let ended = yard.run(&["doctor", "--json"]);
    let said = ended.json();
    assert_eq!(ended.code(), Some(if said["spoilt"] == true { 4 } else { 0 }), "{said}");
    let findings = said["findings"].as_array().unwrap();
    for name in ["load-average", "descriptors", "governor", "programs", "links"] {
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

/// `bakeoff doctor --listen` and where it listens.
struct Listening {
    helper: Helper,
    rest: BufReader<ChildStdout>,
    address: String,
}

impl Listening {
    fn start(yard: &Yard) -> Self {
        let mut command = yard.bakeoff(&["doctor", "--listen", "127.0.0.1:0", "--wait", "2min"]);
        let mut helper = Helper(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        let mut rest = BufReader::new(helper.0.stdout.take().unwrap());
        let mut line = String::new();
        rest.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening: ").unwrap_or_else(|| panic!("first line: {line:?}"));
        Self { address: address.trim_end().to_owned(), helper, rest }
    }

    /// What it said of its client, when it has ended by itself.
    fn ended(mut self) -> String {
        let mut said = String::new();
        self.rest.read_to_string(&mut said).unwrap();
        assert_eq!(self.helper.0.wait().unwrap().code(), Some(0), "{said}");
        said
    }
}

#[test]
fn two_hosts_measure_what_is_between_them() {
    let (here, there) = (Yard::new(), Yard::new());
    let listening = Listening::start(&there);
    let mut stranger = TcpStream::connect(&listening.address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut told = Vec::new();
    let _ = stranger.read_to_end(&mut told); // a reset is an end, too
    assert!(told.is_empty(), "strangers are told nothing");
    let said = here.run(&["doctor", "--to", &listening.address, "--time", "200ms", "--json"]).exits(0).json();
    for stream in ["there", "back"] {
        assert!(said["network"][stream]["bits_per_second"].as_u64().unwrap() > 0, "{said}");
    }
    let trips = &said["network"]["round_trips"];
    assert!(trips["count"].as_u64().unwrap() > 0 && trips["p50_ns"].as_u64() <= trips["p99_ns"].as_u64());
    assert!(said["looks_like"].as_str().unwrap().starts_with("loopback"));
    let served = listening.ended();
    assert!(served.starts_with("served: 127.0.0.1:") && served.contains("1 strangers"), "{served}");
}

#[test]
fn a_load_fits_or_does_not() {
    for (rate, size, code, word) in
        [("1/s", "1KB", 0, "carries that easily"), ("1000000/s", "1GB", 4, "does not carry")]
    {
        let (here, there) = (Yard::new(), Yard::new());
        let listening = Listening::start(&there);
        let asked = ["doctor", "--to", &listening.address, "--time", "100ms", "--rate", rate, "--size", size];
        let said = here.run(&asked).exits(code).stdout;
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(word), "{said}");
        listening.ended();
    }
}

#[test]
fn nobody_there_and_nobody_coming_are_errors_that_say_so() {
    let yard = Yard::new();
    // The near end of a connection: nobody listens there, and nobody else can get the port.
    let far = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(far.local_addr().unwrap()).unwrap();
    let deaf = near.local_addr().unwrap().to_string();
    yard.run(&["doctor", "--to", &deaf]).exits(3).says(&["--listen", &deaf]);
    yard.run(&["doctor", "--listen", "127.0.0.1:0", "--wait", "20ms"]).exits(3).says(&["nobody came"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    yard.run(&["doctor", "--listen", &address]).exits(3).says(&[&address, "free port"]);
}
