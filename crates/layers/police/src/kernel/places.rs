//! Allocation of map entries to rules, so that their state outlives a table: counters by the rule's name, buckets by
//! name and rates.
//!
//! Measured side, cold, pure.

use crate::rules::table::{Per, RuleAction, StageRule};
use std::collections::{BTreeMap, BTreeSet};

/// Entries of a table's rules, by name.
#[derive(Debug, Default)]
pub(super) struct Places {
    of: BTreeMap<String, Place>,
    next_per: u32,
}

/// Entry of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Of its bucket and its counters.
    pub(super) entry: u32,
    /// Number of its prefixes' buckets: never given to other rates, since entries of old ones stay until they are
    /// forgotten.
    pub(super) per_id: u32,
    rates: (RuleAction, Option<Per>),
    /// The table before has no rule of this name.
    pub(super) is_new: bool,
    /// The table before has one with other rates.
    pub(super) is_changed: bool,
}

impl Places {
    /// Entries of the next table's rules: those of this one are not given to other names.
    pub(super) fn next(&self, rules: &[StageRule]) -> Self {
        let taken: BTreeSet<u32> = self.of.values().map(|place| place.entry).collect();
        let mut free = (0..).filter(|entry| !taken.contains(entry));
        let mut next = Self { of: BTreeMap::new(), next_per: self.next_per };
        for rule in rules {
            let (rates, before) = ((rule.action, rule.per), self.of.get(&rule.name));
            let same = before.filter(|before| before.rates == rates);
            let entry = before.map(|before| before.entry).or_else(|| free.next()).unwrap_or(u32::MAX);
            let per_id = same.map_or(next.next_per, |same| same.per_id);
            next.next_per = next.next_per.wrapping_add(u32::from(same.is_none()));
            let (is_new, is_changed) = (before.is_none(), before.is_some() && same.is_none());
            next.of.insert(rule.name.clone(), Place { entry, per_id, rates, is_new, is_changed });
        }
        next
    }

    /// Entry of a rule.
    pub(super) fn of(&self, name: &str) -> Option<Place> {
        self.of.get(name).copied()
    }

    /// Entries whose buckets are of other rates.
    pub(super) fn changed(&self) -> impl Iterator<Item = u32> {
        self.of.values().filter(|place| place.is_changed).map(|place| place.entry)
    }
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
        let first = Places::default().next(&[rule("a", 5)]);
        let before = first.of("a").unwrap();
        assert!(before.is_new && !before.is_changed);
        let kept = Place { is_new: false, ..before };
        assert_eq!(first.next(&[rule("b", 5), rule("a", 5)]).of("a"), Some(kept));
        let other = first.next(&[rule("a", 6)]).of("a").unwrap();
        assert!(other.entry == before.entry && !other.is_new && other.is_changed);
        assert_ne!(other.per_id, before.per_id);
    }

    #[test]
    fn an_entry_is_another_rules_only_after_the_table_that_has_it() {
        let first = Places::default().next(&[rule("a", 5)]);
        let second = first.next(&[rule("b", 5)]);
        let [a, b] = [first.of("a"), second.of("b")].map(Option::unwrap);
        assert!(a.entry != b.entry && a.per_id != b.per_id);
        let third = second.next(&[rule("c", 5), rule("b", 5)]);
        assert_eq!(third.of("c").map(|c| (c.entry, c.is_new)), Some((a.entry, true)));
    }
}
