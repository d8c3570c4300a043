//! Addresses behind Apache, as `mod_proxy` writes them, taken apart.
//!
//! Measuring side, cold, pure.

/// Protocol behind the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Http,
    Https,
    FastCgi,
    /// One without a stand-in.
    Other,
}

/// A target in its parts: `BEFORE SCHEME://ADDRESS REST`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target<'t> {
    /// `proxy:`, or nothing.
    pub(super) before: &'t str,
    pub(super) scheme: &'t str,
    /// `HOST:PORT` as it is written, or `unix:PATH`.
    pub(super) address: &'t str,
    /// Path and what follows it.
    pub(super) rest: &'t str,
}

impl<'t> Target<'t> {
    /// `None`: no address of another server.
    pub(super) fn of(word: &'t str) -> Option<Self> {
        let (before, url) = match word.strip_prefix("proxy:") {
            Some(url) => ("proxy:", url),
            None => ("", word),
        };
        let (socket, url) = match url.split_once('|') {
            Some((socket, url)) if socket.starts_with("unix:") => (Some(socket), url),
            _ => (None, url),
        };
        let (scheme, behind) = url.split_once("://")?;
        if scheme.is_empty() || !scheme.chars().all(|c| c.is_ascii_alphanumeric()) || scheme == "balancer" {
            return None;
        }
        let end = end_of_address(behind);
        Some(Self { before, scheme, address: socket.unwrap_or(&behind[..end]), rest: &behind[end..] })
    }

    pub(super) fn spoken(&self) -> Spoken {
        match self.scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => Spoken::Http,
            "https" | "wss" => Spoken::Https,
            "fcgi" => Spoken::FastCgi,
            _ => Spoken::Other,
        }
    }
}

/// A path begins at a slash, or at a variable that is not the host itself: `http://app:3000$1`.
fn end_of_address(behind: &str) -> usize {
    let is_variable = |c: char| c == '$' || c == '%';
    let is_end = |(at, c): &(usize, char)| {
        *c == '/' || *c == '?' || (*at > 0 && is_variable(*c) && !behind[..*at].ends_with(':'))
    };
    behind.char_indices().find(is_end).map_or(behind.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_taken_apart() {
        for (word, before, scheme, address, rest) in [
            ("http://app:3000/api/", "", "http", "app:3000", "/api/"),
            ("http://app:3000$1", "", "http", "app:3000", "$1"),
            ("http://app:3000%{REQUEST_URI}", "", "http", "app:3000", "%{REQUEST_URI}"),
            ("http://%{HTTP_HOST}%{REQUEST_URI}", "", "http", "%{HTTP_HOST}", "%{REQUEST_URI}"),
            ("unix:/run/a.sock|http://localhost/x", "", "http", "unix:/run/a.sock", "/x"),
            ("proxy:unix:/run/php.sock|fcgi://localhost", "proxy:", "fcgi", "unix:/run/php.sock", ""),
            ("proxy:fcgi://127.0.0.1:9000", "proxy:", "fcgi", "127.0.0.1:9000", ""),
        ] {
            assert_eq!(Target::of(word), Some(Target { before, scheme, address, rest }), "{word}");
        }
        for word in ["!", "/api/", "balancer://app/", "balancer-manager", "^/(.*)$"] {
            assert_eq!(Target::of(word), None, "{word}");
        }
    }
}
