//! Second reading of a recording: RFC 9110 and 9111 over the heads that went past both ends of a cache.
//!
//! Cold. Shares no code with the judge, and knows neither the world nor its versions: what the origin said is what its
//! recorded replies say. An accusation is checked by the rule that it names; one that this reading cannot confirm is
//! cleared, with the reason.

use super::exchange::{OfOrigin, OfRobots, Recording};
use jiff::fmt::rfc2822::DateTimeParser;
use std::collections::HashMap;

/// Whole seconds and two clocks: nothing is held against a cache within so much.
const SLACK: f64 = 2.0;

/// A message's head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    first: String,
    /// Names in lower case.
    fields: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        let fields = lines.filter_map(|line| line.split_once(':'));
        let fields = fields.map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()));
        Self { first, fields: fields.collect() }
    }

    fn word(&self, nth: usize) -> &str {
        self.first.split(' ').nth(nth).unwrap_or_default()
    }

    fn status(&self) -> u16 {
        self.word(1).parse().unwrap_or(0)
    }

    fn all<'h>(&'h self, name: &str) -> impl Iterator<Item = &'h str> {
        self.fields.iter().filter(move |field| field.0 == name).map(|field| field.1.as_str())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Items of a list field, all lines together.
    fn items(&self, name: &str) -> Vec<String> {
        let items = self.all(name).flat_map(|line| line.split(','));
        items.map(|item| item.trim().to_lowercase()).filter(|item| !item.is_empty()).collect()
    }

    fn directive(&self, name: &str) -> Option<String> {
        let items = self.items("cache-control");
        let found = items.iter().find(|item| item.split('=').next() == Some(name))?;
        Some(found.split_once('=').map_or("", |(_, value)| value).trim_matches('"').to_owned())
    }

    fn date(&self, name: &str) -> Option<f64> {
        let parsed = DateTimeParser::new().parse_timestamp(self.get(name)?.replace("GMT", "+0000"));
        parsed.ok().map(|at| at.as_second() as f64)
    }

    /// 9111 4.2.1, for a shared cache; `None` where nothing explicit is said, and a heuristic may be used (4.2.2).
    pub(crate) fn lifetime(&self) -> Option<f64> {
        let of = |name: &str| self.directive(name).map(|value| value.parse().unwrap_or(0.0));
        of("s-maxage").or_else(|| of("max-age")).or_else(|| {
            self.get("expires")?;
            Some((self.date("expires").unwrap_or(0.0) - self.date("date").unwrap_or(0.0)).max(0.0))
        })
    }

    /// 9111 3: whether a shared cache must not give it to another request without asking.
    pub(crate) fn forbids(&self) -> bool {
        ["private", "no-store", "no-cache"].iter().any(|name| self.directive(name).is_some())
    }

    /// 9111 4.2.3: least and most seconds that it can be old, when the reply came to the cache at `got` for a request
    /// that had gone at `asked`, and it is now between `from` and `to`.
    pub(crate) fn ages(&self, asked: f64, got: f64, (from, to): (f64, f64)) -> (f64, f64) {
        let said = self.get("age").and_then(|age| age.parse().ok()).unwrap_or(0.0);
        let corrected = said + (got - asked);
        (said + (from - got).max(0.0), corrected + (to - got).max(0.0))
    }

    /// The stamp: what the origin did, for which request, whether that was a POST.
    fn stamp(&self) -> Option<(bool, u64, bool)> {
        let value = self.get("x-bakeoff")?;
        let (word, rest) = value.split_once('=')?;
        let number = u64::from_str_radix(rest.split(';').next()?.trim(), 16).ok()?;
        Some((word == "made", number, value.contains("; post")))
    }

    fn tag(&self) -> Option<&str> {
        self.get("etag").map(weak)
    }
}

/// A tag as weak comparison sees it (9110 8.8.3.2).
fn weak(tag: &str) -> &str {
    tag.trim().strip_prefix("W/").unwrap_or(tag.trim())
}

/// Whether the model finds an accusation true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Broken,
    Cleared(&'static str),
}

use Finding::{Broken, Cleared};

const fn broken_if(broken: bool, why_not: &'static str) -> Finding {
    if broken { Broken } else { Cleared(why_not) }
}

/// An exchange with the origin, read.
struct Fetch {
    stamp: u64,
    path: String,
    request: Head,
    reply: Head,
    body_crc: Option<u32>,
    asked: f64,
    done: f64,
}

/// See the module.
pub(crate) struct Model {
    fetches: Vec<Fetch>,
    by_stamp: HashMap<u64, Vec<usize>>,
    by_path: HashMap<String, Vec<usize>>,
    /// When the run began, in seconds since 1970.
    began: f64,
}

/// What a robot asked and got, read.
struct Seen<'r> {
    of: &'r OfRobots,
    request: Head,
    reply: Head,
    path: String,
    sent: f64,
    done: f64,
}

fn secs(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn path_of(target: &str) -> String {
    let rest = target.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    rest.unwrap_or(target).to_owned()
}

impl Model {
    pub(crate) fn of(recording: &Recording) -> Self {
        let fetches: Vec<Fetch> = recording.origin.iter().map(fetch).collect();
        let (mut by_stamp, mut by_path): (HashMap<u64, Vec<usize>>, HashMap<String, Vec<usize>>) =
            Default::default();
        for (place, fetch) in fetches.iter().enumerate() {
            by_stamp.entry(fetch.stamp).or_default().push(place);
            by_path.entry(fetch.path.clone()).or_default().push(place);
        }
        Self { fetches, by_stamp, by_path, began: recording.about.began_unix_ns as f64 / 1e9 }
    }

    /// Whether this reply breaks what the label names.
    pub(crate) fn check(&self, label: &str, of: &OfRobots) -> Finding {
        let request = Head::read(&of.request);
        let path = path_of(request.word(1));
        let seen = Seen {
            of,
            reply: Head::read(&of.reply),
            request,
            path,
            sent: secs(of.written),
            done: secs(of.done),
        };
        let Some(kept) = self.kept(&seen) else { return self.without_a_source(label, &seen) };
        let (reply, said) = (&seen.reply, |name: &str| kept.says(name));
        let differs = |name: &str| reply.get(name).is_some() && reply.get(name) != said(name);
        match label {
            "stale-hit" | "stale-by-configuration" => self.stale(&seen, &kept),
            "hit-on-uncachable" => {
                broken_if(kept.made.reply.forbids() && !kept.is_own(of), "it may be given")
            }
            "post-kept" => {
                broken_if(kept.made.request.word(0) == "POST" && !kept.is_own(of), "no POST was kept")
            }
            "lost-validators" => broken_if(
                ["etag", "last-modified"]
                    .iter()
                    .any(|name| said(name).is_some() && reply.get(name).is_none()),
                "the origin sent no more",
            ),
            "content-type-changed" => broken_if(
                reply.get("content-type") != kept.made.reply.get("content-type"),
                "it is the origin's",
            ),
            "validators-changed" => broken_if(
                reply.tag().is_some_and(|tag| said("etag").map(weak) != Some(tag))
                    || differs("last-modified"),
                "they are the origin's",
            ),
            "cachability-changed" => {
                let words = |head: &Head| {
                    let mut items = head.items("cache-control");
                    items.sort();
                    items
                };
                broken_if(words(reply) != words(kept.newest()) || differs("expires"), "they are the origin's")
            }
            "directive-added" => {
                let known = kept.newest().items("cache-control");
                broken_if(
                    reply.items("cache-control").iter().any(|item| !known.contains(item)),
                    "none was added",
                )
            }
            "field-doubled" => {
                let single =
                    ["etag", "date", "last-modified", "expires", "content-type", "content-range", "age"];
                broken_if(single.iter().any(|name| reply.all(name).count() > 1), "each comes once")
            }
            "cookie-added" => broken_if(reply.get("set-cookie").is_some(), "there is none"),
            "vary-lost" => broken_if(
                kept.made.reply.items("vary").iter().any(|name| !reply.items("vary").contains(name)),
                "the origin's are there",
            ),
            "unaccepted-coding" => broken_if(
                reply.get("content-encoding").is_some()
                    && seen.request.get("accept-encoding") == Some("identity"),
                "it was accepted",
            ),
            "tag-of-two-codings" => broken_if(
                reply.get("content-encoding").is_some()
                    && reply.get("etag").is_some_and(|tag| !tag.starts_with("W/")),
                "it is weak, or not coded",
            ),
            "age-wrong" => self.age(&seen, &kept),
            "date-missing" => broken_if(reply.date("date").is_none(), "there is one"),
            "date-off" => {
                let apart = |from: f64| {
                    reply.date("date").is_some_and(|date| (date - self.began - from).abs() > 60.0)
                };
                let of_origin = [Some(&kept.made.reply), kept.valid.map(|valid| &valid.reply)];
                let is_origins =
                    of_origin.into_iter().flatten().any(|head| head.get("date") == reply.get("date"));
                broken_if(
                    !is_origins && apart(seen.sent) && apart(seen.done),
                    "it is the origin's, or of now",
                )
            }
            "wrong-object" => broken_if(kept.made.path != seen.path, "it is the one asked for"),
            // 9110 8.6: of the form that this request would get with GET, so that of another coding is none.
            "head-length" => broken_if(
                seen.request.word(0) == "HEAD"
                    && (reply.get("content-length") != said("content-length")
                        || reply.get("content-encoding") != kept.made.reply.get("content-encoding")),
                "it is the origin's",
            ),
            "wrong-length" => {
                let whole = kept.made.reply.get("content-length").and_then(|length| length.parse().ok());
                let is_whole = reply.status() == 200 && seen.request.word(0) != "HEAD";
                let is_coded = reply.get("content-encoding") != kept.made.reply.get("content-encoding");
                broken_if(
                    is_whole && !is_coded && whole != Some(of.body_bytes),
                    "it is the origin's, or no whole one",
                )
            }
            "range-wrong" => {
                let asked = seen.request.get("range").and_then(|range| range.strip_prefix("bytes="));
                let got = reply.get("content-range").and_then(|range| range.strip_prefix("bytes "));
                let got = got.and_then(|range| range.split('/').next());
                broken_if(reply.status() == 206 && got != asked, "it is the part that was asked for")
            }
            "wrong304" => self.not_modified(&seen),
            "unexpected-status" => broken_if(reply.status() >= 400, "it is a good one"),
            "false-hit" => Cleared("a stamp of the origin is no made-up hit"),
            // Of a part, and of what was cut off, nothing here can clear it.
            "wrong-bytes" => {
                let is_whole = reply.status() == 200 && kept.made.reply.status() == 200;
                let is_same = of.body_crc.is_some() && of.body_crc == kept.made.body_crc;
                broken_if(!(is_whole && is_same), "they are those that the origin sent")
            }
            "upload-changed" | "foreign-reply" | "loop" => Broken,
            _ => Cleared("this reading knows no such rule"),
        }
    }

    /// 9110 7.6.1: whether a field that `Connection` listed came to the origin.
    pub(crate) fn passes_hops(&self) -> bool {
        self.fetches.iter().any(|fetch| fetch.request.get("x-bakeoff-hop").is_some())
    }

    /// The fetch that made what the reply holds, and the validation that the stamp names.
    fn kept(&self, seen: &Seen<'_>) -> Option<Kept<'_>> {
        let (is_made, stamp, _) = seen.reply.stamp()?;
        let of_stamp = || self.by_stamp.get(&stamp).into_iter().flatten().map(|place| &self.fetches[*place]);
        let brings = |fetch: &&Fetch| matches!(fetch.reply.status(), 200 | 206);
        if is_made {
            return of_stamp().rfind(brings).map(|made| Kept { made, valid: None });
        }
        let valid = of_stamp().rfind(|fetch| fetch.reply.status() == 304)?;
        let mut of_path = self.by_path.get(&valid.path)?.iter().map(|place| &self.fetches[*place]);
        let same = |fetch: &&Fetch| fetch.asked <= valid.done && fetch.reply.tag() == valid.reply.tag();
        let made = of_path.rfind(|fetch| brings(fetch) && same(fetch)).unwrap_or(valid);
        Some(Kept { made, valid: Some(valid) })
    }

    /// 9111 4.2.4. Fresh it is for as long as the origin said; without a word, for as long as a heuristic may say.
    fn stale(&self, seen: &Seen<'_>, kept: &Kept<'_>) -> Finding {
        if kept.is_own(seen.of) {
            return Cleared("the origin was asked for it");
        }
        let newest = kept.valid.unwrap_or(kept.made);
        let Some(lifetime) = kept.newest().lifetime() else {
            return Cleared("no lifetime was said: a heuristic may be used");
        };
        let (least, _) = newest.reply.ages(newest.asked, newest.done, (seen.sent, seen.sent));
        broken_if(least + SLACK >= lifetime + 1.0, "it was fresh")
    }

    /// 9111 4.2.3 and 5.1.
    fn age(&self, seen: &Seen<'_>, kept: &Kept<'_>) -> Finding {
        let newest = kept.valid.unwrap_or(kept.made);
        let (mut least, mut most) = newest.reply.ages(newest.asked, newest.done, (seen.sent, seen.done));
        if let Some(date) = seen.reply.date("date") {
            // Of a reply that was validated the Date may be that of its making.
            most = most.max(self.began + seen.done - date);
            least = least.min((self.began + seen.sent - date).max(0.0));
        }
        match seen.reply.get("age").map(|age| age.parse::<f64>()) {
            Some(Ok(age)) => broken_if(age + SLACK < least || age > most + SLACK, "it is as old as that"),
            Some(Err(_)) => Broken,
            None => broken_if(!kept.is_own(seen.of) && least > SLACK, "it is new"),
        }
    }

    /// 9110 13 and 15.4.5: right is a 304 that the origin itself gave for this request, or one whose condition holds
    /// for a reply that the cache may have kept, old or not.
    fn not_modified(&self, seen: &Seen<'_>) -> Finding {
        let of_stamp = self.by_stamp.get(&seen.of.stamp).into_iter().flatten();
        if of_stamp.into_iter().any(|place| self.fetches[*place].reply.status() == 304) {
            return Cleared("the origin gave it");
        }
        let of_path = self.by_path.get(&seen.path).into_iter().flatten().map(|place| &self.fetches[*place]);
        let mut kept = of_path.filter(|fetch| fetch.asked <= seen.done);
        let tags =
            seen.request.get("if-none-match").map(|tags| tags.split(',').map(weak).collect::<Vec<_>>());
        let since = seen.request.date("if-modified-since");
        let holds = |fetch: &Fetch| match (&tags, since) {
            (Some(tags), _) => fetch.reply.tag().is_some_and(|tag| tags.contains(&tag)),
            (None, Some(since)) => {
                fetch.reply.date("last-modified").is_some_and(|modified| modified <= since)
            }
            (None, None) => false,
        };
        broken_if(!kept.any(holds), "its condition holds for what may be kept")
    }

    /// Of a reply that bears no stamp of a recorded fetch.
    fn without_a_source(&self, label: &str, seen: &Seen<'_>) -> Finding {
        match label {
            "wrong304" => self.not_modified(seen),
            "foreign-reply" => broken_if(seen.reply.stamp().is_none(), "it has a stamp"),
            "unexpected-status" => broken_if(seen.reply.status() >= 400, "it is a good one"),
            "date-missing" => broken_if(seen.reply.date("date").is_none(), "there is one"),
            "cachability-changed" | "validators-changed" => broken_if(
                // A 304 need not say all (9110 15.4.5): what it says is what the origin once said of it.
                self.by_path.get(&seen.path).into_iter().flatten().all(|place| {
                    let said = &self.fetches[*place].reply;
                    let differs =
                        |name| seen.reply.get(name).is_some() && seen.reply.get(name) != said.get(name);
                    ["cache-control", "last-modified", "expires"].into_iter().any(differs)
                        || seen.reply.tag().is_some_and(|tag| said.tag() != Some(tag))
                }),
                "the origin said so",
            ),
            "field-added" => Cleared("it may be"),
            _ => Broken,
        }
    }
}

/// What a cache may have kept.
struct Kept<'m> {
    made: &'m Fetch,
    valid: Option<&'m Fetch>,
}

impl Kept<'_> {
    /// The head that has the last word (9111 3.2).
    fn newest(&self) -> &Head {
        let has_words = |valid: &&Fetch| valid.reply.get("cache-control").is_some();
        self.valid.filter(has_words).map_or(&self.made.reply, |valid| &valid.reply)
    }

    fn says(&self, name: &str) -> Option<&str> {
        self.valid.and_then(|valid| valid.reply.get(name)).or_else(|| self.made.reply.get(name))
    }

    /// Whether the origin was asked for this very request.
    fn is_own(&self, of: &OfRobots) -> bool {
        self.valid.unwrap_or(self.made).stamp == of.stamp
    }
}

fn fetch(of: &OfOrigin) -> Fetch {
    let (request, reply) = (Head::read(&of.request), Head::read(&of.reply));
    let ask = request.get("x-bakeoff").and_then(|value| value.strip_prefix("ask="));
    let stamp = ask.and_then(|ask| u64::from_str_radix(ask.split(';').next()?.trim(), 16).ok()).unwrap_or(0);
    let path = path_of(request.word(1));
    Fetch { stamp, path, request, reply, body_crc: of.body_crc, asked: secs(of.asked), done: secs(of.done) }
}
