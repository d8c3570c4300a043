//! Name of an object, as numbers, as a path and as an id.
//!
//! Hot in origin and robots, for every request and reply: written into a buffer that is reused, parsed in place,
//! without allocation. Reads untrusted input: a malformed name is `None`. Each name has one spelling.

use super::{Model, purpose};
use crate::{ObjectId, mix64};

/// Constant that tells the world of embedded objects from that of their containers.
const MUTANT: u64 = 0x5EED_0FE3_BEDD_ED01;

/// Names one object of a world; all else about it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// The world; another one for each run, where no cache may know an object yet.
    pub world: u64,
    /// The visible server.
    pub server: u16,
    /// The kind's index in the model, from 0.
    pub kind: u8,
    /// The object's number in this world, server and kind.
    pub number: u64,
}

impl ObjectName {
    /// Most objects that one object embeds.
    pub const EMBEDDED_AT_MOST: u64 = 256;

    /// The name of the embedded object `index` (from 0, below [`Self::EMBEDDED_AT_MOST`]) of this one. It lies
    /// in a world of its own, where no object that is asked for directly has its name.
    pub const fn embedded(&self, kind: u8, index: u8) -> Self {
        let number = self.number.wrapping_mul(Self::EMBEDDED_AT_MOST).wrapping_add(index as u64);
        Self { world: self.world ^ MUTANT, server: self.server, kind, number }
    }

    /// Appends the path: `/w<16 hex>/s<4 hex>/t<2 hex>/_<16 hex>` and the object's extension, with the model's words.
    pub fn write_path(&self, model: &Model, out: &mut Vec<u8>) {
        self.write(&model.words().path, out);
        out.extend_from_slice(model.extension(self).as_bytes());
    }

    /// The name a path means. The extension is free, but is one or nothing.
    pub fn parse_path(model: &Model, path: &[u8]) -> Option<Self> {
        let (name, rest) = Self::parse(&model.words().path, path)?;
        let free = |b: &u8| b.is_ascii_graphic() && !b"/?#".contains(b);
        let extension = rest.strip_prefix(b".").is_some_and(|rest| !rest.is_empty() && rest.iter().all(free));
        (rest.is_empty() || extension).then_some(name)
    }

    /// Appends the id: `w<16 hex>.s<4 hex>.t<2 hex>.n<16 hex>`, with the model's words.
    pub fn write_id(&self, model: &Model, out: &mut Vec<u8>) {
        self.write(&model.words().id, out);
    }

    /// The name of an id.
    pub fn parse_id(model: &Model, text: &[u8]) -> Option<Self> {
        let (name, rest) = Self::parse(&model.words().id, text)?;
        rest.is_empty().then_some(name)
    }

    /// The id of the object: a mix of the numbers, where objects that differ in `number` only never meet.
    pub const fn object_id(&self) -> ObjectId {
        ObjectId(self.key())
    }

    /// The id of the bytes of a version: another one's are others.
    pub fn version_id(&self, version: u64) -> ObjectId {
        ObjectId(purpose::version_random(self.key(), version, purpose::BODY).next_u64())
    }

    /// 64 bits of the name, from which all of the object's properties are drawn.
    pub(super) const fn key(&self) -> u64 {
        let place = ((self.server as u64) << 8) | self.kind as u64;
        let place = mix64(mix64(self.world.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ place);
        mix64(place ^ mix64(self.number.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    fn write(&self, before: &[String; 4], out: &mut Vec<u8>) {
        let numbers = [(self.world, 16), (self.server.into(), 4), (self.kind.into(), 2), (self.number, 16)];
        for (before, (number, digits)) in before.iter().zip(numbers) {
            out.extend_from_slice(before.as_bytes());
            push_hex(number, digits, out);
        }
    }

    fn parse<'t>(before: &[String; 4], text: &'t [u8]) -> Option<(Self, &'t [u8])> {
        let (world, rest) = take_hex(&before[0], 16, text)?;
        let (server, rest) = take_hex(&before[1], 4, rest)?;
        let (kind, rest) = take_hex(&before[2], 2, rest)?;
        let (number, rest) = take_hex(&before[3], 16, rest)?;
        // Four digits are no more than an u16, two no more than an u8.
        Some((Self { world, server: server as u16, kind: kind as u8, number }, rest))
    }
}

fn push_hex(number: u64, digits: usize, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 16];
    let mut rest = number;
    for digit in text[..digits].iter_mut().rev() {
        *digit = HEX[rest as usize & 15];
        rest >>= 4;
    }
    out.extend_from_slice(&text[..digits]);
}

/// The number of so many lower-case digits behind `before`, and the text behind them.
fn take_hex<'t>(before: &str, digits: usize, text: &'t [u8]) -> Option<(u64, &'t [u8])> {
    let (number, rest) = text.strip_prefix(before.as_bytes())?.split_at_checked(digits)?;
    let mut value = 0;
    for &b in number {
        let digit = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u64::from(digit);
    }
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAME: ObjectName =
        ObjectName { world: 0x0123_4567_89ab_cdef, server: 0x00ff, kind: 3, number: 0xfedc_ba98_7654_3210 };

    fn model() -> Model {
        let content = "[[content]]\nname = \"a\"\nsize = \"const:1B\"\nextensions = [\".html\"]\n";
        Model::from_toml(content).unwrap()
    }

    fn path(name: &ObjectName, model: &Model) -> Vec<u8> {
        let mut path = Vec::new();
        name.write_path(model, &mut path);
        path
    }

    fn id(name: &ObjectName) -> Vec<u8> {
        let mut id = Vec::new();
        name.write_id(&model(), &mut id);
        id
    }

    #[test]
    fn paths_and_ids_look_as_they_always_did() {
        assert_eq!(id(&NAME), b"w0123456789abcdef.s00ff.t03.nfedcba9876543210");
        assert_eq!(path(&NAME, &model()), b"/w0123456789abcdef/s00ff/t03/_fedcba9876543210");
        let html = ObjectName { kind: 0, ..NAME };
        assert_eq!(path(&html, &model()), b"/w0123456789abcdef/s00ff/t00/_fedcba9876543210.html");
    }

    #[test]
    fn a_name_has_one_spelling_but_for_its_extension() {
        let right = path(&NAME, &model());
        let with = |end: &[u8]| ObjectName::parse_path(&model(), &[&right, end].concat());
        for end in [&b""[..], b".html", b".tar.gz"] {
            assert_eq!(with(end), Some(NAME));
        }
        for end in [&b"."[..], b"html", b"/", b".a/b", b"?x", b".a?x", b".a b", b".\xff", b"0"] {
            assert_eq!(with(end), None, "{end:?}");
        }
        for at in 0..right.len() {
            assert_eq!(ObjectName::parse_path(&model(), &right[..at]), None, "cut at {at}");
            let mut other = right.clone();
            other[at] = b'G';
            assert_eq!(ObjectName::parse_path(&model(), &other), None, "changed at {at}");
        }
        assert_eq!(ObjectName::parse_path(&model(), &right.to_ascii_uppercase()), None);
        assert_eq!(ObjectName::parse_id(&model(), b"w0123456789abcdef.s00ff.t03.nfedcba9876543210 "), None);
    }

    #[test]
    fn names_of_a_run_with_a_number_are_read_by_that_number_alone() {
        let of = |number| model().named(number);
        let html = ObjectName { kind: 0, ..NAME };
        let (path, mut id) = (path(&html, &of(7)), Vec::new());
        html.write_id(&of(7), &mut id);
        assert_eq!((path.len(), path.ends_with(b".html")), (63, true));
        assert_eq!(ObjectName::parse_path(&of(7), &path), Some(html));
        assert_eq!(ObjectName::parse_id(&of(7), &id), Some(html));
        for other in [of(8), model()] {
            assert_eq!(ObjectName::parse_path(&other, &path), None);
            assert_eq!(ObjectName::parse_id(&other, &id), None);
        }
        assert_eq!(of(7).object(&html), model().object(&html), "the object is the same");
        let further = |model: &Model| model.further_names().map(|mut draw| [draw(9), draw(3)]);
        assert_eq!(further(&model()), None);
        assert_eq!(further(&of(7)), further(&of(7)));
        assert_ne!(further(&of(7)), further(&of(8)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(world: u64, server: u16, kind in 0..4_u8, number: u64) {
            let name = ObjectName { world, server, kind, number };
            prop_assert_eq!(ObjectName::parse_path(&model(), &path(&name, &model())), Some(name));
            prop_assert_eq!(ObjectName::parse_id(&model(), &id(&name)), Some(name));
        }

        #[test]
        fn garbage_is_no_name_and_no_panic(text: Vec<u8>, at in 0..50_usize, byte: u8) {
            prop_assert!(ObjectName::parse_path(&model(), &text).is_none());
            prop_assert!(ObjectName::parse_id(&model(), &text).is_none());
            let (mut path, mut id) = (path(&NAME, &model()), id(&NAME));
            let last = id.len() - 1;
            path[at.min(last)] = byte;
            id[at.min(last)] = byte;
            let _ = ObjectName::parse_path(&model(), &path);
            if let Some(name) = ObjectName::parse_id(&model(), &id) {
                prop_assert_eq!(self::id(&name), id);
            }
        }
    }
}
