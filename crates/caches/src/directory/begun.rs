//! Record of the run under way, from which a killed run is rebuilt with its intervals.
//!
//! Measuring side, cold.

use crate::records::{IntervalLine, KILLED, PhaseLine, PhaseUsage, RunRecord};
use bakeoff_results::directory::{DirectoryError, ResultsDir, text_of, unreadable};
use bakeoff_robots::Spec;
use bakeoff_robots::ledger::{LedgerRecord, RecordScope};
use bakeoff_robots::phases::EndReason;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The run that began last.
const BEGUN: &str = "begun.json";

/// The run that has begun: see the module.
#[derive(Serialize, Deserialize)]
pub(super) struct Begun {
    run: u32,
    /// Its entrant and purpose; no phases.
    record: RunRecord,
    phases: Vec<Planned>,
}

#[derive(Serialize, Deserialize)]
struct Planned {
    name: String,
    measured: bool,
    /// Only time ends it.
    timed: bool,
}

impl Begun {
    pub(super) fn write(
        dir: &ResultsDir,
        run: u32,
        record: RunRecord,
        spec: &Spec,
    ) -> Result<(), DirectoryError> {
        let phases = spec.phases.iter().map(|phase| {
            let goal = &phase.goal;
            let timed = goal.duration.is_some() && goal.transactions.is_none() && goal.fill_bytes.is_none();
            Planned { name: phase.name.clone(), measured: phase.measured, timed }
        });
        dir.write_json(BEGUN, &Self { run, record, phases: phases.collect() })
    }

    /// The run of a directory that began and did not end, rebuilt from its intervals. Older directories do not record
    /// what began.
    pub(super) fn left(
        dir: &Path,
        ended: usize,
        intervals: &[IntervalLine],
    ) -> Result<Option<RunRecord>, DirectoryError> {
        let Some(text) = text_of(dir, BEGUN)? else { return Ok(None) };
        let begun: Self = serde_json::from_str(&text).map_err(|why| unreadable(dir, BEGUN, why))?;
        let of_it: Vec<&IntervalLine> = intervals.iter().filter(|line| line.run == begun.run).collect();
        Ok((begun.run as usize == ended && !of_it.is_empty()).then(|| begun.told_by(&of_it)))
    }

    fn told_by(self, intervals: &[&IntervalLine]) -> RunRecord {
        let mut phases: Vec<PhaseLine> = Vec::new();
        for line in intervals {
            match phases.last_mut().filter(|phase| phase.phase.phase == line.interval.phase) {
                Some(phase) => append(phase, line),
                None => {
                    // The phase before had come to its end.
                    if let Some(before) = phases.last_mut() {
                        before.ended = self.ends(&before.phase.phase);
                    }
                    phases.push(self.phase(line));
                }
            }
        }
        RunRecord { phases, of_intervals: true, ended: KILLED.to_owned(), ..self.record }
    }

    fn planned(&self, name: &str) -> Option<&Planned> {
        self.phases.iter().find(|planned| planned.name == name)
    }

    /// The end of a phase that another followed, if only one is possible.
    fn ends(&self, name: &str) -> Option<EndReason> {
        self.planned(name).filter(|planned| planned.timed).map(|_| EndReason::Duration)
    }

    fn phase(&self, first: &IntervalLine) -> PhaseLine {
        PhaseLine {
            measured: self.planned(&first.interval.phase).is_some_and(|planned| planned.measured),
            phase: LedgerRecord { scope: RecordScope::Phase, ..first.interval.clone() },
            ended: None,
            used: PhaseUsage { cache_cpu_ns: first.cache_cpu_ns, ..PhaseUsage::default() },
            achievable: None,
        }
    }
}

fn append(line: &mut PhaseLine, more: &IntervalLine) {
    let (phase, more_of_it) = (&mut line.phase, &more.interval);
    phase.sums.append(&more_of_it.sums);
    (phase.number, phase.ended_ns, phase.progress) =
        (more_of_it.number, more_of_it.ended_ns, more_of_it.progress);
    line.used.cache_cpu_ns =
        line.used.cache_cpu_ns.zip(more.cache_cpu_ns).map(|(before, more)| before + more);
}
