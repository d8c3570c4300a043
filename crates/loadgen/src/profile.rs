//! Profile of the generator's own time, stage by stage.
//!
//! Measuring side, hot where a profile was requested, and a comparison elsewhere. One turn of the loop in sixteen is
//! timed: a look at the clock at the end of each stage, whose own cost is taken off. Within a turn the thread does not
//! sleep but in the wait, of which only CPU time counts.

use bakeoff_sys::thread::cpu_time;
use bakeoff_units::{Clock, MonotonicClock, Nanos};

/// A stage of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Waiting for events in the kernel, falling asleep and waking up.
    Waiting,
    /// Reading bytes from the kernel.
    Receiving,
    /// Parsing replies and comparing bodies; over TLS also decrypting and encrypting.
    Parsing,
    /// Histograms and counters.
    Recording,
    /// Timers, the choice of the next request, and its head.
    Asking,
    /// Handing requests to the kernel; opening and closing connections.
    Sending,
}

impl Stage {
    /// All, in the order of a reply and the request that follows.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::Receiving, Self::Parsing, Self::Recording, Self::Asking, Self::Sending];

    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Receiving => "receiving",
            Self::Parsing => "parsing",
            Self::Recording => "recording",
            Self::Asking => "asking",
            Self::Sending => "sending",
        }
    }

    /// Whether the time is spent in the kernel, but for a few instructions.
    pub const fn is_kernel(self) -> bool {
        matches!(self, Self::Waiting | Self::Receiving | Self::Sending)
    }
}

/// One turn in so many is timed.
const EVERY: u32 = 16;

/// Times of the turns that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Time by stage, in the order of [`Stage::ALL`].
    pub times: [Nanos; Stage::ALL.len()],
    /// Requests that ended in these turns.
    pub requests: u64,
}

impl Profile {
    /// Adds another thread's.
    pub fn add(&mut self, more: &Self) {
        for (sum, more) in self.times.iter_mut().zip(more.times) {
            *sum += more;
        }
        self.requests += more.requests;
    }

    /// Nanoseconds a request of a stage; `None` without requests.
    pub fn per_request(&self, stage: Stage) -> Option<f64> {
        (self.requests > 0).then(|| self.times[stage as usize].get() as f64 / self.requests as f64)
    }
}

/// Times a worker's turns.
#[derive(Debug)]
pub(crate) struct Profiler {
    clock: MonotonicClock,
    wanted: bool,
    on: bool,
    turns: u32,
    last: Nanos,
    cpu: Nanos,
    /// Cost of a look at the clock.
    look: Nanos,
    cpu_look: Nanos,
    profile: Profile,
}

impl Profiler {
    pub(crate) fn new(clock: MonotonicClock, wanted: bool) -> Self {
        let (look, cpu_look) = if wanted { cost_of_looks(&clock) } else { (Nanos::ZERO, Nanos::ZERO) };
        Self {
            clock,
            wanted,
            on: false,
            turns: 0,
            last: Nanos::ZERO,
            cpu: Nanos::ZERO,
            look,
            cpu_look,
            profile: Profile::default(),
        }
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&mut self) {
        if self.wanted {
            self.turns = self.turns.wrapping_add(1);
            self.on = self.turns.is_multiple_of(EVERY);
            self.last = self.clock.now();
        }
    }

    /// Ends the stage here.
    pub(crate) fn lap(&mut self, stage: Stage) {
        if self.on {
            let now = self.clock.now();
            self.profile.times[stage as usize] += now.since(self.last).since(self.look);
            self.last = now;
        }
    }

    /// The thread may fall asleep from here on.
    pub(crate) fn before_wait(&mut self) {
        if self.on {
            self.cpu = cpu_time();
        }
    }

    /// It is awake again.
    pub(crate) fn after_wait(&mut self) {
        if self.on {
            let used = cpu_time().since(self.cpu).since(self.cpu_look);
            self.profile.times[Stage::Waiting as usize] += used;
            self.last = self.clock.now();
        }
    }

    /// A request has ended.
    pub(crate) fn count(&mut self) {
        self.profile.requests += u64::from(self.on);
    }

    pub(crate) fn finish(self) -> Option<Profile> {
        self.wanted.then_some(self.profile)
    }
}

/// Costs of looks at the two clocks, the fastest of some.
fn cost_of_looks(clock: &MonotonicClock) -> (Nanos, Nanos) {
    let fastest = |mut look: Box<dyn FnMut() -> Nanos + '_>| {
        (0..64)
            .map(|_| {
                let before = look();
                look().since(before)
            })
            .min()
            .unwrap_or(Nanos::ZERO)
    };
    (fastest(Box::new(|| clock.now())), fastest(Box::new(cpu_time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spin(clock: &MonotonicClock, time: Nanos) {
        let start = clock.now();
        while clock.now().since(start) < time {}
    }

    #[test]
    fn time_goes_to_the_stage_that_it_was_spent_in() {
        let clock = MonotonicClock::new();
        let mut profiler = Profiler::new(clock, true);
        for _ in 0..EVERY * 4 {
            profiler.begin_turn();
            // Longer than a machine mostly stands still in what follows, which takes no time.
            spin(&clock, Nanos::from_millis(2));
            profiler.lap(Stage::Parsing);
            profiler.count();
            profiler.lap(Stage::Recording);
        }
        let profile = profiler.finish().unwrap();
        assert_eq!(profile.requests, 4);
        let (parsing, recording) = (Stage::Parsing, Stage::Recording);
        assert!(profile.per_request(parsing).unwrap() >= 1_999_000.0, "{profile:?}");
        assert!(profile.per_request(recording).unwrap() < profile.per_request(parsing).unwrap());
    }

    #[test]
    fn nothing_is_looked_at_unless_asked_for() {
        let mut profiler = Profiler::new(MonotonicClock::new(), false);
        for _ in 0..EVERY {
            profiler.begin_turn();
            profiler.lap(Stage::Asking);
            profiler.count();
        }
        assert_eq!(profiler.finish(), None);
    }
}
