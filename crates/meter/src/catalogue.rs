//! Catalogue of all figures that bakeoff prints, each once: name, unit, kind, side, meaning, and its formula from a
//! slice's counters. Text, JSON, HTML and docs/meters.md come from the table in `table`.

mod table;

use crate::SliceCounters;
pub use table::CATALOGUE;

/// The unit of a value; the JSON label is the short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Events per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Bytes.
    Bytes,
    /// A plain count.
    Count,
    /// A share, 0 to 1.
    Share,
}

impl Unit {
    /// As in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::PerSecond => "1/s",
            Self::BytesPerSecond => "B/s",
            Self::Bytes => "B",
            Self::Count => "count",
            Self::Share => "share",
        }
    }
}

/// The rule for combining the values of several slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// Sums; as a comparison: per slice, paired by round.
    Counter,
    /// A state; the median over slices is shown.
    Gauge,
    /// A quantile of merged histograms; never averaged.
    Histogram,
}

/// The place of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At the load generator.
    Client,
    /// At the subject's processes.
    Subject,
    /// At the machine.
    Host,
}

/// One meter.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// JSON key; stable.
    pub name: &'static str,
    /// As a noun in a sentence: "costs 1.4 % `noun`".
    pub noun: &'static str,
    /// The unit of the value.
    pub unit: Unit,
    /// The rule for combining slices.
    pub kind: Aggregation,
    /// The place of measurement.
    pub side: Side,
    /// Whether more is worse: decides between `costs` and `saves`.
    pub more_is_worse: bool,
    /// Whether arms are compared in it: it is a cost of the subject, and not a state of the load or of the machine
    /// under which a cost was taken.
    pub compared: bool,
    /// One line for help and legends.
    pub help: &'static str,
    /// The figure of one slice; `None` for histograms and where it could not be read.
    pub of_slice: fn(&SliceCounters) -> Option<f64>,
    /// For histograms: the quantile, 0 to 1.
    pub quantile: Option<f64>,
    /// For shares of a count: part and whole. Arms are then compared in points, as a share may be 0.
    pub part_of: Option<fn(&SliceCounters) -> Option<PartOf>>,
}

/// A part of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartOf {
    /// The part.
    pub part: u64,
    /// The whole.
    pub of: u64,
}

/// The name of the primary figure of request workloads.
pub const SUBJECT_CPU: &str = "subject_cpu_per_request";
/// The same where requests may be refused.
pub const SUBJECT_CPU_PER_REPLY: &str = "subject_cpu_per_reply";
/// The same for the whole path.
pub const PATH_CPU: &str = "path_cpu_per_request";
/// The primary figure of the `command` workload.
pub const ELAPSED: &str = "elapsed";
/// The primary figure of the `files` workload where it reads from storage.
pub const OPERATION_TIME: &str = "operation_time";
/// The utilisation of a link with a rate.
pub const LINK_BUSY: &str = "link_busy";
/// CPU of a layer's programs in the kernel.
pub const PROGRAM_NS: &str = "program_ns";
/// The share of replies that came from a store before the server.
pub const HIT_RATIO: &str = "hit_ratio";
/// The size of a reply.
pub const BYTES_PER_REPLY: &str = "bytes_per_reply";
/// The primary figure where no CPU can be read.
pub const RESPONSE_P50: &str = "response_p50";

/// Nouns of workloads of operations for figures that are requests elsewhere.
const NOUNS_OF_OPERATIONS: &[(&str, &str)] = &[
    (SUBJECT_CPU, "CPU per operation"),
    (PATH_CPU, "CPU per operation of the whole path"),
    ("front_cpu_per_request", "CPU per operation on the client's side"),
    ("server_cpu_per_request", "CPU per operation on the server's side"),
    ("replies_per_second", "operations per second"),
    (RESPONSE_P50, "median time of an operation"),
    ("response_p90", "90th percentile of the time of an operation"),
    ("response_p99", "99th percentile of the time of an operation"),
    ("response_p999", "99.9th percentile of the time of an operation"),
    ("errors", "failed operations"),
    ("context_switches_per_request", "context switches per operation"),
];

/// Whether a workload of this kind makes operations, and not requests.
pub fn makes_operations(workload: &str) -> bool {
    matches!(workload, "files" | "calls")
}

/// Figures of a slice as a whole: they grow with its requests.
const OF_WHOLE_SLICES: [&str; 10] = [
    ELAPSED,
    "command_cpu",
    "user_cpu",
    "system_cpu",
    "memory_limit_hits",
    "disk_read",
    "disk_write",
    "connections",
    "handshakes",
    "postponed",
];

impl Meter {
    /// For a quantile: whether it is one of service times, and not of response times.
    pub fn is_of_service(&self) -> bool {
        self.name.starts_with("service")
    }

    /// Whether it grows with the requests of a slice: then only slices of as many can be compared.
    pub fn is_of_whole_slice(&self) -> bool {
        OF_WHOLE_SLICES.contains(&self.name)
    }

    /// Whether it is a rate: a figure of the load and of all programs that share the machine.
    pub const fn is_speed(&self) -> bool {
        matches!(self.unit, Unit::PerSecond | Unit::BytesPerSecond)
    }

    /// The noun for a workload of this kind.
    pub fn noun_in(&self, workload: &str) -> &'static str {
        let own =
            NOUNS_OF_OPERATIONS.iter().find(|(name, _)| makes_operations(workload) && *name == self.name);
        own.map_or(self.noun, |(_, noun)| noun)
    }
}

/// The meter of this name.
pub fn find(name: &str) -> Option<&'static Meter> {
    CATALOGUE.iter().find(|meter| meter.name == name)
}

/// docs/meters.md.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Meters\n\nGenerated from the catalogue in `crates/meter` (`bakeoff meters --markdown`); do not edit.\n\n\
         Arms are compared in the meters that say so; the others are the conditions under which that was done.\n\n\
         | name | unit | kind | side | compared | meaning |\n|---|---|---|---|---|---|\n",
    );
    for meter in CATALOGUE {
        let row = format!(
            "| `{}` | {} | {} | {} | {} | {} |\n",
            meter.name,
            meter.unit.as_str(),
            format!("{:?}", meter.kind).to_lowercase(),
            format!("{:?}", meter.side).to_lowercase(),
            if meter.compared { "yes" } else { "" },
            meter.help
        );
        text.push_str(&row);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HandshakeCounts, OperationCounts};

    #[test]
    fn names_are_distinct_and_found() {
        for meter in CATALOGUE {
            assert_eq!(CATALOGUE.iter().filter(|other| other.name == meter.name).count(), 1);
            assert_eq!(find(meter.name).unwrap().help, meter.help);
        }
        for (name, noun) in NOUNS_OF_OPERATIONS {
            assert_eq!(find(name).unwrap().noun_in("files"), *noun);
            assert_eq!(find(name).unwrap().noun_in("get"), find(name).unwrap().noun);
        }
        assert!(find("speed").is_none());
    }

    #[test]
    fn limits_and_disks_are_shown_as_shares() {
        let counters = SliceCounters {
            wall_ns: 200,
            throttled_ns: Some(50),
            memory_limit_hits: Some(3),
            disk_busy: Some(0.5),
            ..SliceCounters::default()
        };
        let figure = |name| {
            let meter = find(name).unwrap();
            assert!(!meter.compared, "{name} is no cost");
            (meter.of_slice)(&counters)
        };
        assert_eq!(figure("throttled"), Some(0.25));
        assert_eq!(figure("memory_limit_hits"), Some(3.0));
        assert_eq!(figure("disk_busy"), Some(0.5));
        assert_eq!(figure("storage_limit_used"), None);
    }

    #[test]
    fn handshakes_are_shown_where_there_were_any() {
        let counts = HandshakeCounts { full: 5, resumed: 15, offered: 16, ..HandshakeCounts::default() };
        let counters = SliceCounters { handshakes: Some(counts), ..SliceCounters::default() };
        let figure = |name| {
            let meter = find(name).unwrap();
            assert!(!meter.compared, "{name} is no cost of the subject");
            assert_eq!((meter.of_slice)(&SliceCounters::default()), None, "{name}");
            (meter.of_slice)(&counters)
        };
        assert_eq!(figure("handshakes"), Some(20.0));
        assert_eq!(figure("resumption_offered"), Some(0.8));
        assert_eq!(figure("resumption_accepted"), Some(15.0 / 16.0));
        assert_eq!(figure("resumption"), Some(0.75));
        assert_eq!(figure("handshake_cpu_full"), Some(0.0));
        assert_eq!(figure("handshake_cpu_resumed"), Some(0.0));
        assert!(find("handshakes").unwrap().is_of_whole_slice());
    }

    #[test]
    fn cost_per_request_is_cpu_over_requests() {
        let counters = SliceCounters {
            requests: 10,
            subject_cpu_ns: Some(1_000),
            generator_cpu_ns: 500,
            softirq_cpu_ns: Some(100),
            program_ns: Some(5_500),
            program_runs: Some(100),
            ..SliceCounters::default()
        };
        let figure = |name| (find(name).unwrap().of_slice)(&counters);
        assert_eq!((figure(PROGRAM_NS), figure("program_runs")), (Some(550.0), Some(10.0)));
        assert_eq!((find(PROGRAM_NS).unwrap().of_slice)(&SliceCounters::default()), None);
        assert_eq!(figure(SUBJECT_CPU), Some(100.0));
        assert_eq!(figure(PATH_CPU), Some(160.0));
        assert_eq!(figure("generator_cpu_per_request"), Some(50.0));
        assert_eq!(figure("memory"), None);
    }

    #[test]
    fn a_kind_of_operation_has_the_figures_of_a_slice() {
        let counts = OperationCounts {
            tried: 4,
            errors: [("wrong-bytes".to_owned(), 1)].into(),
            bytes: 30,
            elapsed_ns: 800,
            cpu_ns: Some(400),
            front_cpu_ns: Some(300),
            times: String::new(),
            steps_ns: std::collections::BTreeMap::new(),
        };
        let counters = counts.alone("read 10 B");
        let figure = |name| (find(name).unwrap().of_slice)(&counters);
        assert_eq!(figure(OPERATION_TIME), Some(200.0));
        assert_eq!(figure("front_cpu_per_request"), Some(75.0));
        assert_eq!(figure("server_cpu_per_request"), Some(25.0));
        assert_eq!(figure(SUBJECT_CPU), Some(100.0));
        assert_eq!(figure("errors"), Some(0.25));
        assert_eq!((find(OPERATION_TIME).unwrap().of_slice)(&SliceCounters::default()), None);
    }
}
