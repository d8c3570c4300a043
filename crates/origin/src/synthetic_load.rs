//! Planted costs: known work besides serving, for tests of the method itself.
//!
//! Hot. The work is a chain of multiplications, each of which waits for the one before, and makes no system call. The
//! turns of the chain are counted, and they are the truth. The time of one is measured at the start, to know how many
//! are due, and in its place around one burn in 16: a processor that changes its frequency changes it by a third.

use bakeoff_units::Nanos;
use std::fmt;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::time::Instant;

/// Shortest burn. Shorter ones are gathered for several requests: entering and leaving the chain takes 12 ns that
/// nobody counts (Intel Xeon at 3.1 GHz), which is less than 1 % of this.
const SHORTEST: Nanos = Nanos::from_micros(2);
/// Turns of one trial: some 80 us. Of that, reading the clock is less than a thousandth, and a busy machine interrupts
/// few.
const TRIAL: u64 = 50_000;
/// Number of trials; the quickest is an undisturbed one. All of them take some 4 ms.
const TRIALS: usize = 50;

/// One value for each kind of planted cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs<T> {
    /// On each request.
    pub request: T,
    /// On each request, once for every event that the same wait of its thread found and that is still to be served
    /// then: one a connection, mostly with a request. At most 255, and 0 for requests that are not answered as soon as
    /// they come.
    pub in_flight: T,
    /// Each time a thread wakes up: its wait is over after a first look found nothing. Each look is a system call, and
    /// no turn.
    pub wakeup: T,
}

impl<T> Costs<Option<T>> {
    /// Whether there is any.
    pub(crate) const fn is_any(&self) -> bool {
        self.request.is_some() || self.in_flight.is_some() || self.wakeup.is_some()
    }
}

impl<T> Costs<T> {
    /// The same of each kind.
    pub(crate) fn map<U>(self, of: impl Fn(T) -> U) -> Costs<U> {
        Costs { request: of(self.request), in_flight: of(self.in_flight), wakeup: of(self.wakeup) }
    }
}

/// One burn in so many is timed.
const TIMED: u32 = 16;
/// Share by which each timed burn moves the median.
const STEP: f64 = 1.0 / 256.0;

/// Time of one turn of the chain when it runs undisturbed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    ns: f64,
}

impl Turn {
    /// Measured on this machine, at its present speed.
    pub(crate) fn measure() -> Self {
        let trial = || {
            let start = Instant::now();
            spin(&AtomicU64::new(1), TRIAL);
            start.elapsed().as_nanos() as u64
        };
        let quickest = (0..TRIALS).map(|_| trial()).min().unwrap_or(TRIAL).max(1);
        Self { ns: quickest as f64 / TRIAL as f64 }
    }

    /// The mean.
    pub(crate) fn mean(turns: impl Iterator<Item = Self>) -> Option<Self> {
        let (count, sum) = turns.fold((0_u32, 0.0), |(count, sum), turn| (count + 1, sum + turn.ns));
        (count > 0).then(|| Self { ns: sum / f64::from(count) })
    }

    /// Time of so many turns.
    pub fn time(self, turns: u64) -> Nanos {
        Nanos::new((turns as f64 * self.ns).round() as u64)
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} ns", self.ns)
    }
}

/// Time of a turn in its place, in one thread: a median over burns of all kinds, in which no interrupt takes part.
#[derive(Debug, Default)]
pub(crate) struct InPlace {
    /// Nanoseconds as bits; 0: none was timed.
    bits: AtomicU64,
}

impl InPlace {
    /// `None` for a thread that never burned.
    pub(crate) fn turn(&self) -> Option<Turn> {
        let bits = self.bits.load(Relaxed);
        (bits != 0).then(|| Turn { ns: f64::from_bits(bits) })
    }

    /// Moves towards the present time of a turn, at first from `begin`: after many of them it is their median
    /// (stochastic approximation; Robbins and Monro, 1951).
    fn approach(&self, ns: f64, begin: Turn) {
        let now = self.turn().unwrap_or(begin).ns;
        let moved = now * if ns > now { 1.0 + STEP } else { 1.0 - STEP };
        self.bits.store(moved.to_bits(), Relaxed);
    }
}

/// Burns CPU for one kind of cost in one thread.
#[derive(Debug)]
pub(crate) struct SyntheticLoad {
    /// Turns of one unit: a request, an event behind it, or a wake-up.
    turns: f64,
    /// Units that one burn is for, at least.
    batch: u64,
    /// Units that are not burned yet.
    owed: u64,
    /// The state of the chain.
    chain: AtomicU64,
    /// Time of a turn at the start.
    turn: Turn,
    burns: u32,
}

impl SyntheticLoad {
    /// Burns `each` for a unit.
    pub(crate) fn new(each: Nanos, turn: Turn) -> Self {
        let batch = SHORTEST.get().div_ceil(each.get().max(1)).max(1);
        Self { turns: each.get() as f64 / turn.ns, batch, owed: 0, chain: AtomicU64::new(1), turn, burns: 0 }
    }

    /// Burns for so many units more, or leaves them to a later burn. Returns the turns that it did.
    pub(crate) fn burn(&mut self, units: u64, in_place: &InPlace) -> u64 {
        self.owed += units;
        if self.owed < self.batch {
            return 0;
        }
        let turns = (std::mem::take(&mut self.owed) as f64 * self.turns).round() as u64;
        let timed = (self.burns.is_multiple_of(TIMED) && turns > 0).then(Instant::now);
        self.burns = self.burns.wrapping_add(1);
        spin(&self.chain, turns);
        if let Some(start) = timed {
            in_place.approach(start.elapsed().as_nanos() as f64 / turns as f64, self.turn);
        }
        turns
    }
}

/// Goes on with a chain that no compiler can shorten, as one that multiplies and adds could be. The exchanges at both
/// ends wait for all that was begun before: without them the processor does up to 40 ns of its neighbours beside the
/// chain.
fn spin(chain: &AtomicU64, turns: u64) {
    let mut x = chain.swap(1, SeqCst);
    for _ in 0..turns {
        x = (x ^ (x >> 32)).wrapping_mul(6_364_136_223_846_793_005); // Knuth's MMIX; any odd number would do
    }
    chain.swap(x, SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Turn = Turn { ns: 2.0 };

    #[test]
    fn short_burns_are_done_for_several_requests_at_once() {
        let mut burner = SyntheticLoad::new(Nanos::new(300), TURN);
        let burns: Vec<u64> = (0..21).map(|_| burner.burn(1, &InPlace::default())).collect();
        let at: Vec<usize> = (0..21).filter(|&request| burns[request] > 0).collect();
        assert_eq!(at, [6, 13, 20]);
        assert_eq!(TURN.time(burns.iter().sum()), Nanos::new(21 * 300));
    }

    #[test]
    fn long_burns_are_done_at_once_and_for_each_unit() {
        let mut burner = SyntheticLoad::new(Nanos::from_micros(3), TURN);
        assert_eq!([1, 0, 4].map(|units| burner.burn(units, &InPlace::default())), [1500, 0, 6000]);
    }

    #[test]
    fn units_of_different_requests_add_up_to_one_burn() {
        let mut burner = SyntheticLoad::new(Nanos::new(500), TURN);
        assert_eq!(
            [3, 0, 2, 3, 1].map(|units| burner.burn(units, &InPlace::default())),
            [0, 0, 1250, 0, 1000]
        );
    }

    #[test]
    fn a_cost_of_nothing_does_no_turn() {
        let mut burner = SyntheticLoad::new(Nanos::ZERO, TURN);
        assert_eq!((0..10_000).map(|_| burner.burn(1, &InPlace::default())).sum::<u64>(), 0);
    }

    /// A chain that came to 0 would stay there, and one that repeats itself could be shortened.
    #[test]
    fn the_chain_goes_on_where_it_stood() {
        let (whole, halves) = (AtomicU64::new(1), AtomicU64::new(1));
        spin(&whole, 2000);
        spin(&halves, 700);
        spin(&halves, 1300);
        assert_eq!(whole.load(SeqCst), halves.load(SeqCst));
        assert!(whole.load(SeqCst) > 1);
    }

    #[test]
    fn a_turn_in_its_place_is_a_median_and_spares_interrupts() {
        let in_place = InPlace::default();
        assert_eq!(in_place.turn(), None);
        for burn in 0..4000 {
            in_place.approach(if burn % 10 == 0 { 50.0 } else { 3.0 + f64::from(burn % 7) / 100.0 }, TURN);
        }
        let turn = in_place.turn().unwrap();
        assert!((turn.ns - 3.03).abs() < 0.06, "{turn}");
        assert_eq!(Turn::mean([TURN, Turn { ns: 4.0 }].into_iter()), Some(Turn { ns: 3.0 }));
    }

    #[test]
    fn a_turn_takes_some_time() {
        let turn = Turn::measure();
        assert!(turn.ns > 0.0 && turn.time(0) == Nanos::ZERO, "{turn}");
    }
}
