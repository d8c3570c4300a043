//! Checks of the header fields that a cache must leave alone, and of the one that it must write: Age.
//!
//! Measuring side, hot, pure. Fields are compared with the origin's truth on the version that the stamp names. A
//! version that could not come is a fault of its own; nothing is known here of its fields.

use super::head::HeaderTime;
use super::{FaultSet, Fields, Freshness, GRACE_SECS, Hit, JudgedRequest, Known, ReplyFault, RequestKind};
use bakeoff_units::Nanos;
use bakeoff_wire::digits::parse_hex16;
use bakeoff_wire::http1::ContentCoding;
use bakeoff_wire::stamp::OriginAction;

/// Tolerance of clocks before a Date is off, in seconds. As in Web Polygraph.
const DATE_SLACK_SECS: u64 = 60;
/// Replies that took longer say nothing about clocks. As in Web Polygraph.
const DATE_LONGEST: Nanos = Nanos::from_secs(30);
/// How far an Age may be off, in seconds: Date, Age and the time of the reply are each cut to whole ones, and clocks
/// differ.
const AGE_SLACK_SECS: u64 = 1 + GRACE_SECS;
/// A larger max-age is written as this (RFC 9111 section 1.2.2).
const MAX_AGE_AT_MOST: u64 = (1 << 31) - 1;

/// All faults of these fields.
pub(super) fn message(asked: &JudgedRequest<'_>, status: u16, fields: &Fields<'_>, hit: Hit) -> FaultSet {
    let mut faults = FaultSet::NONE;
    if let Some(fault) = date_fault(asked, fields.date, hit) {
        faults.add(fault);
    }
    faults.add_if(fields.cookie, ReplyFault::CookieAdded);
    // A 304 need not repeat them, and of a POST's reply nothing is known.
    if !matches!(status, 200 | 206) || asked.kind == RequestKind::Post {
        return faults;
    }
    let truth = &asked.truth;
    let known = fields.stamp.and_then(|stamp| truth.of_version(stamp.version));
    let control = fields.cache_control;
    let other = control.public != truth.cachable || control.forbids() == truth.cachable;
    let lifetime = known.is_some_and(|known| lifetime_changed(asked, known, fields, hit));
    faults.add_if(other || lifetime, ReplyFault::CachabilityChanged);
    // Whether an object shows validators does not change with its version; our origin shows an ETag for everything.
    let lost_modified = truth.at_sent.last_modified.is_some() && !fields.last_modified.is_there();
    faults.add_if(lost_modified || fields.etag.is_empty(), ReplyFault::LostValidators);
    let validators = known.is_some_and(|known| validators_changed(known, fields));
    faults.add_if(validators, ReplyFault::ValidatorsChanged);
    faults.add_if(!fields.media_type.eq_ignore_ascii_case(asked.media_type), ReplyFault::ContentTypeChanged);
    faults.add_if(truth.gzip && !fields.varies, ReplyFault::VaryLost);
    faults.add_if(age_wrong(asked, fields, hit), ReplyFault::AgeWrong);
    faults
}

/// Whether Expires or max-age differ from the origin's.
fn lifetime_changed(asked: &JudgedRequest<'_>, known: &Known, fields: &Fields<'_>, hit: Hit) -> bool {
    let max_age = fields.cache_control.max_age;
    let (least, most) = match known.freshness {
        Freshness::Unsaid => return max_age.is_some(),
        Freshness::For(secs) => (secs, secs),
        Freshness::Until(expires) if fields.expires.at() != Some(expires) => return true,
        Freshness::Until(expires) => {
            let made = if hit == Hit::Miss { asked.sent_unix } else { asked.begun_unix };
            let (earliest, latest) = (made.whole_secs(), asked.done_unix.whole_secs());
            // The origin's own clock, which may be further from the robots'.
            let date = fields.date.at().unwrap_or(latest);
            let earliest = earliest.min(date).saturating_sub(GRACE_SECS);
            let latest = latest.max(date).saturating_add(GRACE_SECS);
            (expires.saturating_sub(latest), expires.saturating_sub(earliest))
        }
    };
    let within = least.min(MAX_AGE_AT_MOST)..=most.min(MAX_AGE_AT_MOST);
    max_age.is_none_or(|secs| !within.contains(&secs))
}

/// Whether ETag or Last-Modified are there and differ. A weak tag may stand for a strong one, and a proxy that packs or
/// unpacks may add to a tag.
fn validators_changed(known: &Known, fields: &Fields<'_>) -> bool {
    let modified = fields.last_modified.is_there() && fields.last_modified.at() != known.last_modified;
    let tag = fields.etag.strip_prefix(b"W/").unwrap_or(fields.etag);
    let parts = tag.strip_prefix(b"\"").and_then(|tag| tag.split_at_checked(16));
    let is_coded = fields.coding != ContentCoding::Identity;
    let is_own = parts
        .is_some_and(|(number, rest)| parse_hex16(number) == Some(known.etag) && (is_coded || rest == b"\""));
    modified || !(is_own || tag.is_empty())
}

/// Whether Age is less or more than it can be. It may be missing where nothing shows that the reply is an old one: a
/// rewritten Date shows nothing.
fn age_wrong(asked: &JudgedRequest<'_>, fields: &Fields<'_>, hit: Hit) -> bool {
    let Some(date) = fields.date.at() else { return false };
    let (sent, done) = (asked.sent_unix.whole_secs(), asked.done_unix.whole_secs());
    let is_old = date.saturating_add(AGE_SLACK_SECS) < sent;
    // A reply that was validated for another request may have kept the Date of its making.
    let was_kept =
        hit == Hit::Hit && fields.stamp.is_some_and(|stamp| matches!(stamp.told, OriginAction::Made(_)));
    let least = if is_old && was_kept { sent - date - AGE_SLACK_SECS } else { 0 };
    let made = match hit {
        _ if is_old => date,
        Hit::Miss => sent,
        Hit::Hit | Hit::Revalidated | Hit::Unknown => asked.begun_unix.whole_secs(),
    };
    let most = done.saturating_sub(made).saturating_add(AGE_SLACK_SECS);
    fields.age.map_or(least > 0, |age| age < least || age > most)
}

/// The fault of Date. A hit keeps the Date of the stored reply, which may be old, but not in the future.
fn date_fault(asked: &JudgedRequest<'_>, date: HeaderTime<'_>, hit: Hit) -> Option<ReplyFault> {
    let Some(date) = date.at() else { return Some(ReplyFault::DateMissing) };
    let (sent, done) = (asked.sent_unix.whole_secs(), asked.done_unix.whole_secs());
    let late = date > done.saturating_add(DATE_SLACK_SECS);
    let early = !hit.from_cache() && date.saturating_add(DATE_SLACK_SECS) < sent;
    let quick = asked.done_unix.since(asked.sent_unix) < DATE_LONGEST;
    (quick && (late || early)).then_some(ReplyFault::DateOff)
}
