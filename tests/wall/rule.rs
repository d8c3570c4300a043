//! The rule of the wall: the crates that each crate may use, and the reasons.
//!
//! A pure function of a graph, so that it can be tried on graphs that must be refused. An edge that is not in
//! [`ARROWS`] is refused: a new one is written down here, with its reason, or not made. Edges of tests alone are in a
//! list of their own, [`IN_TESTS`].

use crate::graph::Node;

/// An edge between crates of the measuring side, and its purpose.
struct Arrow(&'static str, &'static str, &'static str);

/// Every edge that is allowed, in the order of the layers.
const ARROWS: &[Arrow] = &[
    Arrow("sys", "units", "clocks and limits have a unit"),
    Arrow("wire", "units", "stamps and sizes have a unit"),
    Arrow("content", "units", "sizes have a unit"),
    Arrow("workload", "units", "moments and rates have a unit"),
    Arrow("workload", "wire", "a log line becomes a request"),
    Arrow("workload", "content", "what a reply must hold"),
    Arrow("meter", "units", "every figure has a unit"),
    Arrow("meter", "sys", "samplers read clocks and counters of the system"),
    Arrow("loadgen", "units", "moments and rates have a unit"),
    Arrow("loadgen", "sys", "event loop, sockets, thread clock"),
    Arrow("loadgen", "wire", "requests out, replies in"),
    Arrow("loadgen", "content", "checks the bytes that come back"),
    Arrow("loadgen", "workload", "asks which request is next"),
    Arrow("loadgen", "meter", "records times and failures"),
    Arrow("robots", "units", "moments, rates and sizes have a unit"),
    Arrow("robots", "content", "what the objects of a world are: sizes, cachability, what they embed"),
    Arrow("robots", "wire", "stamps in heads, both ways"),
    Arrow("robots", "workload", "a population is a source of requests"),
    Arrow("robots", "meter", "response times go into histograms"),
    Arrow("robots", "loadgen", "is told how each request ended"),
    Arrow("origin", "units", "sizes and burnt time have a unit"),
    Arrow("origin", "sys", "event loop, sockets, thread clock"),
    Arrow("origin", "wire", "requests in, replies out"),
    Arrow("origin", "content", "the bytes it serves"),
    Arrow("subject", "adopt", "private copies of users' configurations"),
    Arrow("subject", "units", "time limits have a unit"),
    Arrow("subject", "sys", "spawns, pins, reads and ends processes"),
    Arrow("stats", "units", "rates and times of a knee have a unit"),
    Arrow("stats", "content", "the random generator: a seed means the same numbers everywhere"),
    Arrow("link", "units", "rates and delays have a unit"),
    Arrow("link", "sys", "namespaces, TAP devices, real-time scheduling"),
    Arrow("link", "content", "losses are drawn from a seed"),
    Arrow("link", "meter", "delays go into a histogram"),
    Arrow("calls", "units", "times have a unit"),
    Arrow("calls", "sys", "the calls themselves, pinning, the counter of the processor"),
    Arrow("plan", "calls", "which operations there are"),
    Arrow("plan", "units", "plans are full of quantities"),
    Arrow("plan", "wire", "a plan may name the log's format"),
    Arrow("plan", "workload", "the log and the requests that a plan asks for"),
    Arrow("plan", "loadgen", "clocks and client settings"),
    Arrow("plan", "meter", "a plan may name its primary figure"),
    Arrow("plan", "subject", "products, and what is filled in for names in braces"),
    Arrow("plan", "link", "limits of a network"),
    Arrow("plan", "stats", "margins"),
    Arrow("results", "plan", "extents, baselines and client settings of the run"),
    Arrow("results", "meter", "counters and histograms of a slice"),
    Arrow("results", "stats", "verdicts"),
    Arrow("results", "subject", "how a subject was started"),
    Arrow("reach", "units", "leases and round trips have a unit"),
    Arrow("reach", "results", "digests of what is handed over"),
    Arrow("analysis", "units", "figures have a unit"),
    Arrow("analysis", "plan", "the study that a plan names"),
    Arrow("analysis", "results", "reads one directory, fills the other form"),
    Arrow("analysis", "loadgen", "the error classes that the generator is to blame for"),
    Arrow("analysis", "meter", "every figure of the catalogue"),
    Arrow("analysis", "stats", "looks and verdicts"),
    Arrow("experiment", "plan", "does what a plan says"),
    Arrow("experiment", "results", "writes the directory"),
    Arrow("experiment", "analysis", "asks whether to go on"),
    Arrow("experiment", "reach", "generators on other hosts"),
    Arrow("experiment", "calls", "what the process of the operations says"),
    Arrow("experiment", "units", "budgets and slices have a unit"),
    Arrow("experiment", "sys", "pinning, limits, facts of the machine"),
    Arrow("experiment", "wire", "a plan may name the log's format"),
    Arrow("experiment", "content", "rebuilds the site a log asks for"),
    Arrow("experiment", "workload", "makes the source a plan asks for"),
    Arrow("experiment", "loadgen", "drives each slice"),
    Arrow("experiment", "robots", "reads and labels heads that come through a front as those of bake-offs"),
    Arrow("experiment", "meter", "files what was recorded"),
    Arrow("experiment", "subject", "starts and ends the arms"),
    Arrow("experiment", "link", "makes the network a plan asks for"),
    Arrow("experiment", "stats", "looks and verdicts"),
    Arrow("caches", "units", "plans are full of quantities"),
    Arrow("caches", "sys", "places its threads"),
    Arrow("caches", "wire", "dates of the origin, what parts of a run tell it"),
    Arrow("caches", "workload", "the statuses of a job"),
    Arrow("caches", "content", "the world that the origin serves"),
    Arrow("caches", "loadgen", "drives the robots"),
    Arrow("caches", "robots", "who asks, and what they record"),
    Arrow("caches", "meter", "merges histograms, reads the memory of a cache"),
    Arrow("caches", "subject", "starts and ends origin and caches"),
    Arrow("caches", "stats", "intervals of batches"),
    Arrow("caches", "plan", "plan errors, the study"),
    Arrow("caches", "results", "the results directory"),
    Arrow("caches", "experiment", "the machine, placement"),
    Arrow("guest", "units", "time limits have a unit"),
    Arrow("guest", "sys", "cores, the counter of the processor"),
    Arrow("guest", "subject", "runs QEMU under a supervisor"),
    Arrow("guest", "calls", "which operations are counted"),
    Arrow("guest", "plan", "plan errors, the study"),
    Arrow("guest", "results", "the results directory"),
    Arrow("guest", "experiment", "temporary directories, digests"),
    Arrow("report", "guest", "shows what was counted"),
    Arrow("report", "caches", "shows a bake-off"),
    Arrow("report", "units", "formats quantities"),
    Arrow("report", "meter", "names, units and help of the figures"),
    Arrow("report", "stats", "effects and verdicts in words"),
    Arrow("report", "plan", "the published figures"),
    Arrow("report", "results", "reads a results directory"),
    Arrow("report", "analysis", "shows two runs beside each other"),
    Arrow("report", "experiment", "words of the doctor"),
    Arrow("cli", "units", "parses flags with a unit"),
    Arrow("cli", "sys", "signals, limits"),
    Arrow("cli", "wire", "flags of `load`"),
    Arrow("cli", "content", "`origin` reads a catalogue"),
    Arrow("cli", "workload", "the source of `load`"),
    Arrow("cli", "loadgen", "`load`"),
    Arrow("cli", "adopt", "how a running server's configuration is asked"),
    Arrow("cli", "origin", "`origin`"),
    Arrow("cli", "meter", "`meters`"),
    Arrow("cli", "subject", "the supervisor, throw-away certificates"),
    Arrow("cli", "link", "the line process"),
    Arrow("cli", "stats", "verdicts become exit codes"),
    Arrow("cli", "plan", "`check`, `plans`, `studies`"),
    Arrow("cli", "results", "takes a results directory"),
    Arrow("cli", "analysis", "`report`, `verify`, `compare-results`, rules"),
    Arrow("cli", "experiment", "`run`, `compare`, `doctor`"),
    Arrow("cli", "reach", "whole plans on other hosts"),
    Arrow("cli", "robots", "the classic lines of a bake-off's console"),
    Arrow("cli", "caches", "`run` of a bake-off of caches"),
    Arrow("cli", "calls", "the process that makes the operations"),
    Arrow("cli", "guest", "`run` of a counted study"),
    Arrow("cli", "report", "`report`, and the end of a run"),
];

/// Edges that are allowed in tests alone, besides those above.
const IN_TESTS: &[Arrow] = &[
    Arrow("analysis", "content", "the random generator of made-up slices"),
    Arrow("robots", "origin", "judged against the real origin"),
    Arrow("caches", "origin", "recorded before the real origin"),
];

/// Crates that both sides may use: they neither measure nor are measured.
const SHARED: [&str; 3] = ["units", "wire", "sys"];

/// The second executable, which holds the layers as `cli` holds the measuring side.
const LAYERS_CLI: &str = "layers/cli";

/// Crates shared by several layers; the second may use the first.
const LAYERS_SHARED: [&str; 2] = ["layers/base", "layers/credentials"];

/// Crates that may name only these external packages outside their tests.
const ONLY: &[(&str, &[&str], &str)] = &[
    ("units", &[], "everything hangs on it"),
    ("stats", &["statrs"], "pure functions of numbers: no I/O, no formats"),
];

/// Crates that must not name these external packages, not even in tests.
const NEVER: &[(&str, &[&str], &str)] = &[
    ("workload", IO, "sees no socket"),
    ("workload", TLS, "sees no connection"),
    ("wire", IO, "no I/O: bytes come in, messages go out"),
    ("content", IO, "pure functions of an id"),
    ("content", TLS, "pure functions of an id"),
    ("stats", IO, "no I/O"),
    ("plan", IO, "nothing is started, and only plans and configurations are opened"),
    ("results", IO, "forms, and files of one directory"),
    ("analysis", IO, "pure functions of a results directory"),
    ("stats", TLS, "no connection"),
];

/// Packages that open sockets or run event loops.
const IO: &[&str] = &[
    "async-std",
    "curl",
    "hyper",
    "libc",
    "mio",
    "nix",
    "polling",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "tokio",
    "ureq",
];

/// Packages that make records of bytes, without a socket: `wire` has them for both sides.
const TLS: &[&str] = &["rustls"];

/// All faults of a graph; empty if there is none.
pub(crate) fn refusals(graph: &[Node]) -> Vec<String> {
    graph.iter().flat_map(|node| rooms(node).into_iter().chain(edges(node, graph))).collect()
}

/// Faults of a crate's own place, which must be known, and named after its folder.
fn rooms(node: &Node) -> Vec<String> {
    let mut wrong = Vec::new();
    let folder = &node.folder;
    let expected = if is_layer(folder) {
        node.name.starts_with("bakeoff-")
    } else {
        node.name == format!("bakeoff-{folder}")
    };
    if !expected {
        wrong.push(format!("{}: crates/{folder} is no folder for a package of this name", node.name));
    }
    let known = ARROWS.iter().any(|arrow| arrow.0 == folder || arrow.1 == folder);
    if !known && !is_layer(folder) {
        wrong
            .push(format!("crates/{folder}: no rule knows this crate; add its arrows to tests/wall/rule.rs"));
    }
    wrong
}

fn edges(node: &Node, graph: &[Node]) -> Vec<String> {
    let mut wrong = Vec::new();
    for edge in &node.edges {
        let inside = graph.iter().find(|other| other.name == edge.to);
        let refused = match inside {
            Some(other) => internal(&node.folder, &other.folder, edge.dev),
            None => external(&node.folder, &edge.to, edge.dev),
        };
        if let Some(why) = refused {
            let kind = if edge.dev { " (in tests)" } else { "" };
            wrong.push(format!("{} -> {}{kind}: {why}", node.name, edge.to));
        }
    }
    wrong
}

/// Reason why this edge between members is refused, if it is.
fn internal(from: &str, to: &str, dev: bool) -> Option<String> {
    let is_in = |arrows: &[Arrow]| arrows.iter().any(|arrow| arrow.0 == from && arrow.1 == to);
    let refuse = |why: &str| Some(why.to_owned());
    match (is_layer(from), is_layer(to)) {
        (false, true) => refuse("what measures never links what is measured"),
        (true, true) if from == LAYERS_SHARED[0] => refuse("base names no layer"),
        (true, true) if LAYERS_SHARED.contains(&to) || from == LAYERS_CLI => None,
        (true, true) => refuse(
            "a layer uses no other layer; what several share lies in layers/base and layers/credentials",
        ),
        (true, false) if SHARED.contains(&to) => None,
        (true, false) => refuse("what is measured sees units, wire and sys, and nothing that measures"),
        (false, false) if is_in(ARROWS) || dev && is_in(IN_TESTS) => None,
        (false, false) if is_in(IN_TESTS) => refuse("this arrow is for tests alone"),
        (false, false) => refuse("no such arrow; if it is wanted, tests/wall/rule.rs needs its reason"),
    }
}

/// Reason why this use of an outside package is refused, if it is.
fn external(from: &str, to: &str, dev: bool) -> Option<String> {
    let not_among =
        ONLY.iter().find(|(folder, packages, _)| *folder == from && !dev && !packages.contains(&to));
    let among = NEVER.iter().find(|(folder, packages, _)| *folder == from && packages.contains(&to));
    not_among.or(among).map(|(folder, _, why)| format!("{folder}: {why}"))
}

fn is_layer(folder: &str) -> bool {
    folder.starts_with("layers/")
}

/// Both ends of every row, for the test that looks for unused rows, and whether it is for tests alone.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let of = |arrows: &'static [Arrow], dev| {
        arrows.iter().map(move |arrow| {
            assert!(!arrow.2.is_empty(), "{} -> {} has no reason", arrow.0, arrow.1);
            (arrow.0, arrow.1, dev)
        })
    };
    of(ARROWS, false).chain(of(IN_TESTS, true))
}
