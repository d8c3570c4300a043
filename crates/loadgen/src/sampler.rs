//! Samples of the number of requests in flight, at equal intervals of a job.
//!
//! Hot only in that it is asked in every turn of the loop: a comparison, and a push when a moment
//! has passed. Each worker has its own; the moments are the same for all, so that they can be added.

use bakeoff_units::Nanos;

/// Takes the number in flight at start, start + every, ... until the end of the job.
#[derive(Debug)]
pub(crate) struct Sampler {
    every: Nanos,
    next: Nanos,
    end: Nanos,
    seen: Vec<u32>,
}

impl Sampler {
    /// `every` above zero; without an end the job's last reply is it.
    pub(crate) fn new(start: Nanos, every: Nanos, until: Option<Nanos>) -> Self {
        let end = until.map_or(Nanos::MAX, |until| start + until);
        let expected = until.map_or(0, |until| until.get() / every.get().max(1) + 1);
        Self { every, next: start, end, seen: Vec::with_capacity(expected.min(100_000) as usize) }
    }

    /// Notes the number in flight since the last call, until now.
    pub(crate) fn note(&mut self, now: Nanos, in_flight: usize) {
        while self.next <= now && self.next < self.end {
            self.seen.push(in_flight as u32);
            self.next += self.every;
        }
    }

    /// One number a moment.
    pub(crate) fn finish(self) -> Vec<u32> {
        self.seen
    }
}

/// Adds a worker's numbers; a worker that ended sooner had nothing in flight any more.
pub(crate) fn add(sum: &mut Vec<u32>, worker: &[u32]) {
    sum.resize(sum.len().max(worker.len()), 0);
    for (sum, more) in sum.iter_mut().zip(worker) {
        *sum += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_has_the_number_that_held_then() {
        let ms = Nanos::from_millis;
        let mut sampler = Sampler::new(ms(100), ms(10), Some(ms(45)));
        sampler.note(ms(99), 9); // before the start
        sampler.note(ms(100), 0);
        sampler.note(ms(104), 1);
        sampler.note(ms(125), 3); // 110 and 120
        sampler.note(ms(1000), 7); // 130 and 140; 150 is past the end
        assert_eq!(sampler.finish(), [0, 3, 3, 7, 7]);
    }

    #[test]
    fn workers_add_up_moment_by_moment() {
        let mut sum = Vec::new();
        add(&mut sum, &[1, 2, 3]);
        add(&mut sum, &[10]);
        add(&mut sum, &[0, 0, 0, 4]);
        assert_eq!(sum, [11, 2, 3, 4]);
    }
}
