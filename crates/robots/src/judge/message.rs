//! Checks of the header fields that a cache must leave alone, and of Date.
//!
//! Measuring side, hot, pure. Fields are compared with the origin's truth on the version that the stamp names. A
//! version that could not come is a fault of its own; nothing is known here of its fields.

use super::age::age_wrong;
use super::head::HeaderTime;
use super::{FaultSet, Fields, Freshness, GRACE_SECS, Hit, JudgedRequest, Known, ReplyFault, RequestKind};
use bakeoff_units::Nanos;
use bakeoff_wire::digits::parse_hex16;
use bakeoff_wire::http1::ContentCoding;

/// Tolerance of clocks before a Date is off, in seconds. As in Web Polygraph.
const DATE_SLACK_SECS: u64 = 60;
/// Replies that took longer say nothing about clocks. As in Web Polygraph.
const DATE_LONGEST: Nanos = Nanos::from_secs(30);
/// A larger max-age is written as this (RFC 9111 section 1.2.2).
const MAX_AGE_AT_MOST: u64 = (1 << 31) - 1;

/// All faults of these fields.
pub(super) fn message(asked: &JudgedRequest<'_>, status: u16, fields: &Fields<'_>, hit: Hit) -> FaultSet {
    let mut faults = FaultSet::NONE;
    if let Some(fault) = date_fault(asked, fields.date, hit) {
        faults.add(fault);
    }
    faults.add_if(fields.cookie, ReplyFault::CookieAdded);
    faults.add_if(fields.doubled, ReplyFault::FieldDoubled);
    faults.add_if(fields.unknown, ReplyFault::FieldAdded);
    faults.add_if(fields.varies_more, ReplyFault::VaryAdded);
    faults.add_if(fields.cache_control.other || fields.targeted, ReplyFault::DirectiveAdded);
    match status {
        // Of a POST's reply nothing more is known.
        _ if asked.kind == RequestKind::Post => faults,
        200 | 206 => faults.with(whole_head(asked, fields, hit)),
        304 => faults.with(what_it_says(asked, fields, hit)),
        _ => faults,
    }
}

/// Faults of a head that has all fields of the object.
fn whole_head(asked: &JudgedRequest<'_>, fields: &Fields<'_>, hit: Hit) -> FaultSet {
    let mut faults = FaultSet::NONE;
    let truth = &asked.truth;
    let known = fields.stamp.and_then(|stamp| truth.of_version(stamp.version));
    let lifetime = known.is_some_and(|known| lifetime_changed(asked, known, fields, hit));
    faults.add_if(control_changed(asked, fields) || lifetime, ReplyFault::CachabilityChanged);
    // Whether an object shows validators does not change with its version; our origin shows an ETag for everything.
    let lost_modified = truth.at_sent.last_modified.is_some() && !fields.last_modified.is_there();
    faults.add_if(lost_modified || fields.etag.is_empty(), ReplyFault::LostValidators);
    if let Some(known) = known {
        faults.add_if(modified_changed(known, fields), ReplyFault::ValidatorsChanged);
        faults = faults.with(tag_faults(asked, known, fields));
    }
    faults.add_if(!fields.media_type.eq_ignore_ascii_case(asked.media_type), ReplyFault::ContentTypeChanged);
    faults.add_if(truth.gzip && !fields.varies, ReplyFault::VaryLost);
    faults.add_if(age_wrong(asked, fields, hit), ReplyFault::AgeWrong);
    faults
}

/// Faults of what a 304 says. Those who get it put that into the reply that they keep (RFC 9111 section 3.2). It need
/// not say all; one without a stamp may be about any version that could have come.
fn what_it_says(asked: &JudgedRequest<'_>, fields: &Fields<'_>, hit: Hit) -> FaultSet {
    let mut faults = FaultSet::NONE;
    let versions = asked.truth.versions().filter(|known| match fields.stamp {
        Some(stamp) => stamp.version == known.version,
        None => true,
    });
    let control = fields.cache_control.is_there && control_changed(asked, fields);
    let (mut is_known, mut lifetime_fits, mut validators_fit) = (false, false, false);
    for known in versions {
        is_known = true;
        let says = fields.cache_control.max_age.is_some() && fields.expires.is_there();
        lifetime_fits |= !says || !lifetime_changed(asked, known, fields, hit);
        let is_own = Tag::of(fields.etag).is_none_or(|tag| tag.number == known.etag);
        validators_fit |= is_own && !modified_changed(known, fields);
    }
    // One without a stamp may be about an older version that is fresh.
    is_known &= (lifetime_fits && validators_fit) || fields.stamp.is_some() || !asked.may_be_old();
    faults.add_if(control || (is_known && !lifetime_fits), ReplyFault::CachabilityChanged);
    faults.add_if(is_known && !validators_fit, ReplyFault::ValidatorsChanged);
    faults
}

/// Whether public, private and the like are others, or said in two ways. Of what nobody may keep the origin says both
/// `private` and `no-cache`.
fn control_changed(asked: &JudgedRequest<'_>, fields: &Fields<'_>) -> bool {
    let (control, cachable) = (fields.cache_control, asked.truth.cachable);
    let is_other = if cachable { control.forbids() } else { !(control.private && control.no_cache) };
    control.public != cachable || is_other || control.contradicts
}

/// Whether Expires or max-age differ from the origin's.
fn lifetime_changed(asked: &JudgedRequest<'_>, known: &Known, fields: &Fields<'_>, hit: Hit) -> bool {
    let max_age = fields.cache_control.max_age;
    let (earliest, latest) = made_within(asked, fields, hit);
    let (least, most) = match known.freshness {
        Freshness::Unsaid => return max_age.is_some(),
        Freshness::For(secs) => {
            let moves = earliest.saturating_add(secs)..=latest.saturating_add(secs);
            if !fields.expires.at().is_some_and(|expires| moves.contains(&expires)) {
                return true;
            }
            (secs, secs)
        }
        Freshness::Until(expires) if fields.expires.at() != Some(expires) => return true,
        Freshness::Until(expires) => (expires.saturating_sub(latest), expires.saturating_sub(earliest)),
    };
    let within = least.min(MAX_AGE_AT_MOST)..=most.min(MAX_AGE_AT_MOST);
    max_age.is_none_or(|secs| !within.contains(&secs))
}

/// The moments between which the origin can have made this reply, by the robots' clock or its own, in seconds since 1970.
fn made_within(asked: &JudgedRequest<'_>, fields: &Fields<'_>, hit: Hit) -> (u64, u64) {
    let made = if hit == Hit::Miss { asked.sent_unix } else { asked.begun_unix };
    let (earliest, latest) = (made.whole_secs(), asked.done_unix.whole_secs());
    // The origin's own clock may be further from the robots'.
    let date = fields.date.at().unwrap_or(latest);
    (earliest.min(date).saturating_sub(GRACE_SECS), latest.max(date).saturating_add(GRACE_SECS))
}

/// Whether Last-Modified is there and differs.
fn modified_changed(known: &Known, fields: &Fields<'_>) -> bool {
    fields.last_modified.is_there() && fields.last_modified.at() != known.last_modified
}

/// An entity tag as our origin writes them, with what a proxy that packs may have put behind it.
#[derive(Clone, Copy)]
struct Tag {
    /// Its number; none that the origin has where it cannot be read.
    number: u64,
    is_weak: bool,
    /// Whether something is behind the number.
    has_suffix: bool,
}

impl Tag {
    /// `None`: there is none.
    fn of(value: &[u8]) -> Option<Self> {
        if value.is_empty() {
            return None;
        }
        let bare = value.strip_prefix(b"W/");
        let parts = bare.unwrap_or(value).strip_prefix(b"\"").and_then(|tag| tag.split_at_checked(16));
        let read = parts.and_then(|(number, rest)| Some((parse_hex16(number)?, rest != b"\"")));
        let (number, has_suffix) = read.unwrap_or((0, true));
        Some(Self { number, is_weak: bare.is_some(), has_suffix })
    }
}

/// Faults of the entity tag. A weak tag may stand for a strong one, and who packs may add to it. The same strong tag for
/// two codings would join parts of both (RFC 9110 section 8.8.3.3).
fn tag_faults(asked: &JudgedRequest<'_>, known: &Known, fields: &Fields<'_>) -> FaultSet {
    let mut faults = FaultSet::NONE;
    let Some(tag) = Tag::of(fields.etag) else { return faults };
    let is_coded = fields.coding != ContentCoding::Identity;
    let is_own = tag.number == known.etag && (is_coded || !tag.has_suffix);
    faults.add_if(!is_own, ReplyFault::ValidatorsChanged);
    let is_strong = is_own && is_coded && !tag.is_weak;
    faults.add_if(is_strong && !tag.has_suffix, ReplyFault::TagOfTwoCodings);
    faults.add_if(is_strong && tag.has_suffix && asked.truth.gzip, ReplyFault::TagMadeStrong);
    faults
}

/// The fault of Date. A hit keeps the Date of the stored reply, which may be old, but not in the future, nor from before
/// the run.
fn date_fault(asked: &JudgedRequest<'_>, date: HeaderTime<'_>, hit: Hit) -> Option<ReplyFault> {
    let Some(date) = date.at() else { return Some(ReplyFault::DateMissing) };
    let (sent, done) = (asked.sent_unix.whole_secs(), asked.done_unix.whole_secs());
    let late = date > done.saturating_add(DATE_SLACK_SECS);
    // A 304 of a cache's own keeps the Date of the stored reply, too.
    let made = if hit == Hit::Miss { sent } else { asked.begun_unix.whole_secs() };
    let early = date.saturating_add(DATE_SLACK_SECS) < made;
    let quick = asked.done_unix.since(asked.sent_unix) < DATE_LONGEST;
    (quick && (late || early)).then_some(ReplyFault::DateOff)
}
