//! Part of a run that several processes make: it meets the others at the origin, and keeps in step with them.
//!
//! Measuring side, cold: beside the robots' thread. Owns the messages to the origin, the meeting points, and the time
//! limit of a wait. The end of a phase is defined by the robots' schedule.

use super::error::{CachesError, PartsError};
use super::fresh_world;
use super::progress::BakeoffProgress;
use super::tally::{Elsewhere, ask, status, taken_apart};
use crate::plan::CachePlan;
use bakeoff_content::ObjectId;
use bakeoff_robots::PartsGate;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_wire::parts::{Part, PartRefusal, PartReply, PartSet, PartStep, Word};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval of questions from a part that waits: its phases may begin this much after those of the others.
const PAUSE: Duration = Duration::from_millis(50);

/// This process among the parts of a run.
#[derive(Debug)]
pub(crate) struct Member {
    origin: Elsewhere,
    word: Word,
    wait: Nanos,
    /// Gate at which its phases are held.
    pub(crate) gate: PartsGate,
}

impl Member {
    /// A part that has not announced itself yet. `wait`: time that it waits for others, at the start and at the end of
    /// a phase.
    pub(crate) fn new(origin: &Elsewhere, part: Part, plan: &CachePlan, wait: Nanos) -> Self {
        let word = Word { plan: common(plan), part, who: fresh_world(plan.seed), step: PartStep::Reached(0) };
        Self { origin: origin.clone(), word, wait, gate: PartsGate::new(wait) }
    }

    pub(crate) const fn part(&self) -> Part {
        self.word.part
    }

    /// Waits until all parts are there; the number of their run, which no other run has.
    pub(crate) fn gather(
        &self,
        interrupted: &AtomicBool,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<u64, CachesError> {
        let began = Instant::now();
        let mut told = self.all();
        loop {
            let answer = self.tell(PartStep::Reached(0))?;
            if let Some(run) = answer.run {
                return Ok(run);
            }
            let missing = self.all().without(answer.here);
            if missing != told {
                progress.stage(&format!("waiting for part {missing} of {}", self.part().of()));
                told = missing;
            }
            if interrupted.load(Ordering::Relaxed) {
                self.leave();
                return Err(CachesError::Interrupted);
            }
            if began.elapsed() >= self.wait.as_duration() {
                self.leave();
                let (waited, of) = (self.wait, self.part().of());
                return Err(PartsError::Missing { waited, missing, of }.into());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Reports this part's progress, and lets it go on when all have come as far: until its robots have ended. Returns
    /// the others that it went on without.
    pub(crate) fn keep_in_step(&self, is_over: &AtomicBool) -> PartSet {
        let mut others = Others::default();
        loop {
            // In this order: steps reached until it was over are reported.
            let over = is_over.load(Ordering::Acquire);
            let alone = self.gate.is_alone();
            let steps = self.gate.reached();
            let waits = !alone && !over && !self.gate.is_let_go(steps);
            if steps > others.told || waits {
                self.ask_of(&mut others, steps);
            }
            if alone {
                others.without = others.without.and(std::mem::take(&mut others.missing));
            }
            if over {
                return others.without;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Lets this part go on when all others are there, or gone.
    fn ask_of(&self, others: &mut Others, steps: u32) {
        let answer = match self.tell(PartStep::Reached(steps)) {
            Ok(answer) => answer,
            Err(PartsError::Refused { .. }) => {
                others.missing = self.all().without(PartSet::from_iter([self.part().number()]));
                return self.gate.go_alone();
            }
            // It is asked again; the robots do not wait for ever.
            Err(PartsError::Missing { .. } | PartsError::Origin { .. }) => return,
        };
        others.hear(steps, self.all(), &answer);
        if others.missing.is_empty() {
            self.gate.let_go(steps);
        }
    }

    fn all(&self) -> PartSet {
        PartSet::all(self.part().of())
    }

    /// Reports that this part has ended before its time.
    pub(crate) fn leave(&self) {
        // A part that does not hear it waits in vain, and then goes on.
        let _ = self.tell(PartStep::Gone);
    }

    fn tell(&self, step: PartStep) -> Result<PartReply, PartsError> {
        let Elsewhere { address, tls, .. } = &self.origin;
        let address = *address;
        let failed = |why| PartsError::Origin { address, why };
        let mut target = Vec::new();
        Word { step, ..self.word }.write(&mut target);
        let reply = ask(address, tls.as_ref(), "PUT", &String::from_utf8_lossy(&target)).map_err(failed)?;
        let (head, body) = taken_apart(&reply);
        let unread = || {
            let why =
                "its answer is none; let both ends be the same version of bakeoff, and give it a --plan";
            failed(io::Error::new(io::ErrorKind::InvalidData, why))
        };
        match status(head) {
            Some(200) => PartReply::parse(body.as_bytes()).ok_or_else(unread),
            Some(409) => {
                let refusal = PartRefusal::parse(body.as_bytes()).ok_or_else(unread)?;
                Err(PartsError::Refused { part: self.part(), refusal })
            }
            _ => Err(unread()),
        }
    }
}

/// State of the other parts while robots are at work.
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    /// Progress of this part that they can know.
    told: u32,
    /// Parts that are still waited for.
    missing: PartSet,
    /// Parts that are no longer waited for.
    without: PartSet,
}

impl Others {
    fn hear(&mut self, steps: u32, all: PartSet, answer: &PartReply) {
        let behind = all.without(answer.here);
        let gone = behind.without(behind.without(answer.gone));
        *self = Self { told: steps, missing: behind.without(gone), without: self.without.and(gone) };
    }
}

/// A hash of all settings that the parts must have in common.
fn common(plan: &CachePlan) -> u64 {
    let rate = plan.schedule.known_highest().map_or(0.0, PerSecond::get);
    let text = format!("{} {} {rate} {}\n{}", env!("CARGO_PKG_VERSION"), plan.scale, plan.seed, plan.text);
    ObjectId::of_name(text.as_bytes()).get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanChanges;

    fn plan(seed: u64, rate: &str) -> CachePlan {
        let text = format!(
            "[bakeoff]\ntitle = \"T\"\nproducts = [\"none\"]\nrate = \"10/s\"\nhit_ratio = \"55%\"\nseed = {seed}\n[robots]\n\
             [[content]]\nname = \"any\"\nsize = \"exp:2KB\"\n[[phase]]\nname = \"m\"\ngoal = {{ transactions = 10 }}\n"
        );
        let changes = PlanChanges { rate: rate.parse().ok(), ..PlanChanges::default() };
        CachePlan::parse("t", "t.toml", &text, &changes).unwrap()
    }

    #[test]
    fn parts_have_plan_and_rate_in_common() {
        assert_eq!(common(&plan(1, "10/s")), common(&plan(1, "10/s")));
        assert_ne!(common(&plan(1, "10/s")), common(&plan(1, "20/s")));
        assert_ne!(common(&plan(1, "10/s")), common(&plan(2, "10/s")));
    }

    #[test]
    fn those_that_are_behind_are_waited_for_unless_they_have_gone() {
        let set = |numbers: &[u8]| numbers.iter().copied().collect::<PartSet>();
        let mut others = Others::default();
        let mut after = |steps, here: &[u8], gone: &[u8]| {
            let answer = PartReply { run: Some(1), here: set(here), gone: set(gone) };
            others.hear(steps, PartSet::all(3), &answer);
            [others.missing, others.without].map(|parts| parts.to_string())
        };
        assert_eq!(after(1, &[1], &[]), ["2 and 3", "none"]);
        assert_eq!(after(1, &[1, 2, 3], &[]), ["none", "none"]);
        assert_eq!(after(2, &[1, 2], &[3]), ["none", "3"]);
        assert_eq!(after(3, &[1], &[3]), ["2", "3"]);
    }
}
