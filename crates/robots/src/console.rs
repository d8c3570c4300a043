//! The console line that Web Polygraph prints for each interval and phase, in two generations of its format.
//!
//! Measuring side, cold: a few bytes every few seconds. Owns columns and widths; the figures are the
//! record's. Two things are ours: times run from the moment a request was due, and errors are requests that
//! failed (what a cache did wrong in a reply that could be used stands in the record's faults).

use crate::ledger::{LedgerRecord, RecordScope};
use bakeoff_units::Nanos;
use std::fmt;

/// The columns of one generation of Web Polygraph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// As Polygraph 4.9.0: minutes since the start, with the mean response time.
    #[default]
    Polygraph4,
    /// As Polygraph 1.0p7, the columns of 1999: UNIX time, no response time. Its column widths are not known; these are
    /// those of 4.9.0.
    Polygraph1,
}

/// The fields of one line. Undefined values are written as -1.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsoleLine {
    /// Since the start of the run.
    pub at: Nanos,
    /// Since 1970.
    pub at_unix: Nanos,
    /// Whether it is the total of a phase, not an interval.
    pub total: bool,
    /// The phase.
    pub phase: String,
    /// Good replies so far in the run.
    pub replies: u64,
    /// Good replies a second.
    pub rate: Option<f64>,
    /// Mean response time in milliseconds.
    pub response_ms: Option<f64>,
    /// Share of hits, 0 to 1.
    pub hit_ratio: Option<f64>,
    /// Failed requests.
    pub errors: u64,
    /// Open sockets; left out of a phase's line.
    pub sockets: u64,
}

impl ConsoleLine {
    /// The line of a record. `began_unix` is when the run began, `sockets` the number of sockets open now.
    pub fn of(record: &LedgerRecord, began_unix: Nanos, sockets: u64) -> Self {
        let at = Nanos::new(record.ended_ns);
        Self {
            at,
            at_unix: began_unix + at,
            total: !matches!(record.scope, RecordScope::Beat | RecordScope::Interval),
            phase: record.phase.clone(),
            replies: record.progress,
            rate: record.replies_per_second(),
            response_ms: record.sums.replies.traffic.response_ns.mean().map(|ns| ns / 1e6),
            hit_ratio: record.sums.document_hit_ratio(),
            errors: record.sums.failed,
            sockets,
        }
    }

    /// The text, without a line's end.
    pub fn text(&self, generation: Generation) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = self.write(generation, &mut text);
        text
    }

    fn write(&self, generation: Generation, out: &mut String) -> fmt::Result {
        use fmt::Write as _;
        match generation {
            Generation::Polygraph4 => write!(out, "{:06.2}| ", self.at.as_secs_f64() / 60.0)?,
            Generation::Polygraph1 => {
                let micros = self.at_unix.get() / 1_000;
                write!(out, "{}.{:06}| ", micros / 1_000_000, micros % 1_000_000)?;
            }
        }
        let letter = if self.total { 'p' } else { 'i' };
        write!(out, "{letter}-{} {:6} {:6.2}", self.phase, self.replies, self.rate.unwrap_or(-1.0))?;
        if generation == Generation::Polygraph4 {
            write!(out, " {:6.0}", self.response_ms.map_or(-1.0, f64::round))?;
        }
        write!(out, " {:6.2} {:3}", self.hit_ratio.map_or(-1.0, |share| 100.0 * share), self.errors)?;
        if !self.total {
            write!(out, " {:4}", self.sockets)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Sums;

    /// Lines that Polygraph 4.9.0 printed.
    const PRINTED: &str = "\
000.02| p-wait      2   2.55    333   0.00   0
000.10| i-warm    419  83.70   1995   0.00   0  784
000.18| i-warm   1679 252.26   3018   0.00   0  727
000.20| p-warm   1894 186.67   2787   0.00   0
001.20| p-meas  16725 247.03   3046   0.00   0
001.26| i-cool  17670 234.22   3107   0.00   0  417
000.26| i-meas   3270 269.59   1839  40.58   0  430
000.34| i-meas   4502 246.44   1689  45.29   0  408
001.19| p-meas  17148 249.10   1530  49.89   0";

    /// Takes a printed line apart.
    fn read(text: &str) -> ConsoleLine {
        let (at, rest) = text.split_once("| ").unwrap();
        let mut fields = rest.split_whitespace();
        let (letter, phase) = fields.next().unwrap().split_once('-').unwrap();
        let numbers: Vec<f64> = fields.map(|field| field.parse().unwrap()).collect();
        ConsoleLine {
            at: Nanos::from_secs_f64(at.parse::<f64>().unwrap() * 60.0),
            at_unix: Nanos::ZERO,
            total: letter == "p",
            phase: phase.to_owned(),
            replies: numbers[0] as u64,
            rate: Some(numbers[1]),
            response_ms: Some(numbers[2]),
            hit_ratio: Some(numbers[3] / 100.0),
            errors: numbers[4] as u64,
            sockets: numbers.get(5).map_or(0, |sockets| *sockets as u64),
        }
    }

    #[test]
    fn lines_are_those_that_polygraph_printed() {
        for text in PRINTED.lines() {
            assert_eq!(read(text).text(Generation::Polygraph4), text);
        }
    }

    #[test]
    fn the_line_of_1999_has_unix_time_and_no_response_time() {
        let mut line = read("000.26| i-meas   3270 269.59   1839  40.58   0  430");
        line.at_unix = Nanos::new(941_664_604_000_000_000) + Nanos::from_micros(1_234);
        assert_eq!(
            line.text(Generation::Polygraph1),
            "941664604.001234| i-meas   3270 269.59  40.58   0  430"
        );
        line.total = true;
        assert_eq!(line.text(Generation::Polygraph1), "941664604.001234| p-meas   3270 269.59  40.58   0");
    }

    #[test]
    fn an_empty_record_has_no_mean_and_no_hit_ratio() {
        let record = LedgerRecord {
            worker: 0,
            scope: RecordScope::Interval,
            phase: "idle".to_owned(),
            number: 1,
            began_ns: 0,
            ended_ns: 6_000_000_000,
            progress: 7,
            sums: Sums::default(),
        };
        let line = ConsoleLine::of(&record, Nanos::from_secs(100), 3);
        assert_eq!(line.text(Generation::Polygraph4), "000.10| i-idle      7   0.00     -1  -1.00   0    3");
        assert_eq!(line.text(Generation::Polygraph1), "106.000000| i-idle      7   0.00  -1.00   0    3");
        let empty = LedgerRecord { ended_ns: 0, ..record };
        assert_eq!(ConsoleLine::of(&empty, Nanos::ZERO, 0).rate, None);
    }
}
