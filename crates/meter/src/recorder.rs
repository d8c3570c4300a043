//! Recorder of a generator thread. One per thread, no locks, merged at the end of a slice.

use crate::{DecodeError, ErrorClass, Histogram, SliceCounters};
use bakeoff_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The six times that are kept as histograms.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// From the moment the request was due to the last byte of the reply.
    pub response: Histogram,
    /// From the moment the request was sent to the last byte of the reply.
    pub service: Histogram,
    /// From the moment the request was sent to the first byte of the reply.
    pub first_byte: Histogram,
    /// TCP connection set-up, with that of the tunnel through a proxy where it goes through one.
    pub connect: Histogram,
    /// TLS handshake, after the connection stood.
    pub handshake: Histogram,
    /// From the moment a request was due to the moment it was sent, while a connection was free:
    /// how late the generator itself was.
    pub lateness: Histogram,
}

/// The times of one good reply.
#[derive(Clone, Copy, Debug)]
pub struct ReplyTimes {
    /// When it should have been sent.
    pub due: Nanos,
    /// When its first byte was handed to the kernel.
    pub sent: Nanos,
    /// When the first byte of the reply was seen.
    pub first_byte: Nanos,
    /// When its last byte was seen.
    pub done: Nanos,
}

/// A thread's record of a slice.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Histograms.
    pub times: Times,
    /// Counters; the readers of CPU and machine fill in those fields.
    pub counters: SliceCounters,
    statuses: StatusCounts,
    errors: [u64; ErrorClass::ALL.len()],
    examples: BTreeMap<ErrorClass, String>,
    refused: BTreeMap<RequestRefusal, u64>,
}

/// The way in which a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestRefusal {
    /// By a reply with this status.
    Status(u16),
    /// By an ending that is otherwise a failure.
    Class(ErrorClass),
}

impl RequestRefusal {
    /// Its name in counters: `429`, `reset`.
    pub fn label(self) -> String {
        match self {
            Self::Status(status) => status.to_string(),
            Self::Class(class) => class.as_str().to_owned(),
        }
    }
}

/// Statuses 100 to 599 without a map lookup per reply; others count as 0.
#[derive(Clone, Debug)]
struct StatusCounts(Box<[u64; 600]>);

impl Default for StatusCounts {
    fn default() -> Self {
        Self(Box::new([0; 600]))
    }
}

impl Recorder {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// A good reply of `bytes` bytes, head included.
    pub fn reply(&mut self, status: u16, bytes: u64, times: ReplyTimes) {
        self.counters.requests += 1;
        self.counters.replies += 1;
        self.counters.bytes += bytes;
        self.status(status);
        self.times.response.record(times.done.since(times.due));
        self.times.service.record(times.done.since(times.sent));
        self.times.first_byte.record(times.first_byte.since(times.sent));
    }

    /// A reply to a planted violation: refused (detected), or answered as if nothing were wrong.
    /// Its time enters no histogram.
    pub fn violation(&mut self, status: u16, bytes: u64, detected: bool) {
        self.counters.requests += 1;
        self.counters.replies += 1;
        self.counters.bytes += bytes;
        self.status(status);
        let counts = self.counters.violations.get_or_insert_default();
        counts.planted += 1;
        *if detected { &mut counts.detected } else { &mut counts.missed } += 1;
    }

    /// A right request that the layer refused; it is counted as an error as well.
    pub fn false_alarm(&mut self) {
        self.counters.violations.get_or_insert_default().false_alarms += 1;
    }

    /// A request that failed. Its time enters no histogram.
    pub fn error(&mut self, class: ErrorClass) {
        self.counters.requests += 1;
        self.errors[class as usize] += 1;
    }

    /// The first failure of a class, which has just been counted, in words.
    pub fn example(&mut self, class: ErrorClass, words: impl FnOnce() -> String) {
        if self.errors[class as usize] == 1 {
            self.examples.entry(class).or_insert_with(words);
        }
    }

    /// A request that was refused as the plan expects. Its time enters no histogram.
    pub fn refused(&mut self, refusal: RequestRefusal) {
        self.counters.requests += 1;
        *self.refused.entry(refusal).or_default() += 1;
        if let RequestRefusal::Status(status) = refusal {
            self.status(status);
        }
    }

    /// The status of a reply that counts as an error.
    pub fn status(&mut self, status: u16) {
        let index = usize::from(status);
        let index = if index < self.statuses.0.len() { index } else { 0 };
        self.statuses.0[index] += 1;
    }

    /// Adds the records of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        let (mine, theirs) = (&mut self.counters, &other.counters);
        mine.requests += theirs.requests;
        mine.replies += theirs.replies;
        mine.bytes += theirs.bytes;
        mine.connections += theirs.connections;
        mine.postponed += theirs.postponed;
        if let Some(theirs) = &theirs.violations {
            mine.violations.get_or_insert_default().add(theirs);
        }
        for (sum, more) in self.statuses.0.iter_mut().zip(other.statuses.0.iter()) {
            *sum += more;
        }
        for (sum, more) in self.errors.iter_mut().zip(other.errors) {
            *sum += more;
        }
        for (class, words) in &other.examples {
            self.examples.entry(*class).or_insert_with(|| words.clone());
        }
        for (refusal, more) in &other.refused {
            *self.refused.entry(*refusal).or_default() += more;
        }
    }

    /// Ends recording: the counters with statuses and error classes spelled out.
    pub fn finish(mut self) -> (Times, SliceCounters) {
        for (status, &count) in self.statuses.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.counters.statuses.insert(status as u16, count);
        }
        for class in ErrorClass::ALL.into_iter().filter(|class| self.errors[*class as usize] > 0) {
            self.counters.errors.insert(class.as_str().to_owned(), self.errors[class as usize]);
        }
        self.counters.examples =
            self.examples.into_iter().map(|(class, words)| (class.as_str().to_owned(), words)).collect();
        self.counters.refused =
            self.refused.iter().map(|(refusal, count)| (refusal.label(), *count)).collect();
        (self.times, self.counters)
    }
}

/// [`Times`] as they stand in a results directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EncodedTimes {
    /// HdrHistogram V2, deflated, base64; nanoseconds; empty when nothing was counted. As all below.
    pub response: String,
    /// See [`Times::service`].
    pub service: String,
    /// See [`Times::first_byte`].
    pub first_byte: String,
    /// See [`Times::connect`].
    pub connect: String,
    /// See [`Times::handshake`].
    pub handshake: String,
    /// See [`Times::lateness`].
    pub lateness: String,
}

impl Times {
    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.lateness.merge(&other.lateness);
    }

    /// The stored form.
    pub fn encode(&self) -> EncodedTimes {
        EncodedTimes {
            response: self.response.encode(),
            service: self.service.encode(),
            first_byte: self.first_byte.encode(),
            connect: self.connect.encode(),
            handshake: self.handshake.encode(),
            lateness: self.lateness.encode(),
        }
    }
}

impl EncodedTimes {
    /// Reads the stored form back.
    ///
    /// # Errors
    /// When one of the texts is no histogram.
    pub fn decode(&self) -> Result<Times, DecodeError> {
        Ok(Times {
            response: Histogram::decode(&self.response)?,
            service: Histogram::decode(&self.service)?,
            first_byte: Histogram::decode(&self.first_byte)?,
            connect: Histogram::decode(&self.connect)?,
            handshake: Histogram::decode(&self.handshake)?,
            lateness: Histogram::decode(&self.lateness)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_never_enters_a_histogram_and_nothing_is_lost() {
        let mut one = Recorder::new();
        let times = ReplyTimes {
            due: Nanos::new(1_000),
            sent: Nanos::new(3_000),
            first_byte: Nanos::new(4_000),
            done: Nanos::new(5_000),
        };
        one.reply(200, 700, times);
        one.error(ErrorClass::Timeout);
        let mut two = Recorder::new();
        two.error(ErrorClass::Timeout);
        two.status(503);
        two.error(ErrorClass::ServerError);
        two.violation(403, 90, true);
        two.violation(200, 700, false);
        one.merge(&two);
        let (times, counters) = one.finish();
        assert_eq!((counters.requests, counters.replies, counters.error_count()), (6, 3, 3));
        let seen = counters.violations.unwrap();
        assert_eq!((seen.planted, seen.detected, seen.missed, seen.false_alarms), (2, 1, 1, 0));
        assert_eq!(counters.errors["timeout"], 2);
        assert_eq!(counters.statuses[&503], 1);
        assert_eq!((times.response.count(), times.service.count()), (1, 1));
        assert_eq!(times.response.quantile(0.5).get() / 10, 400);
        assert_eq!(times.service.quantile(0.5).get() / 10, 200);
        let back = times.encode().decode().unwrap();
        assert_eq!(back.response.buckets(), times.response.buckets());
    }
}
