//! Tally: the origin's report of what it has sent. Path of the request, and lines of the answer.
//!
//! Both sides of the wall, cold. Owns the words that both ends need. Counting is the origin's; the meaning of a
//! difference is the caller's. An answer that lacks a figure is refused: 0 would be a figure.

use crate::digits::{decimal, push_decimal};

/// The target of the request.
pub const PATH: &str = "/bakeoff/tally";
/// Value of [`stamp::NAME`](crate::stamp::NAME) in a question of robots, whose Host is the name by which they know the
/// origin.
pub const OF_ROBOTS: &str = "robots";

/// The figures so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Requests answered.
    pub requests: u64,
    /// Replies sent to their last byte.
    pub replies: u64,
    /// Of the requests, those that were answered with 304.
    pub validations: u64,
    /// Of the requests, POSTs about objects of a world.
    pub posts: u64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Connections taken.
    pub connections: u64,
    /// Of the requests, those about objects of a world whose stamp had not been answered before.
    pub asks: u64,
    /// Of the requests, those about objects of a world that had a stamp that had been answered before, or none.
    pub unasked: u64,
    /// Of the requests about objects of a world, those without `Via`,
    pub without_via: u64,
    /// those with a field that was for another connection,
    pub hop_passed: u64,
    /// and those for another `Host` than that of the first question for the tally.
    pub other_host: u64,
}

impl Sent {
    /// Writes the answer: a line a figure, such as `replies 17`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let lines = [
            (REQUESTS, self.requests),
            (REPLIES, self.replies),
            (VALIDATIONS, self.validations),
            (POSTS, self.posts),
            (BODY_BYTES, self.body_bytes),
            (CONNECTIONS, self.connections),
            (ASKS, self.asks),
            (UNASKED, self.unasked),
            (WITHOUT_VIA, self.without_via),
            (HOP_PASSED, self.hop_passed),
            (OTHER_HOST, self.other_host),
        ];
        for (name, number) in lines {
            out.extend_from_slice(name.as_bytes());
            out.push(b' ');
            push_decimal(number, out);
            out.push(b'\n');
        }
    }

    /// Reads an answer; `None` when a figure is missing or is no number. Lines of other names are passed over.
    pub fn parse(answer: &[u8]) -> Option<Self> {
        let figure = |name: &str| {
            let mut lines = answer.split(|&byte| byte == b'\n');
            let number = lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b" "))?;
            decimal(number.trim_ascii())
        };
        Some(Self {
            requests: figure(REQUESTS)?,
            replies: figure(REPLIES)?,
            validations: figure(VALIDATIONS)?,
            posts: figure(POSTS)?,
            body_bytes: figure(BODY_BYTES)?,
            connections: figure(CONNECTIONS)?,
            asks: figure(ASKS)?,
            unasked: figure(UNASKED)?,
            without_via: figure(WITHOUT_VIA)?,
            hop_passed: figure(HOP_PASSED)?,
            other_host: figure(OTHER_HOST)?,
        })
    }

    /// The difference to an earlier tally; 0 where that was more, as of an origin that has begun anew.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            replies: self.replies.saturating_sub(earlier.replies),
            validations: self.validations.saturating_sub(earlier.validations),
            posts: self.posts.saturating_sub(earlier.posts),
            body_bytes: self.body_bytes.saturating_sub(earlier.body_bytes),
            connections: self.connections.saturating_sub(earlier.connections),
            asks: self.asks.saturating_sub(earlier.asks),
            unasked: self.unasked.saturating_sub(earlier.unasked),
            without_via: self.without_via.saturating_sub(earlier.without_via),
            hop_passed: self.hop_passed.saturating_sub(earlier.hop_passed),
            other_host: self.other_host.saturating_sub(earlier.other_host),
        }
    }
}

/// Writes a further line of the answer: the number from which the origin's names are drawn.
pub fn write_names(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(NAMES);
    push_decimal(number, out);
    out.push(b'\n');
}

/// Whether an answer says that the origin's names are drawn from this number.
pub fn has_names(answer: &[u8], number: u64) -> bool {
    let mut lines = answer.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(NAMES));
    lines.any(|said| decimal(said.trim_ascii()) == Some(number))
}

const NAMES: &[u8] = b"names ";
const REQUESTS: &str = "requests";
const REPLIES: &str = "replies";
const VALIDATIONS: &str = "not_modified";
const POSTS: &str = "posts";
const BODY_BYTES: &str = "body_bytes";
const CONNECTIONS: &str = "connections";
const ASKS: &str = "asks";
const UNASKED: &str = "unasked";
const WITHOUT_VIA: &str = "without_via";
const HOP_PASSED: &str = "hop_passed";
const OTHER_HOST: &str = "other_host";

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: Sent = Sent {
        requests: 4,
        replies: 3,
        validations: 2,
        posts: 1,
        body_bytes: 50,
        connections: 1,
        asks: 3,
        unasked: 1,
        without_via: 2,
        hop_passed: 1,
        other_host: 3,
    };
    const TEXT: &str = "requests 4\nreplies 3\nnot_modified 2\nposts 1\nbody_bytes 50\nconnections 1\nasks 3\nunasked 1\n\
         without_via 2\nhop_passed 1\nother_host 3\n";

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        for (sent, text) in
            [(SENT, TEXT), (Sent::default(), &TEXT.replace(|c: char| c.is_ascii_digit(), "0"))]
        {
            let mut out = Vec::new();
            sent.write(&mut out);
            let text = text.replace("00", "0");
            assert_eq!(String::from_utf8(out.clone()).unwrap(), text);
            assert_eq!(Sent::parse(&out), Some(sent));
        }
        assert!(!has_names(TEXT.as_bytes(), 7));
        let mut named = TEXT.as_bytes().to_vec();
        write_names(7, &mut named);
        assert!(has_names(&named, 7) && !has_names(&named, 70) && Sent::parse(&named) == Some(SENT));
        let other = format!("replies_late 9\r\n{}later 7\n", TEXT.replace('\n', "\r\n"));
        assert_eq!(Sent::parse(other.as_bytes()), Some(SENT));
    }

    #[test]
    fn an_answer_without_one_of_its_figures_is_none() {
        for line in TEXT.lines() {
            assert_eq!(Sent::parse(TEXT.replace(&format!("{line}\n"), "").as_bytes()), None, "no {line}");
            let (name, _) = line.split_once(' ').unwrap();
            assert_eq!(Sent::parse(TEXT.replace(line, &format!("{name} -1")).as_bytes()), None, "{line}");
        }
        assert_eq!(Sent::parse(b""), None);
    }

    #[test]
    fn what_came_since_is_never_below_nothing() {
        let later = Sent {
            requests: 10,
            replies: 10,
            validations: 2,
            posts: 3,
            body_bytes: 70,
            connections: 4,
            asks: 9,
            unasked: 1,
            without_via: 2,
            hop_passed: 4,
            other_host: 3,
        };
        let more = Sent {
            requests: 6,
            replies: 7,
            validations: 0,
            posts: 2,
            body_bytes: 20,
            connections: 3,
            asks: 6,
            unasked: 0,
            without_via: 0,
            hop_passed: 3,
            other_host: 0,
        };
        assert_eq!(later.since(&SENT), more);
        assert_eq!(SENT.since(&later), Sent::default());
    }
}
