//! The dynamic table (RFC 7541 sections 2.3.2 and 4), which both ends of a direction keep alike.
//!
//! Hot, reads untrusted input. Strings lie one behind the other in one buffer: they enter at its end and leave at its
//! start, and when half of it is behind them they are moved down. So a field is a slice, and in steady state nothing is
//! allocated.

use std::collections::VecDeque;

/// Bytes that an entry counts beyond its strings (RFC 7541 section 4.1).
pub(super) const OVERHEAD: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: usize,
    name_bytes: usize,
    value_bytes: usize,
    sound: bool,
}

impl Entry {
    const fn size(&self) -> usize {
        self.name_bytes + self.value_bytes + OVERHEAD
    }
}

/// Fields, the youngest first.
#[derive(Clone, Debug)]
pub(super) struct Dynamic {
    entries: VecDeque<Entry>,
    strings: Vec<u8>,
    size: usize,
    max: usize,
}

impl Dynamic {
    pub(super) const fn new(max: usize) -> Self {
        Self { entries: VecDeque::new(), strings: Vec::new(), size: 0, max }
    }

    /// Sum of the entries' sizes.
    #[cfg(test)]
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    pub(super) const fn max(&self) -> usize {
        self.max
    }

    /// Changes the bound; the oldest leave.
    pub(super) fn resize(&mut self, max: usize) {
        self.max = max;
        self.shrink_to(max);
        self.tidy();
    }

    /// The field with this number, 0 for the youngest.
    pub(super) fn field(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(number)?;
        Some(
            self.strings
                .get(entry.at..)?
                .get(..entry.name_bytes + entry.value_bytes)?
                .split_at(entry.name_bytes),
        )
    }

    /// Whether the characters of the field with this number are such that it may be used.
    pub(super) fn is_sound(&self, number: usize) -> bool {
        self.entries.get(number).is_some_and(|entry| entry.sound)
    }

    /// A new youngest entry. One that is larger than the table empties it (RFC 7541 section 4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8], sound: bool) {
        if !self.make_room(name.len() + value.len()) {
            return;
        }
        let at = self.strings.len();
        self.strings.extend_from_slice(name);
        self.strings.extend_from_slice(value);
        self.enter(Entry { at, name_bytes: name.len(), value_bytes: value.len(), sound });
    }

    /// A new youngest entry with the name of another, which may have to leave for it.
    pub(super) fn insert_named_like(&mut self, number: usize, value: &[u8], sound: bool) {
        let Some(&like) = self.entries.get(number) else { return };
        // The name goes first to the buffer's end, where leaving entries do not touch it.
        let at = self.strings.len();
        self.strings.extend_from_within(like.at..like.at + like.name_bytes);
        self.strings.extend_from_slice(value);
        let new = Entry { at, name_bytes: like.name_bytes, value_bytes: value.len(), sound };
        if new.size() > self.max {
            self.shrink_to(0);
        } else {
            self.shrink_to(self.max - new.size());
            self.enter(new);
        }
        self.tidy();
    }

    /// The positions of a field and of its name, the latter if it is requested.
    pub(super) fn find(&self, name: &[u8], value: &[u8], any: bool) -> (Option<usize>, Option<usize>) {
        let mut named = None;
        for (number, entry) in self.entries.iter().enumerate() {
            if entry.name_bytes != name.len() || (!any && entry.value_bytes != value.len()) {
                continue;
            }
            if self.strings[entry.at..entry.at + entry.name_bytes] != *name {
                continue;
            }
            let start = entry.at + entry.name_bytes;
            if self.strings[start..start + entry.value_bytes] == *value {
                return (Some(number), Some(number));
            }
            named = named.or(Some(number));
        }
        (None, named)
    }

    /// Makes place for an entry with strings of so many bytes; `false` when it is too large.
    fn make_room(&mut self, string_bytes: usize) -> bool {
        let size = string_bytes.saturating_add(OVERHEAD);
        self.shrink_to(self.max.saturating_sub(size));
        self.tidy();
        size <= self.max
    }

    fn enter(&mut self, entry: Entry) {
        self.size += entry.size();
        self.entries.push_front(entry);
    }

    fn shrink_to(&mut self, bound: usize) {
        while self.size > bound {
            let Some(oldest) = self.entries.pop_back() else { break };
            self.size -= oldest.size();
        }
    }

    /// Moves the strings down when more than a table's size lies before them.
    fn tidy(&mut self) {
        let start = self.entries.back().map_or(self.strings.len(), |oldest| oldest.at);
        if start > self.max {
            self.strings.drain(..start);
            for entry in &mut self.entries {
                entry.at -= start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leave_and_strings_stay_what_they_are() {
        let mut table = Dynamic::new(200);
        for number in 0..10_000_u32 {
            table.insert(format!("name-{number}").as_bytes(), format!("value-{number}").as_bytes(), true);
            let (name, value) = table.field(0).unwrap();
            assert_eq!(name, format!("name-{number}").as_bytes());
            assert_eq!(value, format!("value-{number}").as_bytes());
            assert!(table.size() <= 200 && table.strings.len() <= 600);
        }
        // 9 + 10 + 32 bytes each: three fit.
        assert_eq!(table.field(2), Some((&b"name-9997"[..], &b"value-9997"[..])));
        assert_eq!(table.field(3), None);
        assert_eq!(table.size(), 3 * 51);
    }

    #[test]
    fn an_entry_may_take_its_name_from_one_that_leaves_for_it() {
        let mut table = Dynamic::new(60);
        table.insert(b"name", b"first", true);
        table.insert_named_like(0, b"second", true);
        assert_eq!(table.field(0), Some((&b"name"[..], &b"second"[..])));
        assert_eq!(table.field(1), None);
    }

    #[test]
    fn an_entry_larger_than_the_table_empties_it() {
        let mut table = Dynamic::new(60);
        table.insert(b"name", b"value", true);
        table.insert(b"name", &[b'x'; 25], true);
        assert_eq!((table.size(), table.field(0)), (0, None));
        table.insert(b"name", b"value", true);
        table.insert_named_like(0, &[b'x'; 25], true);
        assert_eq!((table.size(), table.field(0)), (0, None));
        table.resize(0);
        table.insert(b"", b"", true);
        assert_eq!(table.size(), 0);
    }
}
