//! Table of the catalogue: one row for each meter.

use super::{
    Aggregation, BYTES_PER_REPLY, ELAPSED, HIT_RATIO, LINK_BUSY, Meter, OPERATION_TIME, PATH_CPU, PROGRAM_NS,
    PartOf, RESPONSE_P50, SUBJECT_CPU, SUBJECT_CPU_PER_REPLY, Side, Unit,
};
use crate::SliceCounters;

const fn meter(
    name: &'static str,
    noun: &'static str,
    unit: Unit,
    kind: Aggregation,
    side: Side,
    help: &'static str,
    of_slice: fn(&SliceCounters) -> Option<f64>,
) -> Meter {
    Meter {
        name,
        noun,
        unit,
        kind,
        side,
        more_is_worse: true,
        compared: true,
        help,
        of_slice,
        quantile: None,
        part_of: None,
    }
}

/// A state of load or machine: a gauge that arms are not compared in.
const fn state(
    name: &'static str,
    noun: &'static str,
    unit: Unit,
    side: Side,
    help: &'static str,
    of_slice: fn(&SliceCounters) -> Option<f64>,
) -> Meter {
    Meter { compared: false, ..meter(name, noun, unit, Aggregation::Gauge, side, help, of_slice) }
}

const fn quantile(name: &'static str, noun: &'static str, q: f64, help: &'static str) -> Meter {
    Meter {
        name,
        noun,
        unit: Unit::Nanoseconds,
        kind: Aggregation::Histogram,
        side: Side::Client,
        more_is_worse: true,
        compared: true,
        help,
        of_slice: |_| None,
        quantile: Some(q),
        part_of: None,
    }
}

/// All meters, primary candidates first.
pub const CATALOGUE: &[Meter] = &[
    meter(
        SUBJECT_CPU,
        "CPU per request",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Subject,
        "CPU time of all processes of the subject, divided by the requests of the slice",
        |c| c.per_request(c.subject_cpu_ns?),
    ),
    meter(
        PATH_CPU,
        "CPU per request of the whole path",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Host,
        "subject + generator + uncharged soft interrupts, per request: a layer can shift cost across the socket",
        |c| c.per_request(c.path_cpu_ns()?),
    ),
    meter(
        "generator_cpu_per_request",
        "generator CPU per request",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Client,
        "CPU time of the load generator's threads per request",
        |c| (c.generator_cpu_ns > 0).then(|| c.per_request(c.generator_cpu_ns))?,
    ),
    meter(
        ELAPSED,
        "elapsed time",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Host,
        "wall time of the slice's work; of a command, from start to exit",
        |c| Some(c.wall_ns as f64),
    ),
    meter(
        OPERATION_TIME,
        "time per operation",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Client,
        "files and calls workloads: mean time of an operation, from its first system call to its last",
        |c| (!c.operations.is_empty()).then(|| c.per_request(c.wall_ns))?,
    ),
    meter(
        "command_cpu",
        "CPU",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Subject,
        "command workload: user-mode and kernel CPU of the whole process tree",
        |c| Some((c.user_ns? + c.system_ns?) as f64),
    ),
    meter(
        "user_cpu",
        "user CPU",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Subject,
        "command workload: user-mode CPU of the whole process tree",
        |c| Some(c.user_ns? as f64),
    ),
    meter(
        "system_cpu",
        "system CPU",
        Unit::Nanoseconds,
        Aggregation::Counter,
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
            Aggregation::Counter,
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
            Aggregation::Counter,
            Side::Client,
            "bytes of good replies, heads included, divided by the slice's wall time",
            |c| (c.wall_ns > 0).then(|| c.bytes as f64 / c.wall_secs()),
        )
    },
    meter(
        BYTES_PER_REPLY,
        "bytes per reply",
        Unit::Bytes,
        Aggregation::Counter,
        Side::Client,
        "bytes of good replies, heads included, divided by their number",
        |c| (c.replies > 0 && c.bytes > 0).then(|| c.bytes as f64 / c.replies as f64),
    ),
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
    Meter {
        part_of: Some(|c| Some(PartOf { part: c.error_count(), of: c.requests })),
        ..meter(
            "errors",
            "failed requests",
            Unit::Share,
            Aggregation::Counter,
            Side::Client,
            "requests without a good reply, as a share of all; classes stand beside it",
            |c| c.per_request(c.error_count()),
        )
    },
    Meter {
        part_of: Some(|c| {
            (!c.refused.is_empty()).then(|| PartOf { part: c.refused_count(), of: c.requests })
        }),
        ..meter(
            "refused",
            "refused requests",
            Unit::Share,
            Aggregation::Counter,
            Side::Client,
            "requests that were refused in a way that the workload's `refused` names, as a share of all: neither replies nor failures",
            |c| (!c.refused.is_empty()).then(|| c.per_request(c.refused_count()))?,
        )
    },
    meter(
        "refused_per_second",
        "refusals per second",
        Unit::PerSecond,
        Aggregation::Counter,
        Side::Client,
        "the same divided by the slice's wall time",
        |c| (c.wall_ns > 0 && !c.refused.is_empty()).then(|| c.refused_count() as f64 / c.wall_secs()),
    ),
    meter(
        SUBJECT_CPU_PER_REPLY,
        "CPU per served request",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Subject,
        "CPU time of all processes of the subject, divided by the good replies of the slice, where the workload names refusals: refusing is no saving",
        |c| (c.replies > 0 && !c.refused.is_empty()).then_some(c.subject_cpu_ns? as f64 / c.replies as f64),
    ),
    Meter {
        more_is_worse: false,
        part_of: Some(|c| c.hits.map(|hits| PartOf { part: hits.hits, of: hits.replies })),
        ..meter(
            HIT_RATIO,
            "hits",
            Unit::Share,
            Aggregation::Counter,
            Side::Client,
            "replies that came from a store before the server, as a share of good replies; told by numbers that the server behind gives its replies, and only where that is ours",
            |c| c.hits?.ratio(),
        )
    },
    Meter {
        more_is_worse: false,
        part_of: Some(|c| c.hits.map(|hits| PartOf { part: hits.hit_bytes, of: hits.bytes })),
        ..meter(
            "byte_hit_ratio",
            "bytes from a store",
            Unit::Share,
            Aggregation::Counter,
            Side::Client,
            "the same by bytes of bodies",
            |c| c.hits?.byte_ratio(),
        )
    },
    meter(
        "hit_time",
        "time of a hit",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Client,
        "mean response time of replies that came from a store",
        |c| c.hits?.hit_mean(),
    ),
    meter(
        "miss_time",
        "time of a miss",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Client,
        "the same of replies that were fetched from the server behind",
        |c| c.hits?.miss_mean(),
    ),
    meter(
        "front_cpu_per_request",
        "CPU per request of what stands before the server",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Subject,
        "arms with a front: CPU time of all that stands before the server, per request; part of the subject's. Directories with `serve`: of the operations and of what `setup` has left running",
        |c| c.per_request(c.front_cpu_ns?),
    ),
    meter(
        "server_cpu_per_request",
        "CPU per request of the server behind",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Subject,
        "arms with a front: CPU time of the server behind it, per request that clients made; part of the subject's. Directories with `serve`: of what it has started",
        |c| c.per_request(c.server_cpu_ns()?),
    ),
    meter(
        PROGRAM_NS,
        "time of programs in the kernel per request",
        Unit::Nanoseconds,
        Aggregation::Counter,
        Side::Host,
        "arms with a layer whose status has the lines `runs` and `run-ns`: CPU time of its programs in the kernel, per request; the path's CPU has it in it, whoever is charged for it",
        |c| c.per_request(c.program_ns?),
    ),
    state(
        "program_runs",
        "runs of programs in the kernel per request",
        Unit::Count,
        Side::Host,
        "the same: how often those programs ran, per request",
        |c| c.per_request(c.program_runs?),
    ),
    state(
        "subject_busy",
        "subject utilisation",
        Unit::Share,
        Side::Subject,
        "the subject's CPU as a share of its cores, or of its CPU quota where that is less: the load at which a cost was taken",
        |c| c.subject_busy,
    ),
    state(
        "generator_busy",
        "generator utilisation",
        Unit::Share,
        Side::Client,
        "the busiest generator thread's CPU as a share of one core",
        |c| Some(c.generator_busy),
    ),
    state("host_user", "user CPU of the machine", Unit::Share, Side::Host, "us of vmstat", |c| {
        Some(c.host.user)
    }),
    state(
        "host_system",
        "system CPU of the machine",
        Unit::Share,
        Side::Host,
        "sy of vmstat, interrupts included",
        |c| Some(c.host.system),
    ),
    state("host_iowait", "I/O wait of the machine", Unit::Share, Side::Host, "wa of vmstat", |c| {
        Some(c.host.iowait)
    }),
    state("host_steal", "stolen CPU of the machine", Unit::Share, Side::Host, "st of vmstat", |c| {
        Some(c.host.steal)
    }),
    state(
        "pressure_cpu",
        "CPU pressure",
        Unit::Share,
        Side::Host,
        "share of time in which some task waited for a CPU (PSI some)",
        |c| c.host.pressure_cpu,
    ),
    state("pressure_io", "I/O pressure", Unit::Share, Side::Host, "the same for I/O", |c| c.host.pressure_io),
    state("pressure_memory", "memory pressure", Unit::Share, Side::Host, "the same for memory", |c| {
        c.host.pressure_memory
    }),
    state(
        "throttled",
        "throttled time",
        Unit::Share,
        Side::Subject,
        "arms with a CPU quota: time in which the subject had work and no quota left, summed over its cores, as a share of the slice's wall time",
        |c| (c.wall_ns > 0).then_some(c.throttled_ns? as f64 / c.wall_ns as f64),
    ),
    state(
        "memory_limit_hits",
        "hits of the memory limit",
        Unit::Count,
        Side::Subject,
        "arms with a memory limit: how often the subject wanted more, so that the kernel took pages back from it or ended a process",
        |c| Some(c.memory_limit_hits? as f64),
    ),
    state(
        "storage_limit_used",
        "share of the storage limit",
        Unit::Share,
        Side::Subject,
        "arms with a limit on reading or writing: what the subject moved, as a share of what the limit allows in the slice, whichever is nearer",
        |c| c.storage_limit_used,
    ),
    state(
        LINK_BUSY,
        "link utilisation",
        Unit::Share,
        Side::Host,
        "bytes on the link in its busier direction as a share of its rate; above 0.9 the network was full",
        SliceCounters::link_busy,
    ),
    state(
        "disk_busy",
        "disk utilisation",
        Unit::Share,
        Side::Host,
        "share of the time in which the machine's busiest block device had a request to serve (%util of iostat); a device that serves many at once may be busy all the time and have room",
        |c| c.disk_busy,
    ),
    meter(
        "memory",
        "memory",
        Unit::Bytes,
        Aggregation::Gauge,
        Side::Subject,
        "resident memory of the subject's processes; pages shared between them count more than once",
        |c| Some(c.usage.rss_bytes? as f64),
    ),
    meter(
        "disk_read",
        "bytes read from storage",
        Unit::Bytes,
        Aggregation::Counter,
        Side::Subject,
        "bytes the subject's processes caused to be read from storage",
        |c| Some(c.usage.disk_read_bytes? as f64),
    ),
    Meter {
        compared: false,
        ..meter(
            "disk_write",
            "bytes written to storage",
            Unit::Bytes,
            Aggregation::Counter,
            Side::Subject,
            "bytes the subject's processes caused to be written to storage",
            |c| Some(c.usage.disk_write_bytes? as f64),
        )
    },
    meter(
        "context_switches_per_request",
        "context switches per request",
        Unit::Count,
        Aggregation::Counter,
        Side::Subject,
        "voluntary and involuntary switches of the subject's processes per request",
        |c| c.per_request(c.usage.context_switches?),
    ),
    Meter {
        compared: false,
        ..meter(
            "connections",
            "connections opened",
            Unit::Count,
            Aggregation::Counter,
            Side::Client,
            "TCP connections opened in the slice",
            |c| Some(c.connections as f64),
        )
    },
    Meter {
        compared: false,
        ..meter(
            "handshakes",
            "TLS handshakes",
            Unit::Count,
            Aggregation::Counter,
            Side::Client,
            "TLS handshakes completed in the slice",
            |c| c.handshakes.map(|made| made.completed() as f64),
        )
    },
    state(
        "resumption_offered",
        "sessions offered",
        Unit::Share,
        Side::Client,
        "share of the TLS handshakes in which the client offered to go on with an earlier session",
        |c| c.handshakes?.offered_share(),
    ),
    state(
        "resumption_accepted",
        "sessions accepted",
        Unit::Share,
        Side::Client,
        "share of the offered TLS sessions that the server went on with",
        |c| c.handshakes?.accepted_share(),
    ),
    state(
        "resumption",
        "resumed handshakes",
        Unit::Share,
        Side::Client,
        "share of the completed TLS handshakes that went on with an earlier session",
        |c| c.handshakes?.resumed_share(),
    ),
    state(
        "handshake_cpu_full",
        "generator CPU of a full handshake",
        Unit::Nanoseconds,
        Side::Client,
        "CPU time of the load generator's threads per full TLS handshake",
        |c| c.handshakes?.full_cpu(),
    ),
    state(
        "handshake_cpu_resumed",
        "generator CPU of a resumed handshake",
        Unit::Nanoseconds,
        Side::Client,
        "the same per handshake that went on with an earlier session",
        |c| c.handshakes?.resumed_cpu(),
    ),
    Meter {
        compared: false,
        ..meter(
            "postponed",
            "postponed requests",
            Unit::Count,
            Aggregation::Counter,
            Side::Client,
            "open loop: requests that waited for a free connection",
            |c| Some(c.postponed as f64),
        )
    },
];
