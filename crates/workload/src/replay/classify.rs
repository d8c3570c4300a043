//! Classification of log entries: a request that can be sent, or the reason why not.
//!
//! Hot between slices: once per line. Owns the rules for requests that can be replayed, and the names of their files. A
//! log is untrusted input: no result names a place outside the site.
//!
//! The request stays as it was logged but for this: an absolute URL loses scheme and host, a
//! fragment is cut off (no client may send one), and bytes that no target may hold raw (quotes,
//! braces, bytes beyond ASCII ...) are percent-encoded, which names the same file on every server.

use super::SkipReason;
use super::target::{Normal, check_segments, decode_path, encode_target, origin_form};
use crate::Method;
use bakeoff_content::normal_path;
use bakeoff_wire::access_log::{LogEntry, Stamp, unescape};

/// A request of the log that can be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayable<'a> {
    /// GET or HEAD.
    pub method: Method,
    /// As it is sent, query included.
    pub target: &'a [u8],
    /// The virtual host that was asked for, without a port, where the log has one that can be asked for.
    pub host: Option<&'a [u8]>,
    /// Percent-decoded path without query, repeated slashes and `.` segments: starts with `/`, is
    /// UTF-8, and has no `..`.
    pub path: &'a [u8],
    /// The status that was logged.
    pub status: u16,
    /// The size that was logged.
    pub bytes: Option<u64>,
    /// The moment that was logged.
    pub at: Option<Stamp>,
}

/// Classifies entries, one after the other, in buffers of its own.
#[derive(Debug, Default)]
pub struct Classifier {
    plain: Vec<u8>,
    target: Vec<u8>,
    path: Vec<u8>,
    host: Vec<u8>,
}

impl Classifier {
    /// The request of this entry.
    ///
    /// # Errors
    /// Why it is not replayed.
    pub fn classify(&mut self, entry: &LogEntry<'_>) -> Result<Replayable<'_>, SkipReason> {
        let method = self.clean(entry)?;
        let LogEntry { status, bytes, at, .. } = *entry;
        Ok(self.found(method, status, bytes, at))
    }

    /// As [`Self::classify`], leaving target and path in the buffers.
    pub(super) fn clean(&mut self, entry: &LogEntry<'_>) -> Result<Method, SkipReason> {
        let method = match entry.method {
            b"" => return Err(SkipReason::BrokenRequest),
            _ if entry.target == b"*" => return Err(SkipReason::Asterisk),
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            _ => return Err(SkipReason::Method),
        };
        self.plain.clear();
        let plain = if entry.escaped {
            unescape(entry.target, &mut self.plain);
            &self.plain
        } else if let Some(query) = entry.query {
            [entry.target, b"?", query].iter().for_each(|part| self.plain.extend_from_slice(part));
            &self.plain
        } else {
            entry.target
        };
        self.target.clear();
        encode_target(origin_form(plain)?, &mut self.target)?;
        self.host.clear();
        let host = entry.vhost.map(without_port).filter(|host| is_host(host));
        self.host.extend_from_slice(host.unwrap_or_default());
        self.path.clear();
        decode_path(&self.target, &mut self.path)?;
        if check_segments(&self.path)? == Normal::No {
            self.path = normal_path(&self.path).into_owned();
        }
        Ok(method)
    }

    /// The request that [`Self::clean`] left, with what its entry says besides.
    pub(super) fn found(
        &self,
        method: Method,
        status: u16,
        bytes: Option<u64>,
        at: Option<Stamp>,
    ) -> Replayable<'_> {
        let host = Some(&*self.host).filter(|host| !host.is_empty());
        Replayable { method, target: &self.target, host, path: &self.path, status, bytes, at }
    }
}

/// A host without the port behind it.
pub fn without_port(host: &[u8]) -> &[u8] {
    match host.iter().rposition(|&byte| byte == b':') {
        Some(colon) if host[colon + 1..].iter().all(u8::is_ascii_digit) => &host[..colon],
        _ => host,
    }
}

/// Whether a request can ask for it: a name with a letter or digit, or an address, with a port or without. `_` and
/// patterns are names of servers that have none.
pub fn is_host(host: &[u8]) -> bool {
    let may_stand = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(byte);
    host.len() <= 255 && host.iter().all(may_stand) && host.iter().any(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memchr::memchr;

    #[test]
    fn a_query_of_its_own_is_asked_for_and_names_no_file() {
        let mut classifier = Classifier::default();
        let entry = LogEntry { query: Some(b"x=1"), ..entry(b"/a") };
        let request = classifier.classify(&entry).unwrap();
        assert_eq!((request.target, request.path), (&b"/a?x=1"[..], &b"/a"[..]));
    }

    #[test]
    fn the_logged_host_is_asked_for_where_it_is_one() {
        let mut classifier = Classifier::default();
        for (vhost, host) in [
            (&b"shop.example:443"[..], Some(&b"shop.example"[..])),
            (b"[::1]:80", Some(b"[::1]")),
            (b"_", None),
            (b"~^www", None),
            (b"a b", None),
            (b"", None),
        ] {
            let entry = LogEntry { vhost: Some(vhost), ..entry(b"/") };
            assert_eq!(classifier.classify(&entry).unwrap().host, host);
        }
        assert_eq!(classifier.classify(&entry(b"/")).unwrap().host, None);
    }

    fn entry(target: &[u8]) -> LogEntry<'_> {
        let escaped = memchr(b'\\', target).is_some();
        LogEntry {
            at: None,
            method: b"GET",
            target,
            query: None,
            escaped,
            status: 200,
            bytes: None,
            vhost: None,
        }
    }

    fn reason(target: &[u8]) -> SkipReason {
        Classifier::default().classify(&entry(target)).unwrap_err()
    }

    /// Target and path as text.
    fn kept(target: &str) -> (String, String) {
        let mut classifier = Classifier::default();
        let request = classifier.classify(&entry(target.as_bytes())).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(request.target), text(request.path))
    }

    #[test]
    fn requests_are_kept_as_they_were_logged() {
        for (logged, target, path) in [
            ("/a?b=c d"[..6].trim_end(), "/a?b=c", "/a"),
            ("/", "/", "/"),
            ("//a/./b", "//a/./b", "/a/b"),
            ("/is%20it?x=%zz&y=../..", "/is%20it?x=%zz&y=../..", "/is it"),
            ("http://h:80/a?b", "/a?b", "/a"),
            ("HTTPS://h", "/", "/"),
            ("http://h?q", "/?q", "/"),
            ("/a#b?c", "/a", "/a"),
            ("/é|\\\"", "/%C3%A9%7C%22", "/é|\""),
            (r"/\xc3\xa9", "/%C3%A9", "/é"),
            ("/...", "/...", "/..."),
            ("/a..b/%252e%252e", "/a..b/%252e%252e", "/a..b/%2e%2e"),
        ] {
            assert_eq!(kept(logged), (target.to_owned(), path.to_owned()), "{logged}");
        }
    }

    #[test]
    fn names_that_leave_the_site_are_refused() {
        for target in ["/..", "/../etc/passwd", "/a/../../b", "/a/..", "/%2e%2e/x", "/.%2E/x", "/a/%2e%2e?q"]
        {
            assert_eq!(reason(target.as_bytes()), SkipReason::ParentDirectory, "{target}");
        }
        assert_eq!(reason(b"/a%2fb"), SkipReason::EncodedSlash);
        assert_eq!(reason(b"/..%2F..%2Fetc"), SkipReason::EncodedSlash);
        assert_eq!(reason(b"http://h/../x"), SkipReason::ParentDirectory);
        assert_eq!(reason(b"/.htaccess"), SkipReason::ServerFile);
        assert_eq!(reason(b"/a/index.html/b"), SkipReason::IndexAsDirectory);
    }

    #[test]
    fn bytes_that_cannot_be_sent_or_named_are_refused() {
        assert_eq!(reason(b"/a%00"), SkipReason::Nul);
        assert_eq!(reason(b"/a\0"), SkipReason::Nul);
        assert_eq!(reason(br"/a\x00"), SkipReason::Nul);
        assert_eq!(reason(br"/a\r\nHost: b"), SkipReason::Control);
        assert_eq!(reason(b"/a%0d%0aHost:"), SkipReason::Control);
        assert_eq!(reason(b"/a b"), SkipReason::Space);
        assert_eq!(reason(b"/a\x7f"), SkipReason::Control);
        assert_eq!(reason(b"/%ff"), SkipReason::NotUtf8);
        assert_eq!(reason(b"/\xe9"), SkipReason::NotUtf8);
        for target in ["/%", "/%4", "/%zz", "/%+1"] {
            assert_eq!(reason(target.as_bytes()), SkipReason::BadPercent, "{target}");
        }
    }

    #[test]
    fn over_long_names_are_refused_at_the_limit() {
        let of = |len: usize| [b"/".to_vec(), vec![b'a'; len]].concat();
        assert!(Classifier::default().classify(&entry(&of(255))).is_ok());
        assert_eq!(reason(&of(256)), SkipReason::NameTooLong);
        let deep = b"/abc".repeat(769);
        assert!(Classifier::default().classify(&entry(&deep[..3072])).is_ok());
        assert_eq!(reason(&deep), SkipReason::PathTooLong);
        let query = [b"/?".to_vec(), vec![b'a'; 7999]].concat();
        assert!(Classifier::default().classify(&entry(&query[..8000])).is_ok());
        assert_eq!(reason(&query), SkipReason::TargetTooLong);
    }

    #[test]
    fn other_methods_and_forms_have_their_names() {
        let mut classifier = Classifier::default();
        let mut of = |method: &'static str, target: &'static str| {
            let entry = LogEntry { method: method.as_bytes(), ..entry(target.as_bytes()) };
            classifier.classify(&entry).unwrap_err()
        };
        assert_eq!(of("OPTIONS", "*"), SkipReason::Asterisk);
        assert_eq!(of("POST", "/"), SkipReason::Method);
        assert_eq!(of("get", "/"), SkipReason::Method);
        assert_eq!(of("CONNECT", "h:443"), SkipReason::Method);
        assert_eq!(of("", "-"), SkipReason::BrokenRequest);
        assert_eq!(of("GET", "h:443"), SkipReason::NotAPath);
        assert_eq!(of("GET", "ftp://h/a"), SkipReason::NotAPath);
        assert_eq!(of("GET", "a/b"), SkipReason::NotAPath);
    }
}
