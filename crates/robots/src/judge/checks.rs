//! The checks of a whole reply, one function each. Checks of header fields are in [`message`].
//!
//! Measuring side, hot, pure. A reply of a wrong kind is judged no further: its words on caching are not about the
//! object.

use super::head::ContentRange;
use super::message::message;
use super::{
    Accepts, CacheClaim, FaultSet, Fields, Hit, JudgedRequest, ReceivedReply, ReplyFault, RequestKind,
};
use bakeoff_meter::ErrorClass;
use bakeoff_wire::http1::ContentCoding;

/// Entries in Via from which on it is a loop: no chain under test has as many proxies.
const LOOP_HOPS: u32 = 8;

/// Everything that is wrong with a whole reply.
pub(super) fn faults(
    asked: &JudgedRequest<'_>,
    came: &ReceivedReply<'_>,
    status: Option<u16>,
    fields: &Fields<'_>,
    hit: Hit,
) -> FaultSet {
    let mut faults = FaultSet::NONE;
    faults.add_if(fields.via >= LOOP_HOPS, ReplyFault::Loop);
    let Some(status) = status else {
        faults.add(ReplyFault::UnexpectedStatus);
        return faults;
    };
    match status_fault(asked, status) {
        Some(fault @ (ReplyFault::UnexpectedStatus | ReplyFault::Loop)) => {
            faults.add(fault);
            return faults;
        }
        // The old version had not changed since that date: what is wrong is that it is old.
        Some(ReplyFault::Wrong304) if asked.kind == RequestKind::Ims200 && is_old(asked, fields) => {}
        Some(fault) => faults.add(fault),
        None => {}
    }
    if matches!(status, 412 | 416) {
        return faults; // it holds nothing of the object, and no stamp
    }
    let coding = fields.coding;
    faults.add_if(unaccepted(asked, status, coding), ReplyFault::UnacceptedCoding);
    // Whether bytes in an unknown coding are the right ones is not known.
    let looked_at = came.error.filter(|_| coding != ContentCoding::Other);
    faults.add_if(looked_at == Some(ErrorClass::WrongBody), ReplyFault::WrongBytes);
    match fields.stamp {
        // The origin stamps every 304. A cache that makes its own may leave the stamp out.
        None if status != 304 || !conditional(asked.kind) => faults.add(ReplyFault::ForeignReply),
        Some(stamp) if stamp.object != asked.id => faults.add(ReplyFault::WrongObject),
        _ => {
            faults = faults.with(length(asked, came, status, fields)).with(caching(asked, fields, hit));
            faults.add_if(claims_otherwise(asked, fields, hit), ReplyFault::ProductDisagrees);
            faults = faults.with(message(asked, status, fields, hit));
        }
    }
    faults
}

/// Whether the request has a condition, so that 304 is an answer.
pub(super) fn conditional(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::Ims200 | RequestKind::Ims304 | RequestKind::Etag200 | RequestKind::Etag304)
}

/// Whether the body is in a coding that the request did not accept, or in one that robots do not ask for. A 304 has
/// none.
fn unaccepted(asked: &JudgedRequest<'_>, status: u16, coding: ContentCoding) -> bool {
    let accepted = match coding {
        ContentCoding::Identity => true,
        ContentCoding::Gzip => asked.accepts != Accepts::Identity,
        ContentCoding::Brotli | ContentCoding::Zstd | ContentCoding::Other => false,
    };
    !accepted && matches!(status, 200 | 206)
}

/// The fault of the status, if it has one.
fn status_fault(asked: &JudgedRequest<'_>, status: u16) -> Option<ReplyFault> {
    match (asked.kind, status) {
        (_, 508) => Some(ReplyFault::Loop),
        (RequestKind::Ims304 | RequestKind::Etag304, 304) => None,
        // When it changed under way, the whole object may be the right answer, and to a date the 304.
        (RequestKind::Ims304 | RequestKind::Etag304, 200) => {
            (!asked.changed_in_flight()).then_some(ReplyFault::Wrong200)
        }
        // A cache answers by what it keeps, which may be an older version, and fresh.
        (RequestKind::Ims200, 304) => {
            (!asked.changed_in_flight() && !asked.may_be_old()).then_some(ReplyFault::Wrong304)
        }
        (_, 304) => Some(ReplyFault::Wrong304),
        (RequestKind::Match412, 412) => None,
        (RequestKind::Range { .. }, 206) => None,
        (RequestKind::Range { .. }, 200) => Some(ReplyFault::RangeIgnored),
        (RequestKind::Range { first, .. }, 416) => {
            (first < asked.truth.body_bytes).then_some(ReplyFault::RangeWrong)
        }
        (_, 200) => None,
        _ => Some(ReplyFault::UnexpectedStatus),
    }
}

/// Checks the length of the body, and of a part whether it is the requested part.
fn length(asked: &JudgedRequest<'_>, came: &ReceivedReply<'_>, status: u16, fields: &Fields<'_>) -> FaultSet {
    let mut faults = FaultSet::NONE;
    let whole = asked.truth.body_bytes;
    let right = match (asked.kind, status) {
        (RequestKind::Head, _) | (_, 304) => 0,
        (RequestKind::Range { first, last }, 206) => {
            let last = last.min(whole.saturating_sub(1));
            let part = ContentRange { first, last, whole: Some(whole) };
            let says =
                fields.content_range.map(|says| ContentRange { whole: says.whole.or(part.whole), ..says });
            faults.add_if(says != Some(part), ReplyFault::RangeWrong);
            (last + 1).saturating_sub(first)
        }
        _ => whole,
    };
    let wrong = match came.error {
        // The true length of a coded body is unknown: the unpacker says when the object's length is another.
        None if fields.coding != ContentCoding::Identity => false,
        None => right != came.body_bytes,
        // A reader that gave up on a reply may not have counted to its end.
        Some(class) => class == ErrorClass::WrongLength,
    };
    let is_head = asked.kind == RequestKind::Head && came.body_bytes == 0;
    faults.add_if(wrong, if is_head { ReplyFault::HeadLength } else { ReplyFault::WrongLength });
    faults
}

/// Checks for replies that a cache must not give, and for those that it should have given.
fn caching(asked: &JudgedRequest<'_>, fields: &Fields<'_>, hit: Hit) -> FaultSet {
    let mut faults = FaultSet::NONE;
    let cachable = asked.cachable();
    let posted = asked.kind == RequestKind::Post || fields.stamp.is_some_and(|stamp| stamp.posted.is_some());
    let is_own = fields.stamp.filter(|_| asked.kind == RequestKind::Post && hit == Hit::Miss);
    faults.add_if(is_own.is_some_and(|own| own.posted != Some(asked.upload)), ReplyFault::UploadChanged);
    faults.add_if(hit.from_cache() && posted, ReplyFault::PostKept);
    faults.add_if(hit.from_cache() && !cachable && !posted, ReplyFault::HitOnUncachable);
    faults.add_if(hit.from_cache() && cachable && !posted && !asked.repeat, ReplyFault::FalseHit);
    faults.add_if(hit == Hit::Hit && asked.kind == RequestKind::Reload, ReplyFault::HitOnReload);
    if hit == Hit::Hit && is_old(asked, fields) {
        faults.add(if asked.may_be_old() { ReplyFault::OldHit } else { ReplyFault::StaleHit });
    }
    faults.add_if(hit == Hit::Miss && asked.offered(), ReplyFault::FalseMiss);
    faults
}

/// Whether the version is older than any that may come: the one before the request was sent is the oldest, whatever
/// happened since.
fn is_old(asked: &JudgedRequest<'_>, fields: &Fields<'_>) -> bool {
    fields.stamp.is_some_and(|stamp| stamp.version < asked.truth.at_sent.version)
}

/// Whether the product says hit for a miss, or miss for a hit.
fn claims_otherwise(asked: &JudgedRequest<'_>, fields: &Fields<'_>, hit: Hit) -> bool {
    let took = asked.done_unix.since(asked.sent_unix);
    let claim = fields.claim.or(CacheClaim::of_age(fields.age, took));
    matches!((claim, hit), (CacheClaim::Hit, Hit::Miss) | (CacheClaim::Miss, Hit::Hit))
}
