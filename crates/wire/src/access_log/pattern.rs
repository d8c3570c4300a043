//! Logs in a form that the administrator wrote, as nginx' `log_format` says it: variables and the text between them.
//!
//! Hot. A field ends where the text behind its variable begins; one in quotes ends at the quote that no backslash
//! escapes. What stands behind the last field that a replay needs is not looked at.

use super::fields::quoted;
use super::json::Value;
use super::keyed::{Found, Key, LogKeys, entry};
use super::{LineError, LogEntry};
use memchr::memmem;

/// The variables of nginx that say something about a request, the better ones of each kind first.
const VARIABLES: [(&str, Key); 15] = [
    ("request", Key::Request),
    ("request_method", Key::Method),
    ("request_uri", Key::Target),
    ("uri", Key::Target),
    ("document_uri", Key::Target),
    ("status", Key::Status),
    ("body_bytes_sent", Key::Size),
    ("bytes_sent", Key::Size),
    ("msec", Key::Time),
    ("time_iso8601", Key::Time),
    ("time_local", Key::Time),
    ("http_host", Key::Vhost),
    ("host", Key::Vhost),
    ("server_name", Key::Vhost),
    ("vhost", Key::Vhost),
];
/// Parts of a target that stand right behind its path.
const OF_TARGETS: [&str; 3] = ["is_args", "args", "query_string"];

/// A form of lines.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct LogPattern {
    /// The text before the first field.
    start: Vec<u8>,
    fields: Vec<Field>,
    keys: LogKeys,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Field {
    /// Its place among the known ones, and what it says; `None` where a replay does not need it.
    what: Option<(usize, Key)>,
    /// Spaces that are part of it.
    spaces: usize,
    /// The text behind it.
    end: Vec<u8>,
}

impl LogPattern {
    /// From the text of a `log_format`. It is kept as long as the program runs, which reads one or two.
    ///
    /// # Errors
    /// What is wrong with it, and what to write.
    pub(super) fn of_text(text: &str) -> Result<&'static Self, String> {
        let mut pieces = text.split('$');
        let start = pieces.next().unwrap_or_default().as_bytes().to_vec();
        let mut named: Vec<(&str, Field)> = Vec::new();
        for piece in pieces {
            let (name, end) = variable(piece).ok_or_else(|| {
                format!("`${piece}` is no variable: a name stands behind each `$`, as in $status")
            })?;
            if let Some((before, last)) = named.last_mut().filter(|(_, last)| last.end.is_empty()) {
                let is_of_target =
                    last.what.is_some_and(|(_, key)| key == Key::Target) && OF_TARGETS.contains(&name);
                if !is_of_target {
                    return Err(format!("nothing between ${before} and ${name} says where one ends"));
                }
                last.end = end.as_bytes().to_vec();
                continue;
            }
            named.push((name, Field::of(name, end)));
        }
        if let Some((name, _)) =
            named.iter().find(|(name, field)| *name == "request" && field.end.starts_with(b" "))
        {
            return Err(format!(
                "${name} holds spaces itself, so that a space cannot end it; write it in quotes, or describe \
                                its parts: $request_method $request_uri $server_protocol"
            ));
        }
        let mut fields: Vec<Field> = named.into_iter().map(|(_, field)| field).collect();
        if !fields
            .iter()
            .any(|field| field.what.is_some_and(|(_, key)| matches!(key, Key::Target | Key::Request)))
        {
            return Err("it has neither $request nor $request_uri ($uri), one of which is needed; $status, $body_bytes_sent and \
                        $time_local or $msec say more".to_owned());
        }
        let needed = fields.iter().rposition(|field| field.what.is_some()).map_or(0, |last| last + 1);
        fields.truncate(needed);
        let of: Vec<_> = VARIABLES
            .iter()
            .map(|(name, key)| (name.as_bytes(), *key))
            .filter(|(_, key)| fields.iter().any(|field| field.what.is_some_and(|(_, known)| known == *key)))
            .collect();
        let keys = LogKeys { name: "nginx", of: of.leak() };
        Ok(Box::leak(Box::new(Self { start, fields, keys })))
    }
}

impl Field {
    fn of(name: &str, end: &str) -> Self {
        let what =
            VARIABLES.iter().position(|(known, _)| *known == name).map(|rank| (rank, VARIABLES[rank].1));
        let spaces = usize::from(name == "time_local");
        Self { what, spaces, end: end.as_bytes().to_vec() }
    }

    /// The field at the start of `rest`, whether it has escapes, and the text behind its end.
    fn take<'a>(&self, rest: &'a [u8], is_last: bool) -> Result<(&'a [u8], bool, &'a [u8]), LineError> {
        if self.end.is_empty() {
            return Ok((rest, rest.contains(&b'\\'), &[]));
        }
        if let Some(behind) = self.end.strip_prefix(b"\"") {
            let field = quoted(rest)?;
            let rest = match field.rest.strip_prefix(behind) {
                Some(rest) => rest,
                None if is_last => &[],
                None => return Err(LineError::TooFewFields),
            };
            return Ok((field.text, field.escaped, rest));
        }
        let inner = if self.end.starts_with(b" ") { self.spaces } else { 0 };
        let from = memmem::find_iter(rest, b" ").nth(inner.wrapping_sub(1)).map_or(0, |at| at + 1);
        match memmem::find(&rest[from..], &self.end) {
            Some(at) => {
                let (field, behind) = (&rest[..from + at], &rest[from + at + self.end.len()..]);
                Ok((field, field.contains(&b'\\'), behind))
            }
            None if is_last => Ok((rest, rest.contains(&b'\\'), &[])),
            None => Err(LineError::TooFewFields),
        }
    }
}

/// `name rest` or `{name}rest`, from what stands behind a `$`.
fn variable(piece: &str) -> Option<(&str, &str)> {
    let (name, end) = match piece.strip_prefix('{') {
        Some(inner) => inner.split_once('}')?,
        None => {
            let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            piece.split_at(piece.find(|letter| !is_of_name(letter)).unwrap_or(piece.len()))
        }
    };
    (!name.is_empty()).then_some((name, end))
}

pub(super) fn parse<'a>(pattern: &LogPattern, line: &'a [u8]) -> Result<LogEntry<'a>, LineError> {
    if line.trim_ascii().is_empty() {
        return Err(LineError::Empty);
    }
    let mut rest = line.strip_prefix(&pattern.start[..]).ok_or(LineError::TooFewFields)?;
    let mut found: Found<'a> = [None; 7];
    for (at, field) in pattern.fields.iter().enumerate() {
        let (text, escaped, behind) = field.take(rest, at + 1 == pattern.fields.len())?;
        rest = behind;
        if let Some((rank, key)) = field.what {
            let slot = &mut found[key as usize];
            if slot.is_none_or(|(better, _)| rank < better) {
                *slot = Some((rank, Value::Text { text, escaped }));
            }
        }
    }
    entry(&pattern.keys, &found)
}

#[cfg(test)]
mod tests {
    use super::super::{Format, LineError, parse};

    fn format(text: &str) -> Format {
        format!("nginx:{text}").parse().unwrap()
    }

    const COMBINED: &str =
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer""#;

    #[test]
    fn nginx_s_own_format_and_lines_cut_behind_what_is_needed() {
        let line = br#"1.2.3.4 - jo [17/May/2015:10:05:03 +0000] "GET /a\x22?b HTTP/1.1" 200 700 "-" "x""#;
        for line in [
            &line[..],
            &line[..line.len() - 8],
            b"1.2.3.4 - jo [17/May/2015:10:05:03 +0000] \"GET /a\\x22?b HTTP/1.1\" 200 700\r",
        ] {
            let entry = parse(format(COMBINED), line).unwrap();
            assert_eq!((entry.method, entry.target, entry.escaped), (&b"GET"[..], &br"/a\x22?b"[..], true));
            assert_eq!((entry.status, entry.bytes), (200, Some(700)));
            assert_eq!(entry.at.unwrap().nanos, 1_431_857_103_000_000_000);
        }
        assert_eq!(parse(format(COMBINED), b"hello"), Err(LineError::TooFewFields));
        assert_eq!(parse(format(COMBINED), b" "), Err(LineError::Empty));
    }

    #[test]
    fn fields_between_bars_and_those_of_haproxy() {
        let entry = parse(
            format("$msec|$request_method|$host|$uri$is_args$args|$status|$request_time|$bytes_sent"),
            b"1431857103.250|HEAD|h|/a b?c|304|0.001|90",
        )
        .unwrap();
        assert_eq!(
            (entry.method, entry.target, entry.vhost),
            (&b"HEAD"[..], &b"/a b?c"[..], Some(&b"h"[..]))
        );
        assert_eq!((entry.status, entry.bytes, entry.at.unwrap().fine), (304, Some(90), true));
        let haproxy =
            r#"$a: $client [$time_local] $front $back $timers $status $bytes_sent $c $d $e $f $g "$request""#;
        let entry = parse(format(haproxy), br#"haproxy[1]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] in st/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /i.html HTTP/1.1""#).unwrap();
        assert_eq!((entry.target, entry.status, entry.bytes), (&b"/i.html"[..], 200, Some(2750)));
        assert_eq!(entry.at.unwrap().nanos, 1_233_922_454_655_000_000);
    }

    #[test]
    fn what_is_not_in_it_is_as_usual_and_a_time_may_hold_a_space() {
        let entry =
            parse(format("$time_local ${request_uri} $x"), b"17/May/2015:10:05:03 +0000 /a 1").unwrap();
        assert_eq!(
            (entry.method, entry.target, entry.status, entry.bytes),
            (&b"GET"[..], &b"/a"[..], 200, None)
        );
        assert_eq!(entry.at.unwrap().nanos, 1_431_857_103_000_000_000);
    }

    #[test]
    fn what_cannot_be_read_back_is_refused_with_what_to_write() {
        for (text, said) in [
            ("$status $body_bytes_sent", "neither $request nor $request_uri"),
            ("", "neither $request"),
            ("$request $status", "in quotes"),
            ("$host$request_uri $status", "nothing between $host and $request_uri"),
            ("$request_uri $", "no variable"),
        ] {
            let error = format!("nginx:{text}").parse::<Format>().unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("nginx:"), "{error}");
        }
    }
}
