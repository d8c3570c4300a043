//! Beats to all far ends, until the end or a loss.
//!
//! Measuring side, a thread of its own: a beat and its answer are all that happens while load runs.

use super::message::{Order, Speech, line};
use super::peers::{LOOK, Shared};
use bakeoff_units::{Clock, Nanos};
use std::thread;

/// Says beats until the end, and kills the launcher of a far end that is lost: whoever writes to it goes on.
pub(super) fn pulse<S: Speech>(shared: &Shared<S>) {
    let every = shared.lease.times(0.25);
    let (mut next, mut n) = (shared.clock.now(), 1);
    loop {
        let mut state = shared.state();
        let now = shared.clock.now();
        let lost = state.leases.lost(now);
        if state.over || lost.is_some() {
            drop(state);
            if let Some(loss) = lost {
                shared.kill(loss.end);
            }
            shared.changed.notify_all();
            return;
        }
        drop(state);
        if now >= next {
            let mut until_next = every;
            for end in 0..shared.peers.len() {
                let now = shared.clock.now();
                shared.state().ends[end].beat = Some((n, now));
                // A transfer that is under way renews the lease as well; but what a round trip takes is known by a beat alone.
                if !shared.say_by(end, &line(n, &Order::<S::Order>::Beat), now) {
                    until_next = every.min(Nanos::from_duration(LOOK));
                }
            }
            (next, n) = (now + until_next, n + 2);
        }
        thread::sleep(LOOK.min(every.as_duration()));
    }
}
