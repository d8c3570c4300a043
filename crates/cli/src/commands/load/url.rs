//! `bakeoff load`: the URL and the header lines, taken apart.
//!
//! Cold. Everything here is the user's: what is wrong is said with an example of what is right.

use crate::Failure;

/// An http or https URL.
pub(super) struct Url {
    pub(super) tls: bool,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::usage(format!("`{text}` is no URL to load: {why}; such as http://127.0.0.1:8080/"))
        };
        let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(wrong("it must start with http:// or https://")),
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
        if authority.contains('@') {
            return Err(wrong("user names in URLs are not sent"));
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((v6, after)) => (v6, after.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(digits) => digits.parse().map_err(|_| wrong("the port is no number up to 65535"))?,
        };
        if host.is_empty() {
            return Err(wrong("there is no host"));
        }
        Ok(Self { tls, host: host.to_owned(), port, path: path.to_owned() })
    }
}

/// The `Host` among header lines, and the others as they are sent.
pub(super) fn host_and_headers(lines: &[String]) -> Result<(Option<String>, Vec<u8>), Failure> {
    let (mut host, mut bytes) = (None, Vec::new());
    for line in lines {
        let fits = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&b))
        };
        let whole = line.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
        if !whole || !line.split_once(':').is_some_and(|(name, _)| fits(name)) {
            return Err(Failure::usage(format!("`{line}` is no header line; such as \"Accept: text/html\"")));
        }
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("host") => host = Some(value.trim().to_owned()),
            _ => bytes.extend([line.as_bytes(), b"\r\n"].concat()),
        }
    }
    Ok((host, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let url = Url::parse("https://[::1]:8443/a?b").map_err(|f| f.message).unwrap();
        assert_eq!((url.tls, url.host.as_str(), url.port, url.path.as_str()), (true, "::1", 8443, "/a?b"));
        let url = Url::parse("http://example").map_err(|f| f.message).unwrap();
        assert_eq!((url.port, url.path.as_str()), (80, "/"));
        for wrong in ["", "ftp://x", "http://", "http://u@h/", "http://h:99999/", "example.org"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn header_lines_cannot_smuggle() {
        let lines = ["A: b", "host: shop.example"].map(str::to_owned);
        let (host, others) = host_and_headers(&lines).map_err(|f| f.message).unwrap();
        assert_eq!((host.as_deref(), &others[..]), (Some("shop.example"), &b"A: b\r\n"[..]));
        for wrong in ["A", ": b", "A b: c", "A: b\r\nC: d"] {
            assert!(host_and_headers(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
