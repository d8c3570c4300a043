//! Faults of the heads that come through a front: what our origin says of every object of a site has to arrive.
//!
//! Measuring side, cold: after a load, over a sample of its replies. Bodies are compared as they come, so only heads are
//! left; nothing in a site is private, and nothing gets old. The reading and the labels are those of bake-offs
//! ([`bakeoff_robots::judge`]). Where another server is behind it is not known what it said, and nothing is judged.

use bakeoff_content::MODIFIED_SECS;
use bakeoff_meter::HeadCounts;
use bakeoff_robots::judge::{Fields, GRACE_SECS, ReplyFault};
use bakeoff_units::Nanos;
use bakeoff_wire::http1::ContentCoding;
use bakeoff_wire::stamp::Words;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the origin behind a front says of all objects. Moments are seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct OriginWords {
    max_age: u64,
    /// When the front was started: nothing in its store is older.
    started: u64,
}

/// A reply of the sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledReply<'a> {
    pub(super) head: &'a [u8],
    /// Whether it came from a store.
    pub(super) is_hit: bool,
    /// A moment before which it was not asked for, and one at which it had come.
    pub(super) within: (u64, u64),
}

impl OriginWords {
    /// Those of an origin that starts now.
    pub(super) fn from_now(max_age: Nanos) -> Self {
        Self { max_age: max_age.whole_secs(), started: unix_secs() }
    }

    /// Judges one reply.
    pub(super) fn judge(&self, reply: SampledReply<'_>, counts: &mut HeadCounts) {
        counts.judged += 1;
        for fault in self.faults(reply) {
            *counts.faults.entry(fault.label().to_owned()).or_default() += 1;
        }
    }

    fn faults(&self, reply: SampledReply<'_>) -> impl Iterator<Item = ReplyFault> {
        let fields = Fields::read(reply.head, 0, &Words::default());
        let control = fields.cache_control;
        let kept = control.public && !control.forbids() && !control.contradicts;
        // What a front has coded is another representation, whose validators are its own.
        let is_whole = fields.coding == ContentCoding::Identity;
        let lost = fields.etag.is_empty() || !fields.last_modified.is_there();
        let modified = fields.last_modified.at() == Some(MODIFIED_SECS);
        [
            (control.max_age != Some(self.max_age) || !kept, ReplyFault::CachabilityChanged),
            (control.other || fields.targeted, ReplyFault::DirectiveAdded),
            (is_whole && lost, ReplyFault::LostValidators),
            (is_whole && !lost && !modified, ReplyFault::ValidatorsChanged),
            (self.age_is_wrong(&fields, reply), ReplyFault::AgeWrong),
            (fields.doubled, ReplyFault::FieldDoubled),
            (fields.cookie, ReplyFault::CookieAdded),
        ]
        .into_iter()
        .filter_map(|(is_there, fault)| is_there.then_some(fault))
    }

    /// RFC 9111 section 5.1: a hit without Age whose own Date shows that it is old, or an Age from before the start.
    fn age_is_wrong(&self, fields: &Fields<'_>, reply: SampledReply<'_>) -> bool {
        let ((asked, came), slack) = (reply.within, GRACE_SECS + 1);
        match fields.age {
            Some(age) => age > came.saturating_sub(self.started) + slack,
            None => reply.is_hit && fields.date.at().is_some_and(|date| date + slack < asked),
        }
    }
}

/// Now, in seconds since 1970.
pub(super) fn unix_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::LAST_MODIFIED;

    const NOW: u64 = 1_000_000_000;

    fn labels(lines: &str, is_hit: bool) -> Vec<String> {
        let words = OriginWords { max_age: 60, started: NOW - 100 };
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n");
        let reply = SampledReply { head: head.as_bytes(), is_hit, within: (NOW - 10, NOW) };
        let mut counts = HeadCounts::default();
        words.judge(reply, &mut counts);
        assert_eq!(counts.judged, 1);
        counts.faults.into_keys().collect()
    }

    /// As our origin says it, with the Age and Date of a cache.
    fn right() -> String {
        let date = bakeoff_wire::http1::http_date(NOW - 40);
        format!(
            "Last-Modified: {LAST_MODIFIED}\r\nCache-Control: public, max-age=60\r\nETag: \"a\"\r\nDate: {date}\r\nAge: 40"
        )
    }

    #[test]
    fn what_arrives_as_it_was_said_is_right_and_each_change_has_its_label() {
        assert_eq!(labels(&right(), true), [""; 0]);
        assert_eq!(
            labels(&right().replace("Age: 40", "X-A: b"), false),
            [""; 0],
            "no hit has to have an Age"
        );
        for (said, came, label) in [
            ("max-age=60", "max-age=61", "cachability-changed"),
            ("public, ", "", "cachability-changed"),
            ("public, ", "public, s-maxage=9, ", "directive-added"),
            ("ETag: \"a\"\r\n", "", "lost-validators"),
            ("17 May 2015", "18 May 2015", "validators-changed"),
            ("Age: 40", "Age: 104", "age-wrong"),
            ("Age: 40", "Via: 1.1 cache", "age-wrong"),
            ("Age: 40", "Age: 40\r\nETag: \"a\"", "field-doubled"),
            ("Age: 40", "Age: 40\r\nSet-Cookie: a=b", "cookie-added"),
        ] {
            assert_eq!(labels(&right().replace(said, came), true), [label], "{came}");
        }
        let coded = right().replace("ETag: \"a\"", "Content-Encoding: gzip");
        assert_eq!(labels(&coded, true), [""; 0], "another representation");
    }
}
