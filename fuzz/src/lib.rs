//! Fuzz targets: one function for each parser, with its invariant.
//!
//! Shared by the fuzz binaries beside it and by `tests/fuzz_smoke`, which runs the same functions over the seeds in
//! every `make test`. A function returns when the invariant holds and panics when not.

#![forbid(unsafe_code)]

mod h2;
#[path = "../../crates/wire/tests/heads/oracle.rs"]
mod heads;
mod robots;

use bakeoff_content::world::{Model, ObjectName};
use bakeoff_content::{Catalogue, SplitMix64};
use bakeoff_plan::Plan;
use bakeoff_wire::access_log::{self, Format, LogEntry};
use bakeoff_wire::http1::{
    ReplyError, ReplyHead, ReplyReader, ReplyStep, RequestReader, http_date, parse_http_date,
};
use bakeoff_wire::stamp::{ReplyStamp, Words};
use std::path::Path;
use std::sync::OnceLock;

/// A target: its name, which is also its folder of seeds, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 11] = [
    ("reply", reply),
    ("request", request),
    ("h2_client", h2_client),
    ("h2_server", h2_server),
    ("access_log", access_log),
    ("plan", plan),
    ("catalogue", catalogue),
    ("world", world),
    ("stamp", stamp),
    ("judge", judge),
    ("robots_plan", robots_plan),
];

/// Length limit of a reply: below the limit of a head, so that the latter is not reached in one split and missed in
/// another.
const MAX_REPLY_BYTES: usize = 60_000;

/// A reply gives the same result however it is split; and `httparse` agrees on its head.
///
/// The first byte chooses the request (`H`: a HEAD request, `C`: CONNECT), the second is the seed of the splits.
pub fn reply(data: &[u8]) {
    let [method, seed, bytes @ ..] = data else { return };
    let mut bytes = bytes[..bytes.len().min(MAX_REPLY_BYTES)].to_vec();
    // A head in pieces is parsed again when a line ends: a fault in the last line shows at its end. So every input
    // has one.
    bytes.push(b'\n');
    let (method, to_head) = (*method, *method == b'H');
    let whole = read_reply(method, &[&bytes]);
    let pieces = split(&bytes, u64::from(*seed));
    assert_eq!(read_reply(method, &pieces), whole, "split by seed {seed}");
    if method == b'C' && whole.head.is_some_and(|head| head.status < 300) {
        assert!(whole.body.is_empty() && whole.surplus.is_some(), "a tunnel's bytes are no body");
    }
    for pieces in [&[&bytes[..]][..], &pieces] {
        assert_eq!(heads::ours(pieces, to_head), heads::httparse(pieces, to_head), "the head by httparse");
    }
    if bytes.len() <= 2_000 {
        assert_eq!(read_reply(method, &bytes.chunks(1).collect::<Vec<_>>()), whole, "byte by byte");
    }
}

/// Result of parsing one reply.
#[derive(Debug, PartialEq, Eq)]
struct Learned {
    head: Option<ReplyHead>,
    body: Vec<u8>,
    /// Bytes behind the reply's end, if it ended.
    surplus: Option<usize>,
    error: Option<ReplyError>,
    ends_with_close: bool,
}

fn read_reply(method: u8, pieces: &[&[u8]]) -> Learned {
    let mut reader = ReplyReader::default();
    match method {
        b'C' => reader.begin_connect(),
        other => reader.begin(other == b'H'),
    }
    let mut learned =
        Learned { head: None, body: Vec::new(), surplus: None, error: None, ends_with_close: false };
    'pieces: for piece in pieces {
        let mut rest = *piece;
        while learned.surplus.is_none() {
            let before = rest.len();
            match reader.step(rest) {
                Ok(ReplyStep::More) => continue 'pieces,
                Ok(ReplyStep::Head(used, head)) => {
                    assert!(learned.head.replace(head).is_none(), "two heads");
                    rest = &rest[used..];
                    continue;
                }
                Ok(ReplyStep::Body { skip, len }) => {
                    learned.body.extend_from_slice(&rest[skip..skip + len]);
                    rest = &rest[skip + len..];
                }
                Ok(ReplyStep::End(used)) => {
                    rest = &rest[used..];
                    learned.surplus = Some(0);
                }
                Err(error) => {
                    learned.error = Some(error);
                    break 'pieces;
                }
            }
            assert!(rest.len() < before || learned.surplus.is_some(), "a step that takes nothing");
        }
        learned.surplus = learned.surplus.map(|surplus| surplus + rest.len());
    }
    learned.ends_with_close = learned.error.is_none() && reader.ends_with_close();
    if learned.error.is_some() {
        // How much of a body came before its fault depends on the pieces.
        learned.body.clear();
    }
    learned
}

/// Pieces of random length, short ones more often.
fn split(bytes: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut random = SplitMix64::new(seed);
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let longest = 1_u64 << (random.next_u64() % 9);
        let length = ((random.next_u64() % longest) as usize + 1).min(rest.len());
        pieces.push(&rest[..length]);
        rest = &rest[length..];
    }
    pieces
}

/// A head is parsed as soon as it is complete, and more bytes behind it change nothing.
pub fn request(data: &[u8]) {
    let whole = RequestReader::head(data);
    for end in prefixes(data.len()) {
        let Ok(Some(early)) = RequestReader::head(&data[..end]) else { continue };
        assert!(early.text.len() <= end, "a head longer than its bytes");
        let late = whole.as_ref().expect("right in a prefix, wrong in the whole");
        let late = late.as_ref().expect("complete in a prefix, not in the whole");
        assert_eq!(format!("{early:?}"), format!("{late:?}"));
    }
    if let Ok(Some(head)) = whole {
        assert!(!head.target.is_empty() && head.text.len() <= data.len());
        let exactly = RequestReader::head(head.text);
        assert_eq!(format!("{exactly:?}"), format!("{:?}", RequestReader::head(data)));
        if let Some(seconds) = head.if_modified_since.and_then(parse_http_date) {
            assert_eq!(
                parse_http_date(http_date(seconds).as_bytes()),
                Some(seconds),
                "the date's round trip"
            );
        }
    }
}

/// Every length of a short input, some of a long one.
fn prefixes(length: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by(length / 300 + 1)
}

/// Replies of HTTP/2 give the same result however they are split.
pub fn h2_client(data: &[u8]) {
    h2::client(data);
}

/// Requests of HTTP/2 give the same result however they are split.
pub fn h2_server(data: &[u8]) {
    h2::server(data);
}

/// A format of the administrator's: kept, as each reading of its text is for good.
static OWN_FORMAT: OnceLock<Format> = OnceLock::new();

/// No line breaks a parser, and every field is part of the line.
pub fn access_log(data: &[u8]) {
    let lines = || data.split(|&byte| byte == b'\n');
    let own = r#"nginx:$time_local|$request_method|$host|$status|"$request_uri" $body_bytes_sent;"#;
    let own = *OWN_FORMAT.get_or_init(|| own.parse().unwrap_or(Format::Common));
    // A log that names its fields may have no line behind that.
    if let Ok(format) = access_log::detect(lines().take(100)) {
        assert!(
            matches!(format, Format::W3c(_)) || lines().any(|line| access_log::parse(format, line).is_ok()),
            "{format}: detected, none parses"
        );
    }
    for line in lines() {
        for format in Format::ALL.into_iter().chain([own]) {
            if let Ok(entry) = access_log::parse(format, line) {
                check_entry(line, format, &entry);
            }
        }
    }
}

fn check_entry(line: &[u8], format: Format, entry: &LogEntry<'_>) {
    assert!(entry.status <= 999, "{format}: status {}", entry.status);
    assert!(is_part(entry.target, line) && is_part(entry.method, line), "{format}: a field from elsewhere");
    let mut plain = Vec::new();
    access_log::unescape(entry.target, &mut plain);
    assert!(plain.len() <= entry.target.len(), "{format}: escapes made a target longer");
    // Squid writes URLs without escapes of its own: a backslash there is a backslash.
    let announced = entry.escaped || plain == entry.target || format == Format::Squid;
    assert!(announced, "{format}: an escape that was not announced");
    if !line.ends_with(b"\r") {
        let with_return = [line, b"\r"].concat();
        let again = access_log::parse(format, &with_return);
        assert_eq!(again.as_ref(), Ok(entry), "{format}: a carriage return made a difference");
    }
}

fn is_part(field: &[u8], line: &[u8]) -> bool {
    field.is_empty() || line.as_ptr_range().contains(&field.as_ptr())
}

/// A text is a plan that can be run, or it is refused with a message.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Plan::parse("fuzz", "fuzz.toml", text, Path::new("/nonexistent")) {
        Ok(plan) => {
            let bases = |arm| plan.baselines.is(plan.baselines.of(arm));
            assert!((0..plan.arms.len()).all(bases), "a baseline that is none");
            let names = plan.names();
            assert_eq!(names.len(), plan.arms.len() + 1, "every arm once, the baseline twice");
            assert!(names.iter().all(|name| plan.arm_of(name).is_some()), "a name without an arm");
        }
        Err(error) => assert!(!error.to_string().trim().is_empty(), "a refusal without words"),
    }
}

/// A catalogue that is read and written is the same catalogue.
pub fn catalogue(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let first = match Catalogue::from_text(text) {
        Ok(first) => first,
        Err(error) => {
            assert!((1..=text.lines().count()).contains(&error.line), "{error}: no such line");
            return;
        }
    };
    let written = first.to_text();
    let second = Catalogue::from_text(&written).expect("what was written can be read");
    assert_eq!(second.to_text(), written);
    assert_eq!(second.len(), first.len());
    for (path, body) in first.iter() {
        assert_eq!(first.get(path), Some(body), "{path:?}: not found under its own path");
        assert_eq!(second.get(path), Some(body), "{path:?}: not found after the round trip");
        assert!(first.is_object(path), "{path:?}: not an object under its own path");
    }
}

/// A stamp that is read is written again the same, whatever stands around it.
pub fn stamp(data: &[u8]) {
    let (words, mut written) = (Words::default(), Vec::new());
    if let Some(stamp) = ReplyStamp::parse(&words, data) {
        stamp.write(&words, &mut written);
        assert_eq!(ReplyStamp::parse(&words, &written), Some(stamp));
        assert_eq!(words.parse_ask(data), None, "a reply's is no request's");
    }
    if let Some(ask) = words.parse_ask(data) {
        assert_ne!(ask, 0);
        words.write_ask(ask, &mut written);
        assert_eq!(words.parse_ask(&written), Some(ask));
    }
}

/// Any head at all is judged, and what fails has a reason.
pub fn judge(data: &[u8]) {
    robots::heads(data);
}

/// A text is a plan for robots, or it is refused with a message.
pub fn robots_plan(data: &[u8]) {
    robots::plan(data);
}

/// A model that is read is written and read again the same, and its objects are valid at any moment: none ends before
/// it began. The same bytes as a path or an id are a name or none.
pub fn world(data: &[u8]) {
    let plain = Model::from_toml("[[content]]\nname = \"any\"\nsize = \"const:1B\"").expect("it is a model");
    if let Some(name) = ObjectName::parse_id(&plain, data) {
        let mut id = Vec::new();
        name.write_id(&plain, &mut id);
        assert_eq!(id, data, "an id has one spelling");
    }
    let _ = ObjectName::parse_path(&plain, data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(model) = Model::from_toml(text) else { return };
    let written = model.to_toml();
    assert_eq!(Model::from_toml(&written).as_ref(), Ok(&model), "{written}");
    for (kind, of) in model.kinds().iter().enumerate() {
        assert!(of.size.mean() >= 0.0, "{}: {}", of.name, of.size);
        let name = ObjectName { world: 1, server: 2, kind: kind as u8, number: data.len() as u64 };
        let object = model.object(&name).expect("the model has this kind");
        assert!(object.embedded().len() <= 256);
        for now in [0, 1_800_000_000, u64::from(u32::MAX)] {
            let version = object.at(now);
            assert!(version.last_modified.is_none_or(|moment| moment <= now) && now < version.next_change);
        }
        let mut path = Vec::new();
        name.write_path(&model, &mut path);
        assert_eq!(ObjectName::parse_path(&model, &path), Some(name), "{}", String::from_utf8_lossy(&path));
    }
}
