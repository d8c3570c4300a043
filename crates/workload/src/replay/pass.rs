//! Pass over a log, from its first line to its last.
//!
//! Hot between slices. Owns the order of steps (line, fields, request) and the counts of skipped lines; judges at the
//! end whether the log can be used.

use super::{Classifier, LogReader, LogSource, ReplayOptions, Replayable, SkipReason, Skips};
use crate::{Method, WorkloadError};
use bakeoff_wire::access_log::{Format, LineError, Stamp, detect, parse};

/// Number of lines that are looked at to tell the format.
const DETECT_LINES: usize = 200;

/// Summary of a log.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Its format, told or given.
    pub format: Format,
    /// Lines that are not blank.
    pub lines: u64,
    /// Requests that can be replayed.
    pub requests: u64,
    /// Counts of skipped lines.
    pub skips: Skips,
    /// In the log's own order: requests whose stamp lies before an earlier one's. They are sorted.
    pub out_of_order: u64,
    /// In the log's own order: jumps back of more than a minute. Time goes on from where it was.
    pub clock_steps: u64,
    /// In the log's own order: requests without a stamp. They take their predecessor's.
    pub unstamped: u64,
}

/// The walk.
pub(super) struct Pass {
    reader: LogReader,
    classifier: Classifier,
    format: Format,
    skips: Skips,
    lines: u64,
    requests: u64,
    /// Whether the lines have other fields than those of the log's beginning.
    has_other_fields: bool,
    current: (Method, u16, Option<u64>, Option<Stamp>),
}

impl Pass {
    pub(super) fn open(source: &LogSource, format: Option<Format>) -> Result<Self, WorkloadError> {
        let reader = LogReader::open(source)?;
        let format = match format {
            Some(format) => format,
            None => detect(reader.peek(DETECT_LINES)).map_err(|error| match error.lines {
                0 => WorkloadError::LogEmpty { log: source.name() },
                _ => WorkloadError::FormatUnknown { log: source.name(), source: error },
            })?,
        };
        let (classifier, skips) = (Classifier::default(), Skips::default());
        let current = (Method::Get, 0, None, None);
        Ok(Self {
            reader,
            classifier,
            format,
            skips,
            lines: 0,
            requests: 0,
            has_other_fields: false,
            current,
        })
    }

    /// Goes on to the next request; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool, WorkloadError> {
        while let Some(line) = self.reader.next_line()? {
            if let Some(are_the_same) = self.format.is_named_by(line.text) {
                self.has_other_fields = !are_the_same;
            }
            let entry = match line.too_long {
                true => Err(SkipReason::LineTooLong),
                false if self.has_other_fields && !line.text.starts_with(b"#") => {
                    Err(SkipReason::Line(LineError::OtherFields))
                }
                false => parse(self.format, line.text).map_err(SkipReason::Line),
            };
            if entry == Err(SkipReason::Line(LineError::Empty)) {
                continue;
            }
            self.lines += 1;
            let request = entry.and_then(|entry| {
                let method = self.classifier.clean(&entry)?;
                Ok((method, entry.status, entry.bytes, entry.at))
            });
            match request {
                Ok(request) => {
                    self.current = request;
                    self.requests += 1;
                    return Ok(true);
                }
                Err(reason) => self.skips.add(line.number, line.text, reason),
            }
        }
        Ok(false)
    }

    /// The request that [`Self::advance`] found.
    pub(super) fn request(&self) -> Replayable<'_> {
        let (method, status, bytes, at) = self.current;
        self.classifier.found(method, status, bytes, at)
    }

    /// Judges the log after its last line.
    pub(super) fn finish(
        self,
        source: &LogSource,
        options: &ReplayOptions,
    ) -> Result<Summary, WorkloadError> {
        let Self { format, skips, lines, requests, .. } = self;
        let (log, bad) = (source.name(), skips.unparsable());
        if lines == 0 {
            return Err(WorkloadError::LogEmpty { log });
        }
        let samples = skips.samples().to_vec();
        if bad as f64 / lines as f64 > options.max_unparsable.get() {
            let (limit, format) = (options.max_unparsable, format.as_str());
            return Err(WorkloadError::TooManyBadLines { log, format, bad, lines, limit, samples });
        }
        if requests == 0 {
            let reasons: Vec<String> =
                skips.by_label().iter().map(|(label, count)| format!("{label}: {count}")).collect();
            let reasons = reasons.join(", ");
            return Err(WorkloadError::NothingToReplay { log, lines, reasons, samples });
        }
        Ok(Summary { format, lines, requests, skips, out_of_order: 0, clock_steps: 0, unstamped: 0 })
    }
}
