//! Leases: when each far end was heard last, and which was lost first.
//!
//! Cold, pure: every moment is an argument. The first that was lost is named, whoever was waited for; what is lost after
//! it mostly is so because the run ends.

use bakeoff_units::Nanos;

/// Silence after which a far end is lost, and after which it ends by itself.
pub const LEASE: Nanos = Nanos::from_secs(6);

/// Reasons why a far end is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossCause {
    /// Nothing came from it for so long.
    Silent(Nanos),
    /// Its channel closed before it had said `stopped`.
    Closed,
}

/// The first far end that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Its index.
    pub(crate) end: usize,
    pub(crate) cause: LossCause,
}

/// The leases of all far ends.
#[derive(Debug)]
pub(crate) struct Leases {
    lease: Nanos,
    /// The moment at which each was heard last; `None`: it has said `stopped`, and nothing more is expected of it.
    heard: Vec<Option<Nanos>>,
    first: Option<Loss>,
}

impl Leases {
    /// All begin at this moment.
    pub(crate) fn new(count: usize, lease: Nanos, now: Nanos) -> Self {
        Self { lease, heard: vec![Some(now); count], first: None }
    }

    /// From now on this is the lease.
    pub(crate) fn begin(&mut self, lease: Nanos, now: Nanos) {
        self.lease = lease;
        self.heard.iter_mut().flatten().for_each(|heard| *heard = now);
    }

    /// Something came.
    pub(crate) fn heard(&mut self, end: usize, now: Nanos) {
        if let Some(heard) = &mut self.heard[end] {
            *heard = now.max(*heard);
        }
    }

    /// It said `stopped`.
    pub(crate) fn stopped(&mut self, end: usize) {
        self.heard[end] = None;
    }

    /// Its channel closed.
    pub(crate) fn closed(&mut self, end: usize) {
        if self.heard[end].take().is_some() {
            self.first.get_or_insert(Loss { end, cause: LossCause::Closed });
        }
    }

    /// Looks for those that were silent for longer than a lease, and gives the first that was lost.
    pub(crate) fn lost(&mut self, now: Nanos) -> Option<Loss> {
        let silent = |(end, heard): (usize, &Option<Nanos>)| Some((end, now.since((*heard)?)));
        let longest = self.heard.iter().enumerate().filter_map(silent).max_by_key(|(_, time)| *time);
        if let Some((end, time)) = longest.filter(|(_, time)| *time > self.lease) {
            self.first.get_or_insert(Loss { end, cause: LossCause::Silent(time) });
        }
        self.first
    }

    /// True if nothing more is expected of any.
    pub(crate) fn all_ended(&self) -> bool {
        self.heard.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn three() -> Leases {
        Leases::new(3, at(6000), at(0))
    }

    #[test]
    fn the_one_that_was_silent_first_is_named_and_stays_so() {
        let mut leases = three();
        leases.heard(0, at(500));
        leases.heard(1, at(400));
        leases.heard(2, at(2000));
        assert_eq!(leases.lost(at(6400)), None, "a lease is not over at its end");
        let loss = Loss { end: 1, cause: LossCause::Silent(at(7000)) };
        assert_eq!(leases.lost(at(7400)), Some(loss), "0 is overdue as well, by less");
        leases.heard(1, at(7500));
        leases.closed(0);
        assert_eq!(leases.lost(at(9000)), Some(loss), "whoever is lost or heard later");
    }

    #[test]
    fn a_closed_channel_is_a_loss_at_once_unless_it_said_stopped() {
        let mut leases = three();
        leases.stopped(2);
        leases.closed(2);
        assert_eq!(leases.lost(at(1)), None);
        leases.closed(1);
        leases.closed(0);
        assert_eq!(leases.lost(at(1)), Some(Loss { end: 1, cause: LossCause::Closed }));
        assert!(leases.all_ended());
    }

    #[test]
    fn those_that_stopped_may_be_silent() {
        let mut leases = three();
        (0..3).for_each(|end| leases.stopped(end));
        assert_eq!(leases.lost(at(60_000)), None);
    }
}
