//! Raw counters of one slice, as they are stored.

use crate::{ErrorClass, HandshakeCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one slice counted. All CPU times are nanoseconds between the two quiet points around the
/// slice; `None` says that the machine or the subject does not let it be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceCounters {
    /// Requests sent or tried.
    pub requests: u64,
    /// Good replies.
    pub replies: u64,
    /// Failures by class; `requests == replies + sum of errors + sum of refused + cut`.
    pub errors: BTreeMap<String, u64>,
    /// The first failure of each class: what was asked for, and what came.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub examples: BTreeMap<String, String>,
    /// Requests that were refused in a way that the plan names, by status or class: no failures, and no replies. Every name of
    /// the plan is there, also with 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// Slices by time: requests in flight when time was up, neither good nor bad.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Bytes of good replies, heads included.
    pub bytes: u64,
    /// Replies by status code, good or not.
    pub statuses: BTreeMap<u16, u64>,
    /// From the first request's due time to the last reply; slices by time: their time.
    pub wall_ns: u64,
    /// Connections opened.
    pub connections: u64,
    /// TLS handshakes of the slice's connections, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<HandshakeCounts>,
    /// Open loop: requests that waited because every allowed connection was busy.
    pub postponed: u64,
    /// CPU of the subject's process tree.
    pub subject_cpu_ns: Option<u64>,
    /// CPU of the generator's threads.
    pub generator_cpu_ns: u64,
    /// Soft-interrupt CPU of the machine that is not charged to any process: the kernel's softirq
    /// account where it keeps one, and the ksoftirqd threads.
    pub softirq_cpu_ns: Option<u64>,
    /// The busiest generator thread's CPU as a share of the wall time, 0 to 1.
    pub generator_busy: f64,
    /// The subject's CPU as a share of its cores' wall time, or of its CPU quota where that is less,
    /// 0 to 1.
    pub subject_busy: Option<f64>,
    /// CPU that idle arms used meanwhile, as a share of one core.
    pub idle_arms_busy: f64,
    /// The machine, as vmstat shows it.
    pub host: HostShare,
    /// Share of the wall time in which the machine's busiest block device had a request to serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_busy: Option<f64>,
    /// The name of that device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_disk: Option<String>,
    /// CPU quota: time in which the subject had work and no quota left, summed over its cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// Memory limit: how often the subject wanted more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_hits: Option<u64>,
    /// Limits on storage: what the subject read or wrote as a share of what it may, whichever is
    /// nearer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_limit_used: Option<f64>,
    /// What else the subject's processes used.
    pub usage: SubjectUsage,
    /// Of that the CPU of what stands before the server, where something does; in `files` workloads of all but what serves the
    /// directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_cpu_ns: Option<u64>,
    /// Runs of layers' programs in the kernel, where a layer tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_runs: Option<u64>,
    /// CPU of those runs, where the kernel keeps account of it. Somebody is charged for it as well: the subject, the generator,
    /// or no process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_ns: Option<u64>,
    /// What came from a store before the server, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<HitCounts>,
    /// Heads of good replies that came through a front, where it is known what they have to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<HeadCounts>,
    /// Planted violations, where the plan has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violations: Option<ViolationCounts>,
    /// `files` and `calls` workloads: what each kind of operation came to, by its label such as `read 1 B`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, OperationCounts>,
    /// What a link with a rate did, where the plan has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkCounts>,
    /// `command` workload: CPU in user mode of the whole process tree.
    pub user_ns: Option<u64>,
    /// `command` workload: CPU in the kernel of the whole process tree.
    pub system_ns: Option<u64>,
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What became of good replies that a server behind has numbered. A number that comes for the first time was fetched for
/// this reply; one that came before, from a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HitCounts {
    /// Good replies, but those of 304, which have no number.
    pub replies: u64,
    /// Of them those that came from a store.
    pub hits: u64,
    /// Bytes of the bodies of those replies.
    pub bytes: u64,
    /// The same of the hits.
    pub hit_bytes: u64,
    /// Replies without a number: no server behind has made them.
    pub unnumbered: u64,
    /// Sum of the response times of hits; 0 in older files, as the one below.
    #[serde(default)]
    pub hit_ns: u64,
    /// Sum of the response times of what was fetched.
    #[serde(default)]
    pub miss_ns: u64,
}

impl HitCounts {
    /// Adds another part's.
    pub fn add(&mut self, other: &Self) {
        self.replies += other.replies;
        self.hits += other.hits;
        self.bytes += other.bytes;
        self.hit_bytes += other.hit_bytes;
        self.unnumbered += other.unnumbered;
        self.hit_ns += other.hit_ns;
        self.miss_ns += other.miss_ns;
    }

    /// Mean response time of a hit, ns; `None` without hits, or of older files.
    pub fn hit_mean(&self) -> Option<f64> {
        (self.hits > 0 && self.hit_ns > 0).then(|| self.hit_ns as f64 / self.hits as f64)
    }

    /// The same of what was fetched.
    pub fn miss_mean(&self) -> Option<f64> {
        let fetched = self.replies.saturating_sub(self.hits + self.unnumbered);
        (fetched > 0 && self.miss_ns > 0).then(|| self.miss_ns as f64 / fetched as f64)
    }

    /// Hits among the replies, 0 to 1; `None` without replies.
    pub fn ratio(&self) -> Option<f64> {
        (self.replies > 0).then(|| self.hits as f64 / self.replies as f64)
    }

    /// Bytes of hits among all bytes of bodies, 0 to 1; `None` without bytes.
    pub fn byte_ratio(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.hit_bytes as f64 / self.bytes as f64)
    }
}

/// A sample of heads that were judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeadCounts {
    /// Heads in the sample.
    pub judged: u64,
    /// Their faults, by the labels of bake-offs.
    pub faults: BTreeMap<String, u64>,
}

impl HeadCounts {
    /// Adds another sample.
    pub fn add(&mut self, other: &Self) {
        self.judged += other.judged;
        for (label, count) in &other.faults {
            *self.faults.entry(label.clone()).or_default() += count;
        }
    }
}

/// One kind of operation in one slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationCounts {
    /// Operations tried.
    pub tried: u64,
    /// Failed ones among them, by class.
    pub errors: BTreeMap<String, u64>,
    /// Bytes of file contents that good ones read or wrote.
    pub bytes: u64,
    /// Time spent in operations, from the first system call of each to its last.
    pub elapsed_ns: u64,
    /// CPU of the thread that made them and of the layer's processes meanwhile; in `calls` workloads of the process that
    /// made them, its children and its partner.
    pub cpu_ns: Option<u64>,
    /// Of that what was not used by what serves the directory, where something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_cpu_ns: Option<u64>,
    /// Histogram of the good ones' times, empty where only a batch of them was timed; stored as those of [`crate::EncodedTimes`].
    pub times: String,
    /// `files` workload, first contacts: what they consisted of by the layer's own account, all together, by the name of the
    /// step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps_ns: BTreeMap<String, u64>,
}

impl OperationCounts {
    /// As the counters of a slice that had nothing but this kind: its figures are those of the
    /// catalogue.
    pub fn alone(&self, label: &str) -> SliceCounters {
        SliceCounters {
            requests: self.tried,
            replies: self.tried.saturating_sub(self.errors.values().sum()),
            errors: self.errors.clone(),
            bytes: self.bytes,
            wall_ns: self.elapsed_ns,
            subject_cpu_ns: self.cpu_ns,
            front_cpu_ns: self.front_cpu_ns,
            operations: BTreeMap::from([(label.to_owned(), self.clone())]),
            ..SliceCounters::default()
        }
    }
}

/// What became of requests that the layer must refuse. They are in `requests`, and the refused ones
/// in `replies`, but their times are in no histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ViolationCounts {
    /// Asked for.
    pub planted: u64,
    /// Refused, by a status that means so.
    pub detected: u64,
    /// Answered as if nothing were wrong.
    pub missed: u64,
    /// Right requests that were refused; they are errors as well.
    pub false_alarms: u64,
}

impl ViolationCounts {
    /// Adds another slice's or thread's.
    pub fn add(&mut self, other: &Self) {
        self.planted += other.planted;
        self.detected += other.detected;
        self.missed += other.missed;
        self.false_alarms += other.false_alarms;
    }
}

/// What a shaped link did between the two quiet points around a slice, both ways together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkCounts {
    /// Share of the rate that the busier direction used in the slice's wall time. A little above 1
    /// is possible: what a link that was idle lets through at once.
    pub busy: Option<f64>,
    /// Frames that reached the link.
    pub packets: u64,
    /// Of them lost as the plan says.
    pub lost: u64,
    /// Packets thrown away because the queue in front of the link was full.
    pub overflowed: u64,
    /// Where a process of ours delays frames: how long each was on its way, from read to written,
    /// as an encoded histogram.
    pub delays: Option<String>,
    /// CPU of that process: nobody is charged for it. Receiving a frame is done in its writing of
    /// it, so TCP's work on both sides is in here.
    pub line_cpu_ns: Option<u64>,
}

/// Shares of all CPU time of the machine, 0 to 1, as in vmstat; pressure where the kernel has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostShare {
    /// us: user mode, niced included.
    pub user: f64,
    /// sy: kernel, interrupts included.
    pub system: f64,
    /// wa: idle with outstanding I/O.
    pub iowait: f64,
    /// st: taken by the hypervisor.
    pub steal: f64,
    /// Share of the wall time in which some task waited for a CPU.
    pub pressure_cpu: Option<f64>,
    /// The same for I/O.
    pub pressure_io: Option<f64>,
    /// The same for memory.
    pub pressure_memory: Option<f64>,
}

/// Memory, I/O and switches of the subject's processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectUsage {
    /// Resident memory at the end of the slice.
    pub rss_bytes: Option<u64>,
    /// Read from storage during the slice.
    pub disk_read_bytes: Option<u64>,
    /// Written to storage during the slice.
    pub disk_write_bytes: Option<u64>,
    /// Voluntary and involuntary context switches during the slice.
    pub context_switches: Option<u64>,
    /// Processes at the end of the slice.
    pub processes: Option<u64>,
}

impl SliceCounters {
    /// The sum of slices, one after the other.
    pub fn sum<'c>(slices: impl IntoIterator<Item = &'c Self>) -> Self {
        slices.into_iter().fold(Self::default(), |mut sum, slice| {
            sum.add_part(slice);
            sum
        })
    }

    /// The class with most failures: how many, and the first of them.
    pub fn most_failures(&self) -> Option<String> {
        let (class, count) = self.errors.iter().max_by_key(|(_, count)| **count)?;
        let example = self.examples.get(class).map_or(String::new(), |words| format!(", such as {words}"));
        Some(format!("{class} ({count} times{example})"))
    }

    /// Adds a further part of the same slice: counts and times add up, shares are means by wall time, states are the
    /// later part's.
    pub fn add_part(&mut self, part: &Self) {
        let (old, new) = (self.wall_ns as f64, part.wall_ns as f64);
        let mean = |a: f64, b: f64| if old + new > 0.0 { (a * old + b * new) / (old + new) } else { a };
        let means = |a: Option<f64>, b: Option<f64>| Some(mean(a?, b?));
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        self.generator_busy = mean(self.generator_busy, part.generator_busy);
        self.subject_busy = means(self.subject_busy, part.subject_busy);
        self.idle_arms_busy = mean(self.idle_arms_busy, part.idle_arms_busy);
        self.disk_busy = means(self.disk_busy, part.disk_busy);
        self.storage_limit_used = means(self.storage_limit_used, part.storage_limit_used);
        let (host, more) = (&mut self.host, &part.host);
        host.user = mean(host.user, more.user);
        host.system = mean(host.system, more.system);
        host.iowait = mean(host.iowait, more.iowait);
        host.steal = mean(host.steal, more.steal);
        host.pressure_cpu = means(host.pressure_cpu, more.pressure_cpu);
        host.pressure_io = means(host.pressure_io, more.pressure_io);
        host.pressure_memory = means(host.pressure_memory, more.pressure_memory);
        self.requests += part.requests;
        self.replies += part.replies;
        self.bytes += part.bytes;
        self.wall_ns += part.wall_ns;
        self.connections += part.connections;
        self.postponed += part.postponed;
        self.cut += part.cut;
        self.generator_cpu_ns += part.generator_cpu_ns;
        self.subject_cpu_ns = sum(self.subject_cpu_ns, part.subject_cpu_ns);
        self.softirq_cpu_ns = sum(self.softirq_cpu_ns, part.softirq_cpu_ns);
        self.throttled_ns = sum(self.throttled_ns, part.throttled_ns);
        self.memory_limit_hits = sum(self.memory_limit_hits, part.memory_limit_hits);
        for (class, count) in &part.errors {
            *self.errors.entry(class.clone()).or_default() += count;
        }
        for (class, words) in &part.examples {
            self.examples.entry(class.clone()).or_insert_with(|| words.clone());
        }
        for (name, count) in &part.refused {
            *self.refused.entry(name.clone()).or_default() += count;
        }
        for (status, count) in &part.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        if let Some(more) = &part.handshakes {
            self.handshakes.get_or_insert_default().add(more);
        }
        if let Some(more) = &part.hits {
            self.hits.get_or_insert_default().add(more);
        }
        if let Some(more) = &part.heads {
            self.heads.get_or_insert_default().add(more);
        }
        self.front_cpu_ns = sum(self.front_cpu_ns, part.front_cpu_ns);
        self.program_runs = sum(self.program_runs, part.program_runs);
        self.program_ns = sum(self.program_ns, part.program_ns);
        if let Some(more) = &part.violations {
            self.violations.get_or_insert_default().add(more);
        }
        let (usage, more) = (&mut self.usage, &part.usage);
        usage.disk_read_bytes = sum(usage.disk_read_bytes, more.disk_read_bytes);
        usage.disk_write_bytes = sum(usage.disk_write_bytes, more.disk_write_bytes);
        usage.context_switches = sum(usage.context_switches, more.context_switches);
        (usage.rss_bytes, usage.processes) = (more.rss_bytes, more.processes);
    }

    /// Adds the counts of others at the same time.
    pub fn add_beside(&mut self, other: &Self) {
        let wall_ns = self.wall_ns.max(other.wall_ns);
        let generator_busy = (self.generator_busy + other.generator_busy).min(1.0);
        self.add_part(other);
        (self.wall_ns, self.generator_busy) = (wall_ns, generator_busy);
    }

    /// CPU of the server behind all fronts.
    pub fn server_cpu_ns(&self) -> Option<u64> {
        Some(self.subject_cpu_ns?.saturating_sub(self.front_cpu_ns?))
    }

    /// Number of failures of all classes.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Number of refusals of all names.
    pub fn refused_count(&self) -> u64 {
        self.refused.values().sum()
    }

    /// Counts one failure.
    pub fn count_error(&mut self, class: ErrorClass) {
        *self.errors.entry(class.as_str().to_owned()).or_default() += 1;
    }

    /// Wall time in seconds.
    pub fn wall_secs(&self) -> f64 {
        self.wall_ns as f64 / 1e9
    }

    /// `total` per request, `None` without requests.
    pub fn per_request(&self, total: u64) -> Option<f64> {
        (self.requests > 0).then(|| total as f64 / self.requests as f64)
    }

    /// Utilisation of the link: its busier direction, as a share of its rate.
    pub fn link_busy(&self) -> Option<f64> {
        self.link.as_ref()?.busy
    }

    /// Subject + generator + uncharged soft interrupts.
    pub fn path_cpu_ns(&self) -> Option<u64> {
        Some(self.subject_cpu_ns? + self.generator_cpu_ns + self.softirq_cpu_ns.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_slice_add_up_and_shares_are_means_by_time() {
        let part = |wall_ns, busy, cpu| SliceCounters {
            requests: 10,
            wall_ns,
            generator_busy: busy,
            subject_cpu_ns: cpu,
            statuses: BTreeMap::from([(200, 9), (404, 1)]),
            ..SliceCounters::default()
        };
        let mut slice = part(100, 0.5, Some(7));
        slice.add_part(&part(300, 0.9, Some(5)));
        assert_eq!((slice.requests, slice.wall_ns, slice.subject_cpu_ns), (20, 400, Some(12)));
        assert_eq!(slice.statuses, BTreeMap::from([(200, 18), (404, 2)]));
        assert!((slice.generator_busy - 0.8).abs() < 1e-12);
        slice.add_part(&part(1, 0.0, None));
        assert_eq!(slice.subject_cpu_ns, None, "what is not known of a part is not known of the slice");
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        assert_eq!(SliceCounters::default().per_request(5), None);
        assert_eq!(SliceCounters::default().path_cpu_ns(), None);
    }
}
