//! Word of a part to the origin: the target of a request.
//!
//! Both sides of the wall, cold, reads untrusted input: any bytes are a word or none.

use super::{MOST_STEPS, PATH, Part, part};
use crate::digits::{decimal, parse_hex16, push_decimal, push_hex16};

/// A part's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartStep {
    /// It has reached the goals of so many phases; none: it is there.
    Reached(u32),
    /// It has ended, and not by the goal of its last phase.
    Gone,
}

/// The word of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// A number that follows from all that the parts must have in common.
    pub plan: u64,
    /// The part.
    pub part: Part,
    /// A number of this process's own.
    pub who: u64,
    /// Its progress.
    pub step: PartStep,
}

impl Word {
    /// Whether a request is meant for the parts' agreement, well-formed or not.
    pub fn is_meant(target: &[u8]) -> bool {
        let rest = target.strip_prefix(PATH.as_bytes());
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'?' | b'/')))
    }

    /// Writes the request's target.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(PATH.as_bytes());
        out.extend_from_slice(b"?plan=");
        push_hex16(self.plan, out);
        out.extend_from_slice(b"&part=");
        push_decimal(self.part.number.into(), out);
        out.push(b'/');
        push_decimal(self.part.of.into(), out);
        out.extend_from_slice(b"&who=");
        push_hex16(self.who, out);
        out.extend_from_slice(b"&step=");
        match self.step {
            PartStep::Reached(steps) => push_decimal(steps.into(), out),
            PartStep::Gone => out.extend_from_slice(GONE),
        }
    }

    /// Reads it; `None` for a target that [`Word::write`] would not have written.
    pub fn parse(target: &[u8]) -> Option<Self> {
        let query = target.strip_prefix(PATH.as_bytes())?.strip_prefix(b"?")?;
        let mut fields = query.split(|&byte| byte == b'&');
        let mut field = |name: &[u8]| fields.next()?.strip_prefix(name);
        let word = Self {
            plan: parse_hex16(field(b"plan=")?)?,
            part: part(field(b"part=")?)?,
            who: parse_hex16(field(b"who=")?)?,
            step: step(field(b"step=")?)?,
        };
        fields.next().is_none().then_some(word)
    }
}

fn step(text: &[u8]) -> Option<PartStep> {
    if text == GONE {
        return Some(PartStep::Gone);
    }
    let steps = u32::try_from(decimal(text)?).ok()?;
    (steps <= MOST_STEPS).then_some(PartStep::Reached(steps))
}

const GONE: &[u8] = b"gone";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "/bakeoff/parts?plan=0000000000000abc&part=2/3&who=ffffffffffffffff&step=7";

    fn word() -> Word {
        let part = Part::new(2, 3).unwrap();
        Word { plan: 0xabc, part, who: u64::MAX, step: PartStep::Reached(7) }
    }

    fn text(word: &Word) -> String {
        let mut out = Vec::new();
        word.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_word_is_read_as_it_was_written() {
        assert_eq!((text(&word()).as_str(), Word::parse(TEXT.as_bytes())), (TEXT, Some(word())));
        let gone = Word { step: PartStep::Gone, ..word() };
        assert_eq!(Word::parse(text(&gone).as_bytes()), Some(gone));
    }

    #[test]
    fn what_is_no_word_is_none_but_is_known_for_whom_it_was_meant() {
        for (from, to) in [
            ("plan=0000000000000abc", "plan=abc"),
            ("plan=", "Plan="),
            ("part=2/3", "part=0/3"),
            ("part=2/3", "part=4/3"),
            ("part=2/3", "part=1/1"),
            ("part=2/3", "part=2/65"),
            ("part=2/3", "part=2/4294967299"),
            ("part=2/3", "part=-2/3"),
            ("part=2/3", "part=2"),
            ("step=7", "step="),
            ("step=7", "step=100001"),
            ("step=7", "step=99999999999999999999"),
            ("step=7", "step=Gone"),
            ("step=7", "step=7&step=7"),
            ("&step=7", ""),
            ("?", "/"),
            ("?", "?&"),
        ] {
            let wrong = TEXT.replacen(from, to, 1);
            assert_eq!(Word::parse(wrong.as_bytes()), None, "{wrong}");
            assert!(Word::is_meant(wrong.as_bytes()), "{wrong}");
        }
        assert!(Word::is_meant(PATH.as_bytes()) && Word::parse(PATH.as_bytes()).is_none());
        assert!(!Word::is_meant(b"/bakeoff/partsmore") && !Word::is_meant(b"/bakeoff/tally"));
    }

    proptest! {
        /// A word that is read can be written again, and one that is written can be read.
        #[test]
        fn any_bytes_are_a_word_or_none(bytes in prop::collection::vec(any::<u8>(), 0..60), cut in 0..TEXT.len()) {
            let target = [&TEXT.as_bytes()[..cut], &bytes[..]].concat();
            if let Some(word) = Word::parse(&target) {
                let mut out = Vec::new();
                word.write(&mut out);
                prop_assert_eq!(Word::parse(&out), Some(word));
                prop_assert!(Word::is_meant(&target));
            }
        }
    }
}
