//! Judgement of a reply: hit or miss, and all its faults.
//!
//! Measuring side, hot: once a reply, on untrusted heads; pure, no allocation, no clock. Judges from outside: by the
//! stamp that the origin put in, by the origin's truth (`JudgedRequest::truth`) and by the message itself. The product's own
//! statement on hits is only compared with that. Counts nothing: `ledger` does.

mod age;
mod checks;
mod claim;
mod fault;
mod head;
mod labels;
mod message;
mod request;
mod value;

pub use claim::CacheClaim;
pub use fault::{FaultSet, ReplyFault, Weight};
pub use head::{CacheControl, ContentRange, Fields, HeaderTime, stamp_of};
pub use labels::{Class, Harm, LABELS, LabelRow, RunFault, markdown};
pub use request::{Accepts, FetchTime, Freshness, JudgedRequest, Known, RequestKind, Truth};

use bakeoff_meter::ErrorClass;
use bakeoff_wire::http1::ContentCoding;
use bakeoff_wire::stamp::OriginAction;

/// HTTP's dates and lifetimes are whole seconds, so that a cache that keeps to every rule may give an old version for
/// up to a second longer. Origin and robots each have a clock, of which either may be a second ahead.
/// [`Truth::at_sent`] is the version so long before the request was sent, [`Truth::at_done`] that so long after its
/// reply: no reply is wrong that is right at any moment from the one to the other.
pub const GRACE_SECS: u64 = 2;

/// The reply as it came.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceivedReply<'a> {
    /// The status, where a head came.
    pub status: Option<u16>,
    /// The whole head with its first line; may be empty.
    pub head: &'a [u8],
    /// Bytes of the body, as they came.
    pub body_bytes: u64,
    /// The error with which it ended, where the load generator gives one; it also checks the bytes of the body.
    pub error: Option<ErrorClass>,
}

/// The source of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hit {
    /// From the cache: the stamp is another request's.
    Hit,
    /// From the origin, for this request.
    Miss,
    /// From the cache, after the origin confirmed it for this request.
    Revalidated,
    /// No stamp tells: the cache may have made a 304 itself, after it had asked the origin or without that.
    #[default]
    Unknown,
}

impl Hit {
    /// Whether the body came from the cache.
    pub const fn from_cache(self) -> bool {
        matches!(self, Self::Hit | Self::Revalidated)
    }
}

/// Whether an object that also exists in gzip was requested in gzip, and how it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InGzip {
    /// It was not requested so, or does not exist in gzip.
    #[default]
    NotAsked,
    /// It was requested in gzip, and came uncoded.
    Asked,
    /// It was requested in gzip, and came so.
    Came,
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// Answered, and its time counts. It may have faults that are the cache's.
    Good,
    /// Broken off by the robot, as it was meant to be.
    Aborted,
    /// The reply is not the requested object: the faults say why.
    Wrong,
    /// No whole reply.
    Failed(ErrorClass),
}

/// The judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyJudgement {
    /// The kind of request.
    pub kind: RequestKind,
    /// Its outcome.
    pub outcome: RequestOutcome,
    /// The source of the reply.
    pub hit: Hit,
    /// Whether the object may be kept by caches.
    pub cachable: bool,
    /// Whether the object had been asked for before.
    pub repeat: bool,
    /// Whether an ideal cache would have had it.
    pub offered: bool,
    /// The form in which it was requested and came.
    pub in_gzip: InGzip,
    /// Of a hit: the request for which the origin made the reply or confirmed it last.
    pub fetched_for: Option<u64>,
    /// Of a hit: whether its lifetime was over, or nearly, so that it may be fetched anew in the background.
    pub is_due: bool,
    /// Faults, and events worth counting.
    pub faults: FaultSet,
}

impl ReplyJudgement {
    /// Whether the request failed.
    pub const fn failed(&self) -> bool {
        matches!(self.outcome, RequestOutcome::Wrong | RequestOutcome::Failed(_))
    }

    /// Whether the request counts for hit ratios.
    pub fn basic(&self) -> bool {
        self.kind == RequestKind::Basic
    }

    /// Whether the reply was one that a cache could newly store.
    pub fn fill(&self) -> bool {
        self.basic() && self.cachable && self.hit == Hit::Miss
    }
}

/// Judges one request.
pub fn judge(asked: &JudgedRequest<'_>, came: &ReceivedReply<'_>) -> ReplyJudgement {
    let mut judged = ReplyJudgement {
        kind: asked.kind,
        outcome: RequestOutcome::Good,
        hit: Hit::Unknown,
        cachable: asked.cachable(),
        repeat: asked.repeat,
        offered: asked.offered(),
        in_gzip: asked.in_gzip(),
        fetched_for: None,
        is_due: false,
        faults: FaultSet::NONE,
    };
    let status = came.status.or_else(|| status_of(came.head));
    if asked.kind == RequestKind::Abort && came.error == Some(ErrorClass::CutOff) {
        // An aborted reply has to be the object.
        judged.faults.add_if(status.is_some_and(|status| status != 200), ReplyFault::UnexpectedStatus);
        judged.outcome =
            if judged.faults.is_empty() { RequestOutcome::Aborted } else { RequestOutcome::Wrong };
        return judged;
    }
    if let Some(class) = came.error.filter(|class| !speaks_of_content(*class)) {
        judged.outcome = RequestOutcome::Failed(class);
        return judged;
    }
    let fields = Fields::read(came.head, asked.stamp, asked.words);
    judged.hit = origin_of(asked, &fields, status);
    if judged.hit == Hit::Hit {
        judged.fetched_for = fields.stamp.map(|stamp| stamp.told.stamp());
        judged.is_due = age::is_due(asked, &fields);
    }
    if judged.in_gzip == InGzip::Asked && fields.coding == ContentCoding::Gzip {
        judged.in_gzip = InGzip::Came;
    }
    judged.faults = checks::faults(asked, came, status, &fields, judged.hit);
    if judged.faults.weight() == Weight::Fails {
        judged.outcome = RequestOutcome::Wrong;
    } else if asked.kind == RequestKind::Abort {
        // All of it was there before the robot could abort: not a request whose time counts either.
        judged.outcome = RequestOutcome::Aborted;
    }
    judged
}

/// The status in a head's first line.
pub fn status_of(head: &[u8]) -> Option<u16> {
    let digits = head.split(|&byte| byte == b' ').nth(1)?.get(..3)?;
    let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether the load generator's class says that a whole reply came which was not the right one: that is judged here.
const fn speaks_of_content(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::ServerError
            | ErrorClass::ClientError
            | ErrorClass::WrongStatus
            | ErrorClass::WrongLength
            | ErrorClass::WrongBody
    )
}

fn origin_of(asked: &JudgedRequest<'_>, fields: &Fields<'_>, status: Option<u16>) -> Hit {
    match fields.stamp.map(|stamp| stamp.told) {
        Some(OriginAction::Made(stamp)) if stamp == asked.stamp => Hit::Miss,
        // The origin's answer to the robot's own condition: nothing need be stored.
        Some(OriginAction::Valid(stamp))
            if stamp == asked.stamp && status == Some(304) && checks::conditional(asked.kind) =>
        {
            Hit::Miss
        }
        Some(OriginAction::Valid(stamp)) if stamp == asked.stamp => Hit::Revalidated,
        Some(_) => Hit::Hit,
        None => Hit::Unknown,
    }
}

#[cfg(test)]
mod tests;
