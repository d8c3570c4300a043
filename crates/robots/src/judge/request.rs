//! A request as the judge needs it, and the origin's true state of its object.
//!
//! Measuring side, hot: made once a reply, by the owner of the table of requests in flight. Holds no judgement and no
//! bytes of a reply.

use super::{GRACE_SECS, InGzip};
use bakeoff_content::Distribution;
use bakeoff_content::world::{Model, Object};
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::{Upload, Words};
use serde::{Deserialize, Serialize};

/// The kind of a request. Only basic ones enter hit ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// A GET without anything below.
    Basic,
    /// If-Modified-Since one second before the last change: 200 is right.
    Ims200,
    /// If-Modified-Since with the date of the last change: 304 is right.
    Ims304,
    /// `Cache-Control: no-cache`: a cache must ask the origin.
    Reload,
    /// The bytes from `first` to `last`, both of them too.
    Range {
        /// The first byte asked for.
        first: u64,
        /// The last byte asked for; beyond the end means the end.
        last: u64,
    },
    /// HEAD.
    Head,
    /// POST.
    Post,
    /// A GET that the robot breaks off inside the body.
    Abort,
    /// If-None-Match with another entity tag than the object's: 200 is right.
    Etag200,
    /// If-None-Match with the object's entity tag: 304 is right.
    Etag304,
    /// If-Match with another entity tag than the object's: 412 is right, and 200 of a cache, which may leave the
    /// condition to the origin (RFC 9110 section 13.1.1).
    Match412,
    /// A GET with a field that `Connection` lists.
    Hop,
}

impl RequestKind {
    /// Number of kinds.
    pub const COUNT: usize = 12;
    /// The labels in the order of [`RequestKind::index`].
    pub const LABELS: [&'static str; Self::COUNT] = [
        "basic", "ims200", "ims304", "reload", "range", "head", "post", "abort", "etag200", "etag304",
        "match412", "hop",
    ];

    /// Its place in tables.
    pub const fn index(self) -> usize {
        match self {
            Self::Basic => 0,
            Self::Ims200 => 1,
            Self::Ims304 => 2,
            Self::Reload => 3,
            Self::Range { .. } => 4,
            Self::Head => 5,
            Self::Post => 6,
            Self::Abort => 7,
            Self::Etag200 => 8,
            Self::Etag304 => 9,
            Self::Match412 => 10,
            Self::Hop => 11,
        }
    }

    /// The word in counters and reports.
    pub const fn label(self) -> &'static str {
        Self::LABELS[self.index()]
    }
}

/// The content codings that a request accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accepts {
    /// No header line, by which any is accepted (RFC 9110 section 12.5.3).
    #[default]
    Anything,
    /// The object as it is, and no coding.
    Identity,
    /// gzip.
    Gzip,
}

/// How long a fetch from the origin can have taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FetchTime<'a> {
    /// The kinds of objects, of which one may have a think time of its own.
    pub model: &'a Model,
    /// Think time of the others.
    pub think: Option<&'a Distribution>,
    /// The object's kind.
    pub kind: u8,
    /// Most that a reply of the origin took beyond its think time, so far in the run.
    pub path: Nanos,
}

impl FetchTime<'_> {
    /// Longest time of the fetch by the request with this stamp.
    pub fn longest(&self, stamp: u64) -> Nanos {
        self.model.think_time(self.think, self.kind, stamp) + self.path
    }
}

/// One request, and the truth about its object. To be filled when the request has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedRequest<'a> {
    /// The stamp in the request's `X-Bakeoff: ask=`. Never 0.
    pub stamp: u64,
    /// The kind of request.
    pub kind: RequestKind,
    /// Whether the object had been asked for before in this world: chosen as a repeat. An offered hit is
    /// a basic request for a cachable object that repeats.
    pub repeat: bool,
    /// The content codings that the request accepts.
    pub accepts: Accepts,
    /// The body that it sent.
    pub upload: Upload,
    /// The words of the run's stamps.
    pub words: &'a Words,
    /// The object's id as stamps write it (`ObjectName::write_id`).
    pub id: &'a [u8],
    /// The object's Content-Type.
    pub media_type: &'a [u8],
    /// The object, for the lifetimes of versions that are over; `None`: they ended with their versions.
    pub object: Option<&'a Object>,
    /// The state of the object at the origin.
    pub truth: Truth,
    /// When the run began, since 1970: no cached copy of the object is older.
    pub begun_unix: Nanos,
    /// When the request was written and handed to its connection, since 1970.
    pub sent_unix: Nanos,
    /// When its reply was complete, since 1970.
    pub done_unix: Nanos,
    /// How long a fetch of the object can have taken; `None`: no time.
    pub fetch: Option<FetchTime<'a>>,
}

/// The state of an object at the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Length of the whole body.
    pub body_bytes: u64,
    /// Whether caches may keep it.
    pub cachable: bool,
    /// Whether it exists in gzip, too.
    pub gzip: bool,
    /// The version [`GRACE_SECS`](super::GRACE_SECS) before `sent_unix`.
    pub at_sent: Known,
    /// The version at `sent_unix`.
    pub between: Known,
    /// The version [`GRACE_SECS`](super::GRACE_SECS) after `done_unix`.
    pub at_done: Known,
}

impl Truth {
    /// The truth about this object for a request of that time.
    pub fn of(object: &Object, sent_unix: Nanos, done_unix: Nanos) -> Self {
        let sent_secs = sent_unix.whole_secs();
        let at_sent = Known::of(object, sent_secs.saturating_sub(GRACE_SECS));
        let at_done = Known::of(object, done_unix.whole_secs().saturating_add(GRACE_SECS));
        let changed = at_sent.version != at_done.version;
        Self {
            body_bytes: object.size,
            cachable: object.cachable,
            gzip: object.gzip,
            at_sent,
            between: if changed { Known::of(object, sent_secs) } else { at_sent },
            at_done,
        }
    }

    /// The versions that may have been given.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Known> {
        [&self.at_sent, &self.between, &self.at_done].into_iter()
    }

    /// The version with this number, if it is one that may have been given.
    pub(super) fn of_version(&self, number: u64) -> Option<&Known> {
        self.versions().find(|known| known.version == number)
    }
}

/// One version of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its number, which grows with every change.
    pub version: u64,
    /// Its Last-Modified in seconds since 1970, where the origin shows one.
    pub last_modified: Option<u64>,
    /// Its entity tag, as a number.
    pub etag: u64,
    /// Its lifetime in caches.
    pub freshness: Freshness,
}

impl Known {
    fn of(object: &Object, unix_secs: u64) -> Self {
        let version = object.at(unix_secs);
        let freshness = match version.expires {
            None => Freshness::Unsaid,
            Some(expires) if object.expires_moves() => Freshness::For(expires.saturating_sub(unix_secs)),
            Some(expires) => Freshness::Until(expires),
        };
        Self { version: version.number, last_modified: version.last_modified, etag: version.etag, freshness }
    }
}

/// The lifetime of a version, as Expires and max-age state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Neither is sent.
    #[default]
    Unsaid,
    /// Expires is the same in every reply, in seconds since 1970; max-age is what was left of it when the reply was
    /// made.
    Until(u64),
    /// Expires moves with the clock; max-age is the same in every reply.
    For(u64),
}

impl JudgedRequest<'_> {
    /// Whether the request counts for hit ratios.
    pub fn basic(&self) -> bool {
        self.kind == RequestKind::Basic
    }

    /// Whether the form in gzip was requested.
    pub(super) fn in_gzip(&self) -> InGzip {
        if self.accepts == Accepts::Gzip && self.truth.gzip { InGzip::Asked } else { InGzip::NotAsked }
    }

    /// Whether caches may keep the reply.
    pub(super) fn cachable(&self) -> bool {
        self.truth.cachable && self.kind != RequestKind::Post
    }

    /// Whether an ideal cache would have had the object.
    pub fn offered(&self) -> bool {
        self.basic() && self.repeat && self.truth.cachable
    }

    /// Whether a version older than any that may come could have been fresh by what the origin said of it, or may be
    /// taken for fresh by guess (RFC 9111 section 4.2.2). Cold.
    pub(super) fn may_be_old(&self) -> bool {
        let Some(object) = self.object.filter(|_| self.truth.cachable) else { return false };
        let sent = self.sent_unix.whole_secs().saturating_sub(GRACE_SECS);
        object.older_stale_from(sent).is_none_or(|from| sent < from)
    }

    /// Whether the object may have changed while the request was under way, by either clock.
    pub(super) fn changed_in_flight(&self) -> bool {
        self.truth.at_sent.version != self.truth.at_done.version
    }
}
