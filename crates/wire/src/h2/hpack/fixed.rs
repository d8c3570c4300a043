//! The static table (RFC 7541 appendix A), and the lookup of names in it.
//!
//! Both sides. Hot: a name is found by one or two comparisons.

/// Entries of the static table.
pub(super) const ENTRIES: usize = 61;

/// Name and value of the entries 1 to 61.
pub(super) static TABLE: [(&[u8], &[u8]); ENTRIES] = NAMES;

const NAMES: [(&[u8], &[u8]); ENTRIES] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// Names whose values differ from message to message: in the dynamic table they would push out fields that repeat. As a
/// set of indices. The same choice as nghttp2's, so that bytes on the wire compare.
const CHANGING: u64 = set(&[4, 21, 28, 30, 34, 40, 41, 42, 43, 44, 46, 50, 55]);

const fn set(indices: &[u32]) -> u64 {
    let (mut bits, mut at) = (0, 0);
    while at < indices.len() {
        bits |= 1 << indices[at];
        at += 1;
    }
    bits
}

/// Whether values of the name with this index (0: none) are worth a place in the dynamic table.
pub(super) const fn repeats(index: usize) -> bool {
    index > ENTRIES || CHANGING & (1 << index) == 0
}

const SLOTS: usize = 256;
/// Index of the first entry with a name, at the name's hash or behind it; 0 is empty.
static BY_NAME: [u8; SLOTS] = by_name();

const fn hash(name: &[u8]) -> usize {
    let Some(&last) = name.last() else { return 0 };
    let middle = name[name.len() / 2];
    (name.len() * 7 + last as usize * 3 + middle as usize * 29) % SLOTS
}

const fn by_name() -> [u8; SLOTS] {
    let mut slots = [0; SLOTS];
    let mut entry = 0;
    while entry < ENTRIES {
        if entry == 0 || !same(NAMES[entry].0, NAMES[entry - 1].0) {
            let mut slot = hash(NAMES[entry].0);
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = entry as u8 + 1;
        }
        entry += 1;
    }
    slots
}

const fn same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Index of the first entry with this name, or 0.
pub(super) fn name_index(name: &[u8]) -> usize {
    let mut slot = hash(name);
    loop {
        let index = usize::from(BY_NAME[slot]);
        if index == 0 || TABLE[index - 1].0 == name {
            return index;
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// Index of the entry with this value, among those with the name whose first index is given.
pub(super) fn field_index(first: usize, value: &[u8]) -> Option<usize> {
    let last = match first {
        2 | 4 | 6 => first + 1, // :method, :path, :scheme
        8 => 14,                // :status
        16 => 16,               // accept-encoding
        _ => return None,
    };
    (first..=last).find(|index| TABLE[index - 1].1 == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_field_is_found_at_its_place() {
        for (entry, (name, value)) in TABLE.iter().enumerate() {
            let first = name_index(name);
            assert!(first <= entry + 1 && TABLE[first - 1].0 == *name);
            assert_eq!(field_index(first, value), (!value.is_empty()).then_some(entry + 1));
        }
        assert_eq!((name_index(b""), name_index(b"x-none"), name_index(b"range")), (0, 0, 50));
        assert_eq!((TABLE[30].0, TABLE[57].0), (&b"content-type"[..], &b"user-agent"[..]));
    }

    #[test]
    fn what_differs_each_time_is_not_kept() {
        for name in ["content-length", "if-modified-since", "range", ":path", "set-cookie", "etag", "age"] {
            assert!(!repeats(name_index(name.as_bytes())), "{name}");
        }
        for name in [":authority", "user-agent", "server", "content-type", "x-none", "accept"] {
            assert!(repeats(name_index(name.as_bytes())), "{name}");
        }
    }
}
