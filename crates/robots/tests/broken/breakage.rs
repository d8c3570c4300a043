//! The faults that the test's proxy can be given, and the effect of each on a reply.
//!
//! Cold. Those that spoil a reply do so on its way out, so that store and origin do not see it: each spoiled reply is
//! one fault, and nothing follows from it.

use crate::message::Message;
use bakeoff_wire::http1::http_date;

/// The fault of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breakage {
    /// Nothing.
    Nothing,
    /// Nothing, but it lets some requests wait before it looks at them.
    Dawdles,
    /// Nothing: it asks for gzip alone, and unpacks for clients that do not accept that.
    Unpacks,
    // Of the cache, always:
    ServesStale,
    KeepsPrivate,
    NeverKeeps,
    BypassesUnderLoad,
    IgnoresReload,
    IgnoresVary,
    KeepsPosts,
    // Of one reply in some:
    SwapsObjects,
    KeepsOldBodies,
    JoinsVersions,
    KeepsOldParts,
    CutsBodies,
    ShortensBodies,
    FlipsABit,
    /// The same, but for requests that it knows to be bakeoff's.
    SparesBakeoff,
    LosesLastModified,
    LosesEtag,
    ChangesCacheControl,
    ChangesExpires,
    ChangesMaxAge,
    ChangesEtag,
    ChangesLastModified,
    ChangesContentType,
    LosesVary,
    AddsCookies,
    AddsToAge,
    Sends304Unasked,
    IgnoresConditions,
    MatchesAnyTag,
    IgnoresRanges,
    ShiftsRanges,
    RepeatsPosts,
    DropsStamps,
    FindsALoop,
    GoesRound,
    ClosesEarly,
    DropsDates,
    DatesAhead,
    ClaimsHits,
    Refuses,
    DoublesEtags,
    ContradictsMaxAge,
    AddsDirectives,
    AddsVary,
    AddsFields,
    ChangesPosts,
    LengthensNotModified,
    RetagsNotModified,
    StrengthensTags,
    DatesBeforeTheRun,
    ChangesHeadLength,
    SuffixesTags,
    OverflowsAge,
    ZeroesExpires,
    RefusesRanges,
    StartsRangesAtZero,
    AddsScripts,
    MakesPages,
    Redirects,
    MarksImmutable,
    LosesPrivate,
    // Of one request in some:
    PassesHop,
    CutsUploads,
    ChangesUploads,
    GetsUploads,
}

/// The way in which a reply leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    Whole,
    /// Cut off by so many bytes of the body.
    Short(usize),
    Nothing,
}

impl Breakage {
    /// Spoils a reply that left the cache whole. `None`: it is of a kind that this does not touch.
    pub(crate) fn spoil(
        self,
        method: &str,
        reply: &mut Message,
        hit: bool,
        now_secs: u64,
    ) -> Option<Leaving> {
        let whole = reply.word(1) == "200" && !reply.body.is_empty();
        let (is_304, is_post, is_head) = (reply.word(1) == "304", method == "POST", method == "HEAD");
        match self {
            Self::CutsBodies if whole => return Some(Leaving::Short(reply.body.len().div_ceil(2))),
            Self::ClosesEarly => return Some(Leaving::Nothing),
            Self::ShortensBodies if whole => reply.set_body(reply.body[1..].to_vec()),
            Self::FlipsABit | Self::SparesBakeoff if whole => *reply.body.last_mut()? ^= 1,
            Self::LosesLastModified if reply.get("last-modified").is_some() => reply.remove("last-modified"),
            Self::LosesEtag if whole => reply.remove("etag"),
            Self::ChangesCacheControl if whole => change_control(reply),
            Self::ChangesExpires if reply.get("expires").is_some() => {
                reply.set("expires", http_date(now_secs + 60));
            }
            Self::ChangesMaxAge if reply.get("expires").is_some() => {
                reply.set("cache-control", "public, max-age=99999999999");
            }
            Self::ChangesEtag if whole => reply.set("etag", "\"0123456789abcdef\""),
            Self::ChangesLastModified if reply.get("last-modified").is_some() => {
                reply.set("last-modified", http_date(now_secs - 7));
            }
            Self::ChangesContentType if whole => reply.set("content-type", "text/html"),
            Self::LosesVary if whole && reply.get("vary").is_some() => reply.remove("vary"),
            Self::AddsCookies => reply.set("set-cookie", "robot=7"),
            Self::AddsToAge => {
                let age: u64 = reply.get("age")?.parse().ok()?;
                reply.set("age", (age + 60).to_string());
            }
            Self::Sends304Unasked if whole => not_modified(reply),
            Self::ShiftsRanges if reply.word(1) == "206" => shift_range(reply),
            Self::DropsStamps => reply.remove("x-bakeoff"),
            Self::FindsALoop => *reply = refusal("508 Loop Detected"),
            Self::Refuses => *reply = refusal("503 Service Unavailable"),
            Self::GoesRound => reply.set("via", ["1.1 round"; 10].join(", ")),
            Self::DropsDates => reply.remove("date"),
            Self::DatesAhead => reply.set("date", http_date(now_secs + 3600)),
            Self::ClaimsHits if is_miss(reply, hit) => reply.set("x-cache", "HIT from the.test"),
            Self::DoublesEtags if whole => reply.put_first("etag", "\"0123456789abcdef\""),
            Self::ContradictsMaxAge if reply.get("expires").is_some() => {
                reply.put_first("cache-control", "max-age=31536000");
            }
            Self::AddsDirectives => reply.put_first("cache-control", "s-maxage=60"),
            Self::AddsVary => reply.set("vary", "Cookie, User-Agent"),
            Self::AddsFields => reply.set("x-client", "127.0.0.1"),
            Self::ChangesPosts if is_post && whole => *reply.body.first_mut()? ^= 1,
            Self::LengthensNotModified if is_304 && reply.get("expires").is_some() => {
                reply.set("cache-control", "public, max-age=31536000");
            }
            Self::RetagsNotModified if is_304 => reply.set("etag", "\"0123456789abcdef\""),
            Self::StrengthensTags if whole && reply.get("content-encoding").is_some() => {
                let tag = reply.get("etag")?.strip_prefix("W/")?.to_owned();
                reply.set("etag", tag);
            }
            Self::DatesBeforeTheRun if hit => {
                reply.set("date", http_date(now_secs - 3_600));
                reply.set("age", "3600");
            }
            Self::ChangesHeadLength if is_head => {
                let length: u64 = reply.get("content-length")?.parse().ok()?;
                reply.set("content-length", (length + 1).to_string());
            }
            Self::SuffixesTags if whole => {
                let tag = reply.get("etag")?.trim_end_matches('"').to_owned();
                reply.set("etag", format!("{tag}-gzip\""));
            }
            Self::OverflowsAge if hit => reply.set("age", "2147483648"),
            Self::ZeroesExpires if reply.get("expires").is_some() => reply.set("expires", "0"),
            Self::RefusesRanges if reply.word(1) == "206" => {
                *reply = refusal("416 Range Not Satisfiable");
            }
            Self::AddsScripts if whole => {
                reply.set_body([&reply.body[..], b"<script src=//ads.test></script>"].concat());
            }
            Self::MakesPages => *reply = refusal("200 OK"),
            Self::Redirects => {
                *reply = refusal("302 Found");
                reply.set("location", "http://portal.test/");
            }
            Self::MarksImmutable if reply.get("expires").is_some() => {
                reply.put_first("cache-control", "immutable")
            }
            Self::LosesPrivate if reply.get("cache-control") == Some("private, no-cache") => {
                reply.set("cache-control", "no-cache");
            }
            _ => return None,
        }
        Some(Leaving::Whole)
    }
}

/// Whether the origin made it for this request. A reply that the origin confirmed may be called hit or miss.
fn is_miss(reply: &Message, hit: bool) -> bool {
    !hit && reply.get("x-bakeoff").is_some_and(|stamp| stamp.starts_with("made="))
}

/// Makes a 304 of a whole reply.
pub(crate) fn not_modified(reply: &mut Message) {
    "HTTP/1.1 304 Not Modified".clone_into(&mut reply.first);
    reply.remove("content-length");
    reply.body.clear();
}

fn change_control(reply: &mut Message) {
    let public = reply.get("cache-control").is_some_and(|control| control.contains("public"));
    reply.set("cache-control", if public { "private" } else { "public, max-age=60" });
}

/// Says that the part lies a byte further on than it does.
fn shift_range(reply: &mut Message) {
    let range = reply.get("content-range").unwrap().strip_prefix("bytes ").unwrap();
    let (part, whole) = range.split_once('/').unwrap();
    let (first, last) = part.split_once('-').unwrap();
    let next = |number: &str| number.parse::<u64>().unwrap() + 1;
    let shifted = format!("bytes {}-{}/{whole}", next(first), next(last));
    reply.set("content-range", shifted);
}

fn refusal(status: &str) -> Message {
    let mut reply = Message::new(format!("HTTP/1.1 {status}"));
    reply.set_body(b"no".to_vec());
    reply
}
