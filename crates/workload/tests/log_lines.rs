//! Properties of access-log parsing: no bytes make it panic, and a written line is read back.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_wire::access_log::{Format, LogEntry, detect, parse, unescape};
use bakeoff_workload::replay::Classifier;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::LazyLock;

fn escaped(target: &[u8], json: bool) -> String {
    let escape = |&b: &u8| match b {
        b'"' | b'\\' => format!("\\{}", char::from(b)),
        0x20..0x7f => char::from(b).to_string(),
        _ if json && b < 0x80 => format!("\\u{b:04x}"),
        _ => format!("\\x{b:02x}"),
    };
    target.iter().map(escape).collect()
}

fn rendered(format: Format, target: &[u8], status: u16, bytes: Option<u64>, day: u32) -> String {
    let size = bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
    let time = format!("{day:02}/Dec/2023:23:59:59 -0130");
    let common =
        |target: &str| format!("1.2.3.4 - jo e [{time}] \"GET {target} HTTP/1.1\" {status:03} {size}");
    let plain = escaped(target, false);
    let ts = 1_701_388_800 + u64::from(day) * 86_400 - 1 + 5400;
    match format {
        Format::Common => common(&plain),
        Format::Combined => common(&plain) + r#" "-" "a \"b\" [c]" 12"#,
        Format::VhostCombined => format!("h:80 {} \"-\" \"-\"", common(&plain)),
        Format::NGINX_JSON => format!(
            r#"{{"time_local":"{time}","request":"GET {} HTTP/1.1","status":"{status:03}","body_bytes_sent":"{size}"}}"#,
            escaped(target, true)
        ),
        Format::CADDY => format!(
            r#"{{"ts":{ts}.25,"request":{{"method":"GET","uri":"{}","headers":{{"A":["{{"]}}}},"status":{status:03},"size":"{size}"}}"#,
            escaped(target, true)
        ),
        Format::Json(_) => format!(
            r#"{{"StartUTC":"2023-12-{day:02}T23:59:59.25-01:30","RequestMethod":"GET","RequestPath":"{}","DownstreamStatus":"{status:03}","DownstreamContentSize":"{size}"}}"#,
            escaped(target, true)
        ),
        Format::Squid => {
            let text = String::from_utf8_lossy(target).replace(' ', "%20");
            format!("1701480599.000    1 h TCP_HIT/{status:03} {} GET {text} - NONE/- -", bytes.unwrap_or(0))
        }
        Format::Pattern(_) => format!("{time}|GET|a|b|{status:03}|\"{plain}\"|{size}; tail"),
        Format::W3c(_) => unreachable!("it has no escapes"),
    }
}

/// A form of the administrator's, and what a `#Fields:` tells.
fn described() -> [Format; 2] {
    static FORMATS: LazyLock<[Format; 2]> = LazyLock::new(|| {
        let own = r#"nginx:$time_local|$request_method|$x|$z|$status|"${request_uri}"|$body_bytes_sent; $y"#;
        let header = b"#Fields: date time cs-method cs-uri-stem sc-status cs-uri-query sc-bytes cs-host";
        [own.parse().unwrap(), detect([&header[..]]).unwrap()]
    });
    *FORMATS
}

fn all() -> impl Iterator<Item = Format> {
    Format::ALL.into_iter().chain(described())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(line in vec(any::<u8>(), 0..300)) {
        for format in all() {
            if let Ok(entry) = parse(format, &line) {
                let _ = Classifier::default().classify(&entry);
            }
        }
        let _ = detect([&line[..]]);
        unescape(&line, &mut Vec::new());
    }

    /// Bytes that lines are made of, so that the parsers get further than their first field.
    #[test]
    fn no_likely_bytes_make_it_panic(line in r#"[a/0-9 :+.,"\\\[\]{}ux%#?-]{0,120}"#) {
        for format in all() {
            for start in ["", "1|2|3|4|200|\"/", "2015-05-17\t10:05:03\tGET\t/", "h - - [17/May/2015:10:05:03 +0000] \"GET /", r#"{"request":"GET /"#, "1.5 1 h T/200 1 GET /"] {
                let line = format!("{start}{line}");
                if let Ok(entry) = parse(format, line.as_bytes()) {
                    let _ = Classifier::default().classify(&entry);
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read(
        rest in vec(any::<u8>(), 0..60), status in 0..1000_u16, bytes in any::<Option<u64>>(), day in 1..32_u32,
    ) {
        let target = [b"/".to_vec(), rest].concat();
        let own = described()[0];
        for format in Format::ALL.into_iter().chain([own]).filter(|format| *format != Format::Squid) {
            let line = rendered(format, &target, status, bytes, day);
            let entry = parse(format, line.as_bytes()).unwrap();
            let mut plain = Vec::new();
            unescape(entry.target, &mut plain);
            prop_assert_eq!(&plain, &target, "{}", line);
            prop_assert_eq!((entry.method, entry.status, entry.bytes), (&b"GET"[..], status, bytes));
            let midnight = 1_701_388_800 + u64::from(day - 1) * 86_400; // 2023-12-01
            prop_assert_eq!(entry.at.unwrap().nanos / 1_000_000_000, midnight + 86_399 + 5400);
        }
    }

    /// No text of a format makes its reading panic, nor what is read with it.
    #[test]
    fn no_described_format_panics(
        text in r#"[$]?(request|status|uri|x|\{msec\}|time_local|args)?[ |"\[\]]{0,2}[$](request|request_uri|status|is_args)[ |"]{0,3}([$]status)?"#,
        fields in "(date|time|cs-uri-stem|sc-status|sc-bytes| |\t|#){0,12}",
        line in r#"[a/0-9 :|.,"\\\[\]\t#?-]{0,80}"#,
    ) {
        if let Ok(format) = format!("nginx:{text}").parse::<Format>() {
            let _ = parse(format, line.as_bytes());
        }
        if let Ok(format) = detect([format!("#Fields: {fields}").as_bytes()]) {
            let _ = parse(format, line.as_bytes());
        }
    }

    /// A target that passes the classifier can be sent and names a place inside the site.
    #[test]
    fn what_is_kept_is_safe(rest in vec(prop_oneof![
        any::<u8>(), Just(b'/'), Just(b'.'), Just(b'%'), Just(b'2'), Just(b'e'), Just(b'f'),
    ], 0..40)) {
        let target = [b"/".to_vec(), rest].concat();
        let entry = LogEntry { at: None, method: b"GET", target: &target, query: None, escaped: false, status: 200, bytes: None, vhost: None };
        let mut classifier = Classifier::default();
        let Ok(request) = classifier.classify(&entry) else { return Ok(()) };
        prop_assert!(request.target.starts_with(b"/") && request.target.iter().all(u8::is_ascii_graphic));
        let path = std::str::from_utf8(request.path).unwrap();
        prop_assert!(path.starts_with('/') && !path.contains("//") && !path.contains('\0'), "{}", path);
        prop_assert!(path.split('/').all(|part| part != ".." && part != "." && part.len() <= 255));
    }
}
