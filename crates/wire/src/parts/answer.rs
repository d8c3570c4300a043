//! Answer of the origin to a part of a run: the body of a reply.
//!
//! Both sides of the wall, cold, reads untrusted input: any bytes are an answer or none.

use super::{MOST_PARTS, PartSet};
use crate::digits::{decimal, parse_hex16, push_decimal, push_hex16};

/// The answer to a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartReply {
    /// The run's number, as soon as all parts have been there.
    pub run: Option<u64>,
    /// Parts that have come as far as the asking one.
    pub here: PartSet,
    /// Parts that have ended before their last phase did.
    pub gone: PartSet,
}

impl PartReply {
    /// Writes it: a line each, such as `here 1 2`.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(run) = self.run {
            out.extend_from_slice(b"run ");
            push_hex16(run, out);
            out.push(b'\n');
        }
        for (name, set) in [(HERE, self.here), (GONE, self.gone)] {
            out.extend_from_slice(name);
            for number in set.numbers() {
                out.push(b' ');
                push_decimal(number.into(), out);
            }
            out.push(b'\n');
        }
    }

    /// Reads it; `None` when a line is missing or is none of the answer's.
    pub fn parse(answer: &[u8]) -> Option<Self> {
        let mut lines = answer.strip_suffix(b"\n")?.split(|&byte| byte == b'\n').peekable();
        let run = match lines.peek()?.strip_prefix(b"run ") {
            Some(digits) => Some(parse_hex16(digits)?),
            None => None,
        };
        if run.is_some() {
            lines.next();
        }
        let here = set(lines.next()?.strip_prefix(HERE)?)?;
        let gone = set(lines.next()?.strip_prefix(GONE)?)?;
        lines.next().is_none().then_some(Self { run, here, gone })
    }
}

/// ` 1 2`
fn set(text: &[u8]) -> Option<PartSet> {
    let mut numbers = text.split(|&byte| byte == b' ');
    if !numbers.next()?.is_empty() {
        return None;
    }
    let number = |digits: &[u8]| u8::try_from(decimal(digits)?).ok().filter(|n| (1..=MOST_PARTS).contains(n));
    numbers.map(number).collect()
}

/// The reason for which the origin refuses a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartRefusal {
    /// The other parts count another number of parts.
    OtherNumber,
    /// The other parts have another plan, scale or rate.
    OtherPlan,
    /// This part is there already.
    Taken,
    /// The run that it names is not known, or no longer.
    Unknown,
}

impl PartRefusal {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::OtherNumber, Self::OtherPlan, Self::Taken, Self::Unknown];

    /// Its name, which is the answer, too.
    pub const fn label(self) -> &'static str {
        match self {
            Self::OtherNumber => "other-number",
            Self::OtherPlan => "other-plan",
            Self::Taken => "taken",
            Self::Unknown => "unknown",
        }
    }

    /// A clause for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::OtherNumber => {
                "those that wait there are another number of parts; give all of them the same --part .../N"
            }
            Self::OtherPlan => {
                "those that wait there have another plan, --rate or --scale, or another version of bakeoff; give all of \
                 them the same"
            }
            Self::Taken => "this part waits there already; give each its own number",
            Self::Unknown => "it knows nothing of this run; was it started anew?",
        }
    }

    /// Reads its name, in a line or without one.
    pub fn parse(answer: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.label().as_bytes() == answer.trim_ascii())
    }
}

const HERE: &[u8] = b"here";
const GONE: &[u8] = b"gone";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_answer_is_read_as_it_was_written_and_nothing_else_is_one() {
        let here: PartSet = [1, 64].into_iter().collect();
        let answer = PartReply { run: Some(0xf), here, gone: PartSet::default() };
        let mut out = Vec::new();
        answer.write(&mut out);
        let text = "run 000000000000000f\nhere 1 64\ngone\n";
        assert_eq!((std::str::from_utf8(&out).unwrap(), PartReply::parse(&out)), (text, Some(answer)));
        for wrong in [
            "",
            "here 1\n",
            "here 1\ngone",
            "here 0\ngone\n",
            "here 65\ngone\n",
            "here  1\ngone\n",
            "here1\ngone\n",
            "run 1\nhere\ngone\n",
            "here\ngone\nmore\n",
            "gone\nhere\n",
        ] {
            assert_eq!(PartReply::parse(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(PartReply::parse(b"here\ngone\n"), Some(PartReply::default()));
    }

    #[test]
    fn refusals_are_read_by_their_names() {
        for refusal in PartRefusal::ALL {
            assert_eq!(PartRefusal::parse(format!("{}\n", refusal.label()).as_bytes()), Some(refusal));
            assert!(!refusal.meaning().is_empty());
        }
        assert_eq!(PartRefusal::parse(b"other"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_none(bytes in prop::collection::vec(prop::sample::select(b"run here gone 0123456789abcdef\n".to_vec()), 0..60)) {
            if let Some(answer) = PartReply::parse(&bytes) {
                let mut out = Vec::new();
                answer.write(&mut out);
                prop_assert_eq!(PartReply::parse(&out), Some(answer));
            }
        }

        #[test]
        fn any_answer_is_read_as_it_was_written(run: Option<u64>, here: u64, gone: u64) {
            let answer = PartReply { run, here: PartSet(here), gone: PartSet(gone) };
            let mut out = Vec::new();
            answer.write(&mut out);
            prop_assert_eq!(PartReply::parse(&out), Some(answer));
        }
    }
}
