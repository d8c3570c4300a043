//! Every figure bakeoff prints, once: name, unit, kind, side, meaning, and how it is computed from
//! a slice's counters. Text, JSON, HTML and docs/meters.md come from this table.

use crate::Counters;

/// What a value is counted in; the JSON label is the short form.
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

/// How values of several slices go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sums; as a comparison: per slice, paired by round.
    Counter,
    /// A state; the median over slices is shown.
    Gauge,
    /// A quantile of merged histograms; never averaged.
    Histogram,
}

/// Where it is measured.
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
    /// Of the value.
    pub unit: Unit,
    /// How slices go together.
    pub kind: Kind,
    /// Where it is measured.
    pub side: Side,
    /// Whether more is worse: decides between `costs` and `saves`.
    pub more_is_worse: bool,
    /// One line for help and legends.
    pub help: &'static str,
    /// The figure of one slice; `None` for histograms and where it could not be read.
    pub of_slice: fn(&Counters) -> Option<f64>,
    /// For histograms: the quantile, 0 to 1.
    pub quantile: Option<f64>,
}

/// The name of the primary figure of request workloads.
pub const SUBJECT_CPU: &str = "subject_cpu_per_request";
/// The same for the whole path.
pub const PATH_CPU: &str = "path_cpu_per_request";
/// The primary figure of the `command` workload.
pub const ELAPSED: &str = "elapsed";
/// The primary figure where no CPU can be read.
pub const RESPONSE_P50: &str = "response_p50";

const fn meter(
    name: &'static str,
    noun: &'static str,
    unit: Unit,
    kind: Kind,
    side: Side,
    help: &'static str,
    of_slice: fn(&Counters) -> Option<f64>,
) -> Meter {
    Meter { name, noun, unit, kind, side, more_is_worse: true, help, of_slice, quantile: None }
}

const fn quantile(name: &'static str, noun: &'static str, q: f64, help: &'static str) -> Meter {
    Meter {
        name,
        noun,
        unit: Unit::Nanoseconds,
        kind: Kind::Histogram,
        side: Side::Client,
        more_is_worse: true,
        help,
        of_slice: |_| None,
        quantile: Some(q),
    }
}

/// All meters, primary candidates first.
pub const CATALOGUE: &[Meter] = &[
    meter(
        SUBJECT_CPU,
        "CPU per request",
        Unit::Nanoseconds,
        Kind::Counter,
        Side::Subject,
        "CPU time of all processes of the subject, divided by the requests of the slice",
        |c| c.per_request(c.subject_cpu_ns?),
    ),
    meter(
        PATH_CPU,
        "CPU per request of the whole path",
        Unit::Nanoseconds,
        Kind::Counter,
        Side::Host,
        "subject + generator + uncharged soft interrupts, per request: a layer can shift cost across the socket",
        |c| c.per_request(c.path_cpu_ns()?),
    ),
    meter(
        "generator_cpu_per_request",
        "generator CPU per request",
        Unit::Nanoseconds,
        Kind::Counter,
        Side::Client,
        "CPU time of the load generator's threads per request",
        |c| (c.generator_cpu_ns > 0).then(|| c.per_request(c.generator_cpu_ns))?,
    ),
    meter(
        ELAPSED,
        "elapsed time",
        Unit::Nanoseconds,
        Kind::Counter,
        Side::Host,
        "wall time of the slice's work; of a command, from start to exit",
        |c| Some(c.wall_ns as f64),
    ),
    meter(
        "user_cpu",
        "user CPU",
        Unit::Nanoseconds,
        Kind::Counter,
        Side::Subject,
        "command workload: user-mode CPU of the whole process tree",
        |c| Some(c.user_ns? as f64),
    ),
    meter(
        "system_cpu",
        "system CPU",
        Unit::Nanoseconds,
        Kind::Counter,
        Side::Subject,
        "command workload: kernel CPU of the whole process tree",
        |c| Some(c.system_ns? as f64),
    ),
    Meter {
        more_is_worse: false,
        ..meter(
            "replies_per_second",
            "replies per second",
            Unit::PerSecond,
            Kind::Counter,
            Side::Client,
            "good replies divided by the slice's wall time",
            |c| (c.wall_ns > 0).then(|| c.replies as f64 / c.wall_secs()),
        )
    },
    Meter {
        more_is_worse: false,
        ..meter(
            "bytes_per_second",
            "bytes per second",
            Unit::BytesPerSecond,
            Kind::Counter,
            Side::Client,
            "bytes of good replies, heads included, divided by the slice's wall time",
            |c| (c.wall_ns > 0).then(|| c.bytes as f64 / c.wall_secs()),
        )
    },
    quantile(
        RESPONSE_P50,
        "median response time",
        0.5,
        "median time from when a request was due to its reply's last byte",
    ),
    quantile("response_p90", "90th percentile response time", 0.9, "the same, 90th percentile"),
    quantile("response_p99", "99th percentile response time", 0.99, "the same, 99th percentile"),
    quantile("response_p999", "99.9th percentile response time", 0.999, "the same, 99.9th percentile"),
    quantile(
        "service_p50",
        "median service time",
        0.5,
        "median time from when a request was sent to its reply's last byte",
    ),
    quantile("service_p99", "99th percentile service time", 0.99, "the same, 99th percentile"),
    meter(
        "errors",
        "failed requests",
        Unit::Share,
        Kind::Counter,
        Side::Client,
        "requests without a good reply, as a share of all; classes stand beside it",
        |c| c.per_request(c.error_count()),
    ),
    meter(
        "subject_busy",
        "subject utilisation",
        Unit::Share,
        Kind::Gauge,
        Side::Subject,
        "the subject's CPU as a share of its cores: the load at which a cost was taken",
        |c| c.subject_busy,
    ),
    meter(
        "generator_busy",
        "generator utilisation",
        Unit::Share,
        Kind::Gauge,
        Side::Client,
        "the busiest generator thread's CPU as a share of one core",
        |c| Some(c.generator_busy),
    ),
    meter(
        "host_user",
        "user CPU of the machine",
        Unit::Share,
        Kind::Gauge,
        Side::Host,
        "us of vmstat",
        |c| Some(c.host.user),
    ),
    meter(
        "host_system",
        "system CPU of the machine",
        Unit::Share,
        Kind::Gauge,
        Side::Host,
        "sy of vmstat, interrupts included",
        |c| Some(c.host.system),
    ),
    meter(
        "host_iowait",
        "I/O wait of the machine",
        Unit::Share,
        Kind::Gauge,
        Side::Host,
        "wa of vmstat",
        |c| Some(c.host.iowait),
    ),
    meter(
        "host_steal",
        "stolen CPU of the machine",
        Unit::Share,
        Kind::Gauge,
        Side::Host,
        "st of vmstat",
        |c| Some(c.host.steal),
    ),
    meter(
        "pressure_cpu",
        "CPU pressure",
        Unit::Share,
        Kind::Gauge,
        Side::Host,
        "share of time in which some task waited for a CPU (PSI some)",
        |c| c.host.pressure_cpu,
    ),
    meter("pressure_io", "I/O pressure", Unit::Share, Kind::Gauge, Side::Host, "the same for I/O", |c| {
        c.host.pressure_io
    }),
    meter(
        "pressure_memory",
        "memory pressure",
        Unit::Share,
        Kind::Gauge,
        Side::Host,
        "the same for memory",
        |c| c.host.pressure_memory,
    ),
    meter(
        "memory",
        "memory",
        Unit::Bytes,
        Kind::Gauge,
        Side::Subject,
        "resident memory of the subject's processes; pages shared between them count more than once",
        |c| Some(c.usage.rss_bytes? as f64),
    ),
    meter(
        "disk_read",
        "bytes read from storage",
        Unit::Bytes,
        Kind::Counter,
        Side::Subject,
        "bytes the subject's processes caused to be read from storage",
        |c| Some(c.usage.disk_read_bytes? as f64),
    ),
    meter(
        "disk_write",
        "bytes written to storage",
        Unit::Bytes,
        Kind::Counter,
        Side::Subject,
        "bytes the subject's processes caused to be written to storage",
        |c| Some(c.usage.disk_write_bytes? as f64),
    ),
    meter(
        "context_switches_per_request",
        "context switches per request",
        Unit::Count,
        Kind::Counter,
        Side::Subject,
        "voluntary and involuntary switches of the subject's processes per request",
        |c| c.per_request(c.usage.context_switches?),
    ),
    meter(
        "connections",
        "connections opened",
        Unit::Count,
        Kind::Counter,
        Side::Client,
        "TCP connections opened in the slice",
        |c| Some(c.connections as f64),
    ),
    meter(
        "postponed",
        "postponed requests",
        Unit::Count,
        Kind::Counter,
        Side::Client,
        "open loop: requests that waited for a free connection",
        |c| Some(c.postponed as f64),
    ),
];

/// The meter of this name.
pub fn find(name: &str) -> Option<&'static Meter> {
    CATALOGUE.iter().find(|meter| meter.name == name)
}

/// docs/meters.md.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Meters\n\nGenerated from the catalogue in `crates/meter` (`bakeoff meters --markdown`); do not edit.\n\n\
         | name | unit | kind | side | meaning |\n|---|---|---|---|---|\n",
    );
    for meter in CATALOGUE {
        let row = format!(
            "| `{}` | {} | {} | {} | {} |\n",
            meter.name,
            meter.unit.as_str(),
            format!("{:?}", meter.kind).to_lowercase(),
            format!("{:?}", meter.side).to_lowercase(),
            meter.help
        );
        text.push_str(&row);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for meter in CATALOGUE {
            assert_eq!(CATALOGUE.iter().filter(|other| other.name == meter.name).count(), 1);
            assert_eq!(find(meter.name).unwrap().help, meter.help);
        }
        assert!(find("speed").is_none());
    }

    #[test]
    fn cost_per_request_is_cpu_over_requests() {
        let counters = Counters {
            requests: 10,
            subject_cpu_ns: Some(1_000),
            generator_cpu_ns: 500,
            softirq_cpu_ns: Some(100),
            ..Counters::default()
        };
        let figure = |name| (find(name).unwrap().of_slice)(&counters);
        assert_eq!(figure(SUBJECT_CPU), Some(100.0));
        assert_eq!(figure(PATH_CPU), Some(160.0));
        assert_eq!(figure("generator_cpu_per_request"), Some(50.0));
        assert_eq!(figure("memory"), None);
    }
}
