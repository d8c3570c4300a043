//! Barrier for the parts of a run: members, and the progress of each.
//!
//! Measuring side, the origin's process, cold: some words a phase. Owns the membership of runs and the refusals, and
//! keeps no more than a gathering and some runs, whatever strangers send. Knows no socket; time comes in.

use bakeoff_content::mix64;
use bakeoff_units::Nanos;
use bakeoff_wire::parts::{PartRefusal, PartReply, PartSet, PartStep, Word};
use std::collections::VecDeque;

/// A waiting part sends its word several times a second; one that was silent for so long counts as gone.
const SILENCE: Nanos = Nanos::from_secs(5);
/// Runs that are remembered; with one more the oldest is forgotten, and its parts go on without each other.
const MOST_RUNS: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
    gathering: Option<Gathering>,
    /// The oldest first.
    runs: VecDeque<Run>,
}

/// Parts of a run that has not begun.
#[derive(Debug)]
struct Gathering {
    plan: u64,
    /// By number.
    seats: Vec<Option<WaitingPart>>,
}

/// A part that waits.
#[derive(Clone, Copy, Debug)]
struct WaitingPart {
    who: u64,
    heard: Nanos,
}

/// A run of which all parts have been there.
#[derive(Debug)]
struct Run {
    id: u64,
    plan: u64,
    /// By number.
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    who: u64,
    /// Phases whose goals it has reached.
    steps: u32,
    gone: bool,
}

impl Barrier {
    /// The answer to this word, at this moment.
    pub(crate) fn hear(&mut self, word: &Word, now: Nanos) -> Result<PartReply, PartRefusal> {
        if let Some(run) = self.runs.iter_mut().find(|run| run.is_of(word)) {
            return Ok(run.hear(word));
        }
        match word.step {
            PartStep::Reached(0) => self.gather(word, now),
            PartStep::Reached(_) => Err(PartRefusal::Unknown),
            PartStep::Gone => Ok(self.leave(word)),
        }
    }

    fn gather(&mut self, word: &Word, now: Nanos) -> Result<PartReply, PartRefusal> {
        let others = self.gathering.take_if(|others| others.forget_the_silent(now) > 0);
        let mut gathering = match others {
            Some(gathering) => gathering,
            None => Gathering { plan: word.plan, seats: vec![None; word.part.of().into()] },
        };
        let refused = gathering.seat(word, now).err();
        let here = gathering.here();
        if refused.is_none() && here == PartSet::all(word.part.of()) {
            let run = Run::of(&gathering);
            let id = run.id;
            if self.runs.len() == MOST_RUNS {
                self.runs.pop_front();
            }
            self.runs.push_back(run);
            return Ok(PartReply { run: Some(id), here, gone: PartSet::default() });
        }
        self.gathering = Some(gathering);
        refused.map_or(Ok(PartReply { run: None, here, gone: PartSet::default() }), Err)
    }

    /// A part that leaves no longer waits.
    fn leave(&mut self, word: &Word) -> PartReply {
        let seats = self.gathering.iter_mut().flat_map(|gathering| &mut gathering.seats);
        for seat in seats {
            if seat.is_some_and(|seat| seat.who == word.who) {
                *seat = None;
            }
        }
        PartReply::default()
    }
}

impl Gathering {
    /// Removes silent parts; returns how many are still there.
    fn forget_the_silent(&mut self, now: Nanos) -> usize {
        let is_silent = |seat: &mut WaitingPart| now.since(seat.heard) > SILENCE;
        self.seats.iter_mut().for_each(|seat| _ = seat.take_if(is_silent));
        self.seats.iter().flatten().count()
    }

    fn seat(&mut self, word: &Word, now: Nanos) -> Result<(), PartRefusal> {
        if self.plan != word.plan {
            return Err(PartRefusal::OtherPlan);
        }
        if self.seats.len() != usize::from(word.part.of()) {
            return Err(PartRefusal::OtherNumber);
        }
        let seat = self.seats.get_mut(place(word)).ok_or(PartRefusal::OtherNumber)?;
        if seat.is_some_and(|seat| seat.who != word.who) {
            return Err(PartRefusal::Taken);
        }
        *seat = Some(WaitingPart { who: word.who, heard: now });
        Ok(())
    }

    fn here(&self) -> PartSet {
        (1..).zip(&self.seats).filter(|(_, seat)| seat.is_some()).map(|(number, _)| number).collect()
    }
}

impl Run {
    /// Its number follows from its members.
    fn of(gathering: &Gathering) -> Self {
        let whose = gathering.seats.iter().flatten().map(|seat| seat.who);
        let member = |who| Member { who, steps: 0, gone: false };
        Self {
            id: whose.clone().fold(gathering.plan, |id, who| mix64(id ^ who)),
            plan: gathering.plan,
            members: whose.map(member).collect(),
        }
    }

    fn is_of(&self, word: &Word) -> bool {
        let is_alike = self.plan == word.plan && self.members.len() == usize::from(word.part.of());
        is_alike && self.members.get(place(word)).is_some_and(|member| member.who == word.who)
    }

    fn hear(&mut self, word: &Word) -> PartReply {
        let mut told = 0;
        if let Some(member) = self.members.get_mut(place(word)) {
            match word.step {
                PartStep::Reached(steps) => member.steps = member.steps.max(steps),
                PartStep::Gone => member.gone = true,
            }
            told = member.steps;
        }
        let those = |is: &dyn Fn(&Member) -> bool| -> PartSet {
            (1..).zip(&self.members).filter(|(_, member)| is(member)).map(|(number, _)| number).collect()
        };
        PartReply {
            run: Some(self.id),
            here: those(&|member| member.steps >= told),
            gone: those(&|member| member.gone),
        }
    }
}

/// The index of a part.
fn place(word: &Word) -> usize {
    usize::from(word.part.number()) - 1 // they are counted from 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_wire::parts::Part;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    fn word(part: &str, who: u64, steps: u32) -> Word {
        Word { plan: 7, part: part.parse::<Part>().unwrap(), who, step: PartStep::Reached(steps) }
    }

    fn numbers(set: PartSet) -> Vec<u8> {
        set.numbers().collect()
    }

    /// A barrier of two whose run has begun, and its number.
    fn begun() -> (Barrier, u64) {
        let mut barrier = Barrier::default();
        barrier.hear(&word("1/2", 11, 0), S(0)).unwrap();
        let id = barrier.hear(&word("2/2", 22, 0), S(1)).unwrap().run.unwrap();
        (barrier, id)
    }

    #[test]
    fn a_run_begins_when_all_are_there_and_all_hear_the_same_number() {
        let mut barrier = Barrier::default();
        let first = barrier.hear(&word("1/3", 11, 0), S(0)).unwrap();
        assert_eq!((first.run, numbers(first.here)), (None, vec![1]));
        let third = barrier.hear(&word("3/3", 33, 0), S(1)).unwrap();
        assert_eq!((third.run, numbers(third.here)), (None, vec![1, 3]));
        let second = barrier.hear(&word("2/3", 22, 0), S(2)).unwrap();
        assert!(second.run.is_some() && numbers(second.here) == [1, 2, 3]);
        for (part, who) in [("1/3", 11), ("3/3", 33), ("2/3", 22)] {
            assert_eq!(barrier.hear(&word(part, who, 0), S(3)).unwrap().run, second.run);
        }
        assert!(barrier.gathering.is_none());
    }

    #[test]
    fn who_does_not_belong_is_refused_by_name_and_disturbs_nobody() {
        let mut barrier = Barrier::default();
        barrier.hear(&word("1/2", 11, 0), S(0)).unwrap();
        for (wrong, refusal) in [
            (word("1/3", 33, 0), PartRefusal::OtherNumber),
            (word("3/3", 33, 0), PartRefusal::OtherNumber),
            (Word { plan: 8, ..word("2/2", 33, 0) }, PartRefusal::OtherPlan),
            (word("1/2", 33, 0), PartRefusal::Taken),
            (word("2/2", 33, 1), PartRefusal::Unknown),
        ] {
            assert_eq!(barrier.hear(&wrong, S(1)), Err(refusal));
        }
        assert!(barrier.hear(&word("2/2", 22, 0), S(2)).unwrap().run.is_some());
    }

    #[test]
    fn a_seat_whose_owner_is_silent_or_has_left_is_free() {
        let mut barrier = Barrier::default();
        barrier.hear(&word("1/2", 11, 0), S(0)).unwrap();
        assert_eq!(barrier.hear(&word("1/2", 12, 0), S(5)), Err(PartRefusal::Taken));
        let again = barrier.hear(&word("1/2", 12, 0), S(6)).unwrap();
        assert_eq!(numbers(again.here), [1]);
        // Nobody is left of the two: another number may gather.
        assert!(barrier.hear(&word("1/3", 13, 0), S(12)).is_ok());
        barrier.hear(&Word { step: PartStep::Gone, ..word("1/3", 13, 0) }, S(12)).unwrap();
        assert!(barrier.hear(&word("1/2", 14, 0), S(12)).is_ok());
    }

    #[test]
    fn a_step_is_of_all_when_the_last_has_come_to_it() {
        let (mut barrier, id) = begun();
        let early = barrier.hear(&word("1/2", 11, 1), S(2)).unwrap();
        assert_eq!((early.run, numbers(early.here)), (Some(id), vec![1]));
        let late = barrier.hear(&word("2/2", 22, 1), S(3)).unwrap();
        assert_eq!(numbers(late.here), [1, 2]);
        // A part further ahead counts as there, and none goes back.
        assert_eq!(numbers(barrier.hear(&word("1/2", 11, 3), S(4)).unwrap().here), [1]);
        assert_eq!(numbers(barrier.hear(&word("2/2", 22, 2), S(5)).unwrap().here), [1, 2]);
        assert_eq!(numbers(barrier.hear(&word("1/2", 11, 1), S(6)).unwrap().here), [1], "it has told of 3");
    }

    #[test]
    fn one_that_has_gone_is_told_to_the_others() {
        let (mut barrier, _) = begun();
        let gone = Word { step: PartStep::Gone, ..word("2/2", 22, 0) };
        assert_eq!(numbers(barrier.hear(&gone, S(2)).unwrap().gone), [2]);
        let other = barrier.hear(&word("1/2", 11, 1), S(3)).unwrap();
        assert_eq!((numbers(other.here), numbers(other.gone)), (vec![1], vec![2]));
    }

    #[test]
    fn what_is_kept_is_bounded_and_who_is_forgotten_hears_that() {
        let mut barrier = Barrier::default();
        for run in 0..100 {
            for (part, who) in [("1/2", 2 * run), ("2/2", 2 * run + 1)] {
                barrier.hear(&word(part, who, 0), S(run)).unwrap();
            }
        }
        assert_eq!(barrier.runs.len(), MOST_RUNS);
        assert_eq!(barrier.hear(&word("1/2", 0, 1), S(100)), Err(PartRefusal::Unknown));
        assert!(barrier.hear(&word("1/2", 198, 1), S(100)).is_ok());
        let of_most = barrier.hear(&word("64/64", 5, 0), S(100)).unwrap();
        assert_eq!(numbers(of_most.here), [64]);
    }
}
