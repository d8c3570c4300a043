//! Allocation of map entries to rules, so that their state outlives a table: counters by the rule's name, buckets by
//! name and rates.
//!
//! Measured side, cold, pure.

use super::layout::RuleIndex;
use crate::rules::table::{Per, RuleAction, StageRule};
use std::collections::BTreeMap;

/// Entries of an array in use, with their users.
#[derive(Debug)]
struct Pool<K> {
    taken: BTreeMap<K, u32>,
    free: Vec<u32>,
}

impl<K: Ord + Clone> Pool<K> {
    fn new(most: u32) -> Self {
        Self { taken: BTreeMap::new(), free: (0..most).rev().collect() }
    }

    /// Entry of a key, and whether it is a new one; `None` if all are in use.
    fn of(&mut self, key: K) -> Option<(u32, bool)> {
        if let Some(place) = self.taken.get(&key) {
            return Some((*place, false));
        }
        let place = self.free.pop()?;
        self.taken.insert(key, place);
        Some((place, true))
    }

    fn keep(&mut self, kept: impl Fn(&K) -> bool) {
        let gone: Vec<K> = self.taken.keys().filter(|key| !kept(key)).cloned().collect();
        self.free.extend(gone.iter().filter_map(|key| self.taken.remove(key)));
    }
}

/// Key of a bucket: the name of a rule, with its rates.
type Rated = (String, [u64; 5]);

/// Entries of all rules.
#[derive(Debug)]
pub(super) struct Places {
    counters: Pool<String>,
    buckets: Pool<Rated>,
    /// Number of each bucket's prefixes: never given twice, since entries of an old one stay until they are
    /// forgotten.
    per: BTreeMap<u32, u32>,
    next_per: u32,
}

/// Entries of a rule, and which of them must be cleared first.
pub(super) struct Placed {
    pub(super) place: RuleIndex,
    pub(super) fresh_bucket: bool,
    pub(super) fresh_counter: bool,
}

impl Places {
    pub(super) fn new(most: u32) -> Self {
        Self { counters: Pool::new(most), buckets: Pool::new(most), per: BTreeMap::new(), next_per: 0 }
    }

    /// Entries of a rule; `None` if there is no room.
    pub(super) fn of(&mut self, rule: &StageRule) -> Option<Placed> {
        let (counter, fresh_counter) = self.counters.of(rule.name.clone())?;
        let (bucket, fresh_bucket) = self.buckets.of(rated(rule))?;
        if fresh_bucket {
            self.per.insert(bucket, self.next_per);
            self.next_per = self.next_per.wrapping_add(1);
        }
        let per = self.per.get(&bucket).copied().unwrap_or_default();
        Some(Placed { place: RuleIndex { bucket, counter, per }, fresh_bucket, fresh_counter })
    }

    /// Frees the entries of all other rules.
    pub(super) fn keep_only(&mut self, rules: &[StageRule]) {
        let names: std::collections::BTreeSet<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
        let rates: std::collections::BTreeSet<Rated> = rules.iter().map(rated).collect();
        self.counters.keep(|name| names.contains(name.as_str()));
        self.buckets.keep(|key| rates.contains(key));
    }

    /// Entry of a rule's counters.
    pub(super) fn counter(&self, name: &str) -> Option<u32> {
        self.counters.taken.get(name).copied()
    }
}

fn rated(rule: &StageRule) -> Rated {
    let words = |per: Option<Per>| {
        per.map_or([0; 3], |per| [per.rate.interval_ns, per.rate.tolerance_ns, per.length.into()])
    };
    let [a, b, c] = words(rule.per);
    let (interval, tolerance) = match rule.action {
        RuleAction::Police(rate) => (rate.interval_ns, rate.tolerance_ns),
        RuleAction::Pass => (0, 0),
        RuleAction::Refuse => (0, 1),
    };
    (rule.name.clone(), [interval, tolerance, a, b, c])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::table::{Rate, Refuse};

    fn rule(name: &str, interval_ns: u64) -> StageRule {
        let action = RuleAction::Police(Rate { interval_ns, tolerance_ns: 0 });
        StageRule { name: name.to_owned(), line: 1, action, class: None, refuse: Refuse::Drop, per: None }
    }

    #[test]
    fn counters_stay_with_the_name_and_buckets_with_the_rates_too() {
        let mut places = Places::new(8);
        let before = places.of(&rule("a", 5)).unwrap();
        assert!(before.fresh_bucket && before.fresh_counter);
        let same = places.of(&rule("a", 5)).unwrap();
        assert_eq!(same.place, before.place);
        assert!(!same.fresh_bucket && !same.fresh_counter);
        let other = places.of(&rule("a", 6)).unwrap();
        assert_eq!(other.place.counter, before.place.counter);
        assert!(other.fresh_bucket && other.place.bucket != before.place.bucket);
        assert_ne!(other.place.per, before.place.per);
    }

    #[test]
    fn a_place_given_free_is_emptied_before_somebody_else_has_it() {
        let mut places = Places::new(1);
        let old = places.of(&rule("a", 5)).unwrap();
        assert!(places.of(&rule("b", 5)).is_none());
        places.keep_only(&[]);
        let new = places.of(&rule("b", 5)).unwrap();
        assert_eq!(new.place.bucket, old.place.bucket);
        assert!(new.fresh_bucket && new.fresh_counter && new.place.per != old.place.per);
    }
}
