//! Fill of a store: decides when the store is full.
//!
//! Measuring side, cold: looks every two seconds while robots fill. Owns the times at which a gauge is read, and the
//! handling of one that cannot be read. CPU that products spend on the answer counts as theirs, hence the pause.

use super::error::CachesError;
use super::progress::BakeoffProgress;
use super::started::Started;
use super::tally::Counted;
use std::time::{Duration, Instant};

/// Pause from an answer to the next question.
const PAUSE: Duration = Duration::from_secs(2);

/// Share of its capacity from which a store counts as full: some products keep a little free.
const FULL: f64 = 0.97;

/// A store that is being filled.
pub(crate) struct Filling<'b> {
    entrant: &'b Started,
    /// Bytes sent by the origin that are enough for any store.
    enough_bytes: u64,
    /// Bytes that the origin had sent when it began.
    begun_bytes: u64,
    /// Time of the last answer.
    answered: Option<Instant>,
    unreadable: Option<String>,
}

impl<'b> Filling<'b> {
    /// Begins with the origin's bytes so far.
    pub(super) fn begin(
        entrant: &'b Started,
        enough_bytes: u64,
        origin: &dyn Counted,
    ) -> Result<Self, CachesError> {
        let begun_bytes = origin.tally()?.0.body_bytes;
        Ok(Self { entrant, enough_bytes, begun_bytes, answered: None, unreadable: None })
    }

    /// The first error in reading the gauge, if there was one.
    pub(super) fn unreadable(self) -> Option<String> {
        self.unreadable
    }

    /// Whether it is full, or was sent as much as makes sure. "No" while it is too early to look.
    pub(super) fn is_full(
        &mut self,
        origin: &dyn Counted,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<bool, CachesError> {
        if !is_due(self.answered, Instant::now()) {
            return Ok(false);
        }
        let full = self.gauge_says_full(progress) || self.was_sent(origin)? >= self.enough_bytes;
        self.answered = Some(Instant::now());
        Ok(full)
    }

    fn gauge_says_full(&mut self, progress: &mut dyn BakeoffProgress) -> bool {
        match self.entrant.gauge() {
            None => false,
            Some(Ok(store)) => {
                let evicting = store.evictions.is_some_and(|evicted| evicted > 0);
                evicting || store.used_bytes as f64 >= FULL * store.capacity_bytes as f64
            }
            Some(Err(why)) => {
                let why = why.to_string();
                self.entrant.tell_unreadable(&why, progress);
                self.unreadable.get_or_insert(why);
                false
            }
        }
    }

    fn was_sent(&self, origin: &dyn Counted) -> Result<u64, CachesError> {
        Ok(origin.tally()?.0.body_bytes.saturating_sub(self.begun_bytes))
    }
}

fn is_due(answered: Option<Instant>, now: Instant) -> bool {
    answered.is_none_or(|at| now.saturating_duration_since(at) >= PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_asked_at_once_and_then_every_two_seconds() {
        let answered = Instant::now();
        let after = |millis| answered + Duration::from_millis(millis);
        assert!(is_due(None, answered));
        assert!(!is_due(Some(answered), after(250)) && !is_due(Some(answered), after(1_999)));
        assert!(is_due(Some(answered), after(2_000)));
    }
}
