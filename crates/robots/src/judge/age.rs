//! Checks of Age, which a cache must write (RFC 9111 sections 4.2.3 and 5.1), and of a stored reply's lifetime.
//!
//! Measuring side, hot, pure.

use super::{Fields, GRACE_SECS, Hit, JudgedRequest};
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::OriginAction;

/// How far an Age may be off, in seconds: Date, Age and the time of the reply are each cut to whole ones, and clocks
/// differ.
const AGE_SLACK_SECS: u64 = 1 + GRACE_SECS;

/// Whether Age is less or more than it can be. It may be missing where nothing shows that the reply is an old one: a
/// rewritten Date shows nothing.
pub(super) fn age_wrong(asked: &JudgedRequest<'_>, fields: &Fields<'_>, hit: Hit) -> bool {
    let Some(date) = fields.date.at() else { return false };
    let sent = asked.sent_unix.whole_secs();
    let is_old = date.saturating_add(AGE_SLACK_SECS) < sent;
    // A reply that was validated for another request may have kept the Date of its making.
    let was_kept =
        hit == Hit::Hit && fields.stamp.is_some_and(|stamp| matches!(stamp.told, OriginAction::Made(_)));
    let least = if is_old && was_kept { sent - date - AGE_SLACK_SECS } else { 0 };
    fields.age.map_or(least > 0, |age| age < least || is_too_much(asked, fields, hit, age, date))
}

/// RFC 9111 section 4.2.3: `corrected_age_value = age_value + response_delay`, so that the time that the fetch took,
/// with the origin's think time in it, is in the Age beyond the time since Date. Nothing is older than the run.
fn is_too_much(asked: &JudgedRequest<'_>, fields: &Fields<'_>, hit: Hit, age: u64, date: u64) -> bool {
    let (sent, done) = (asked.sent_unix.whole_secs(), asked.done_unix.whole_secs());
    let most_since = |made: u64| done.saturating_sub(made).saturating_add(AGE_SLACK_SECS);
    let is_old = date.saturating_add(AGE_SLACK_SECS) < sent;
    let begun = asked.begun_unix.whole_secs();
    let made = match (hit, is_old) {
        (Hit::Miss, false) => sent,
        // A rewritten Date, and an Age from before.
        (_, false) => begun,
        (_, true) => date,
    };
    age > most_since(made)
        && age > most_since(begun).min(most_since(made).saturating_add(fetch_secs(asked, fields)))
}

/// Whole seconds, rounded up, that the fetch of this reply can have taken. Of one that was validated since, the stamp
/// names another request: it is bounded by the run alone.
fn fetch_secs(asked: &JudgedRequest<'_>, fields: &Fields<'_>) -> u64 {
    let longest = match fields.stamp.map(|stamp| stamp.told) {
        Some(OriginAction::Made(stamp)) => asked.fetch.map_or(Nanos::ZERO, |fetch| fetch.longest(stamp)),
        Some(OriginAction::Valid(_)) => Nanos::MAX,
        None => Nanos::ZERO,
    };
    longest.get().div_ceil(1_000_000_000)
}

/// Whether the lifetime of a stored reply is over, or is within the moments that clocks cannot tell apart: a cache may
/// fetch it anew in the background while it still gives it (RFC 5861).
pub(super) fn is_due(asked: &JudgedRequest<'_>, fields: &Fields<'_>) -> bool {
    let latest = asked.done_unix.whole_secs().saturating_add(GRACE_SECS);
    let by_age = fields.date.at().zip(fields.cache_control.max_age);
    let ends = by_age.map(|(date, max_age)| date.saturating_add(max_age)).or_else(|| fields.expires.at());
    ends.is_some_and(|ends| ends <= latest)
}
