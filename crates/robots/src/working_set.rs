//! Working sets as counters: the objects requested so far, and the part of them that is requested again.
//!
//! Measuring side, hot. Names are sequence numbers per server and kind, so a set of ten million objects
//! takes as much memory as one of ten: 24 bytes a server and kind. Knows no popularity beyond the place
//! of the hot window and does no I/O.

use crate::popularity::{HotSet, Popularity};
use crate::population::Worker;
use bakeoff_content::SplitMix64;
use bakeoff_units::Nanos;

/// The end of a working set's growth. From then on only its newest objects are requested again, as many as there were
/// (but see [`Popularity::slides`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrowthLimit {
    /// Never.
    #[default]
    None,
    /// At so long after the start.
    After(Nanos),
    /// At so many fills: cachable objects that the origin gave.
    Objects(u64),
}

/// The working set of one worker.
#[derive(Clone, Debug)]
pub struct WorkingSet {
    /// By server, then by kind.
    worlds: Vec<World>,
    kinds: usize,
    worker: Worker,
    limit: GrowthLimit,
    filled: u64,
    frozen: bool,
}

/// The objects of one server and kind.
#[derive(Clone, Copy, Debug, Default)]
struct World {
    /// Number of objects made: numbers 1 to `made` (of this worker).
    made: u64,
    /// Once frozen: the number of them that may be requested again.
    kept: u64,
    /// The oldest place of the hot window, counted from the first object.
    hot_from: u64,
}

impl WorkingSet {
    /// An empty set.
    pub fn new(servers: u16, kinds: usize, worker: Worker, limit: GrowthLimit) -> Self {
        let limit = match limit {
            GrowthLimit::Objects(all) => GrowthLimit::Objects(worker.share(all)),
            other => other,
        };
        let worlds = vec![World::default(); usize::from(servers) * kinds];
        Self { worlds, kinds, worker, limit, filled: 0, frozen: false }
    }

    /// Whether any object of this server and kind can be requested again.
    pub fn has_any(&self, server: u16, kind: usize) -> bool {
        self.worlds[self.at(server, kind)].window(self.frozen) > 0
    }

    /// Makes a new object and returns its number.
    pub fn make(&mut self, server: u16, kind: usize) -> u64 {
        let at = self.at(server, kind);
        self.worlds[at].made += 1;
        self.worker.number(self.worlds[at].made)
    }

    /// The number of an object that was requested before, and its neighbours on either side that may be taken in its
    /// place. Only where there [is any](Self::has_any).
    pub fn repeat(
        &mut self,
        (server, kind): (u16, usize),
        popularity: Popularity,
        hot: Option<HotSet>,
        random: &mut SplitMix64,
    ) -> Repeat {
        let (at, frozen) = (self.at(server, kind), self.frozen);
        let world = &mut self.worlds[at];
        let len = world.window(frozen);
        // A set that does not slide keeps its oldest objects, one that does its newest.
        let oldest = if popularity.slides() { world.made - len } else { 0 };
        let chosen = match hot {
            Some(hot) if random.unit() < hot.probability.get() => {
                world.draw_hot(oldest, len, hot, popularity, random)
            }
            _ => oldest + popularity.draw(len, random),
        };
        Repeat { chosen, oldest, newest: oldest + len - 1, worker: self.worker }
    }

    /// Notes that an object has come from the origin and may now be in a cache.
    pub fn fill(&mut self) {
        self.filled += 1;
        if let GrowthLimit::Objects(most) = self.limit
            && self.filled >= most
        {
            self.freeze();
        }
    }

    /// Advances the time.
    pub fn tick(&mut self, now: Nanos) {
        if let GrowthLimit::After(length) = self.limit
            && now >= length
        {
            self.freeze();
        }
    }

    /// Stops the growth now. Once is enough.
    pub fn freeze(&mut self) {
        if !self.frozen {
            self.frozen = true;
            self.worlds.iter_mut().for_each(|world| world.kept = world.made);
        }
    }

    /// The time at which it stops growing, if time decides.
    pub const fn freezes_at(&self) -> Option<Nanos> {
        match self.limit {
            GrowthLimit::After(length) => Some(length),
            GrowthLimit::None | GrowthLimit::Objects(_) => None,
        }
    }

    /// Whether it has stopped growing.
    pub const fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Number of objects made, and of those that may be requested again.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (u64, u64) {
        let made = self.worlds.iter().map(|world| world.made).sum();
        (made, self.worlds.iter().map(|world| world.window(self.frozen)).sum())
    }

    fn at(&self, server: u16, kind: usize) -> usize {
        usize::from(server) * self.kinds + kind
    }
}

impl World {
    /// Number of objects that may be requested again. A world that had none when the set froze keeps one, as it could
    /// not be requested at all otherwise.
    fn window(&self, frozen: bool) -> u64 {
        if frozen { self.kept.max(1).min(self.made) } else { self.made }
    }

    /// A place in the hot window, which moves to a random place when it has left the set.
    fn draw_hot(
        &mut self,
        oldest: u64,
        len: u64,
        hot: HotSet,
        popularity: Popularity,
        random: &mut SplitMix64,
    ) -> u64 {
        let width = ((len as f64 * hot.share.get()).round() as u64).clamp(1, len);
        let fits = (oldest..=oldest + len - width).contains(&self.hot_from);
        // 0 also means that no window was ever drawn: one that begins with the first object is drawn anew each time.
        if !fits || self.hot_from == 0 {
            self.hot_from = oldest + random.below(len - width + 1);
        }
        self.hot_from + popularity.draw(width, random)
    }
}

/// An object to be requested again. Places count from 0 in the order in which objects were made.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    chosen: u64,
    oldest: u64,
    newest: u64,
    worker: Worker,
}

impl Repeat {
    /// Its number.
    pub const fn number(&self) -> u64 {
        self.worker.number(self.chosen + 1)
    }

    /// The numbers of it and of up to `each_side` neighbours on either side.
    pub fn neighbours(&self, each_side: u64) -> impl Iterator<Item = u64> + use<> {
        let from = self.chosen.saturating_sub(each_side).max(self.oldest);
        let to = (self.chosen + each_side).min(self.newest);
        let worker = self.worker;
        (from..=to).map(move |place| worker.number(place + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_units::Ratio;

    fn set(limit: GrowthLimit) -> WorkingSet {
        WorkingSet::new(1, 1, Worker::ONLY, limit)
    }

    fn repeats(set: &mut WorkingSet, popularity: Popularity, hot: Option<HotSet>, count: usize) -> Vec<u64> {
        let mut random = SplitMix64::new(9);
        (0..count).map(|_| set.repeat((0, 0), popularity, hot, &mut random).number()).collect()
    }

    #[test]
    fn ten_million_objects_take_no_memory_of_their_own() {
        let mut set = WorkingSet::new(100, 4, Worker::ONLY, GrowthLimit::None);
        let memory_bytes = |set: &WorkingSet| set.worlds.capacity() * size_of::<World>();
        let before = memory_bytes(&set);
        for number in 1..=10_000_000 {
            assert_eq!(set.make(7, 2), number);
        }
        assert_eq!((memory_bytes(&set), before), (400 * 24, 400 * 24));
        assert_eq!(set.size(), (10_000_000, 10_000_000));
        assert!(set.has_any(7, 2) && !set.has_any(7, 1) && !set.has_any(8, 2));
    }

    #[test]
    fn a_frozen_set_slides_and_keeps_its_size() {
        let mut set = set(GrowthLimit::Objects(100));
        for _ in 0..100 {
            set.make(0, 0);
            assert!(!set.is_frozen());
            set.fill();
        }
        assert!(set.is_frozen());
        for _ in 0..50 {
            set.make(0, 0);
        }
        assert_eq!(set.size(), (150, 100));
        let drawn = repeats(&mut set, Popularity::Uniform, None, 10_000);
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&51), Some(&150)));
        // Fixed ranks: the oldest hundred stay the ones that are repeated.
        let drawn = repeats(&mut set, Popularity::ZipfByRank { exponent: 0.8 }, None, 10_000);
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&1), Some(&100)));
    }

    #[test]
    fn a_set_freezes_by_time_and_a_late_world_can_still_be_asked() {
        let mut set = set(GrowthLimit::After(Nanos::from_secs(4)));
        set.tick(Nanos::from_secs(3));
        assert!(!set.is_frozen());
        set.tick(Nanos::from_secs(4));
        assert!(set.is_frozen() && !set.has_any(0, 0));
        set.make(0, 0);
        set.make(0, 0);
        assert_eq!(repeats(&mut set, Popularity::Uniform, None, 3), [2, 2, 2]);
    }

    #[test]
    fn the_hot_part_gets_its_share_and_stays_until_it_slides_out() {
        let mut set = set(GrowthLimit::None);
        (0..10_000).for_each(|_| _ = set.make(0, 0));
        let hot = HotSet { share: Ratio::new(0.01).unwrap(), probability: Ratio::new(0.1).unwrap() };
        let drawn = repeats(&mut set, Popularity::Uniform, Some(hot), 100_000);
        let from = set.worlds[0].hot_from;
        let inside = drawn.iter().filter(|&&number| (from + 1..=from + 100).contains(&number)).count();
        // 10 % on purpose and 1 % of the rest by chance: 10.9 %, standard error 0.1 %.
        assert!((10_600..11_200).contains(&inside), "{inside}");
        set.freeze();
        (0..10_000).for_each(|_| _ = set.make(0, 0));
        repeats(&mut set, Popularity::Uniform, Some(hot), 100);
        assert!((10_000..=19_900).contains(&set.worlds[0].hot_from), "it moved with the set");
    }

    #[test]
    fn workers_never_make_the_same_object() {
        let workers = [Worker::new(0, 2).unwrap(), Worker::new(1, 2).unwrap()];
        let [mut even, mut odd] =
            workers.map(|worker| WorkingSet::new(1, 1, worker, GrowthLimit::Objects(10)));
        let numbers = |set: &mut WorkingSet| [(); 3].map(|()| set.make(0, 0));
        assert_eq!((numbers(&mut even), numbers(&mut odd)), ([1, 3, 5], [2, 4, 6]));
        assert!(repeats(&mut odd, Popularity::Uniform, None, 100).iter().all(|number| number % 2 == 0));
        (0..5).for_each(|_| even.fill());
        assert!(even.is_frozen(), "half of the ten are this worker's");
    }

    #[test]
    fn neighbours_stay_in_the_set() {
        let repeat = Repeat { chosen: 5, oldest: 4, newest: 20, worker: Worker::ONLY };
        assert_eq!(repeat.neighbours(4).collect::<Vec<_>>(), [5, 6, 7, 8, 9, 10]);
        assert_eq!(repeat.number(), 6);
    }
}
