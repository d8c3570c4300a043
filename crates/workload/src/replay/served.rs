//! Site rebuilt from a log, and the replies that it gives.
//!
//! Owns the rule by which a log becomes a site, and the expected reply of each request. The rule is by what files can
//! do: a path answered with 200 is a file of its largest size; if it is also a directory, or ends in a slash, it is the
//! directory's `index.html`. So `/a`, `/a/` and `/a/index.html` may be one file: then the largest of their sizes holds
//! for all three.

use super::intern::{Kind, RequestKey};
use crate::{Expect, Request};
use bakeoff_content::{Catalogue, LAST_MODIFIED};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Filler of a text: gzip leaves about a quarter of it, as it does of pages, styles and scripts of some 13 KB, and
/// takes about as long.
const TEXT_PERCENT: u8 = 75;
/// Endings of the names of texts; names without a dot are pages, too. All else (images, films, archives, fonts for the
/// web) is packed already.
const TEXTS: [&str; 25] = [
    "html", "htm", "shtml", "xhtml", "php", "asp", "aspx", "jsp", "cgi", "css", "js", "mjs", "json", "map",
    "xml", "rss", "atom", "rdf", "svg", "txt", "text", "md", "csv", "ico", "bmp",
];

/// The largest size of each path that was answered with 200.
#[derive(Debug, Default)]
pub(super) struct Sizes(HashMap<Box<[u8]>, u64>);

impl Sizes {
    pub(super) fn add(&mut self, path: &[u8], bytes: u64) {
        match self.0.get_mut(path) {
            Some(size) => *size = bytes.max(*size),
            None => drop(self.0.insert(path.into(), bytes)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Objects and directories.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    pub(super) catalogue: Arc<Catalogue>,
    /// Without the slash at the end; the root is empty.
    directories: HashSet<Box<[u8]>>,
}

impl Served {
    /// `compressible`: whether texts are.
    pub(super) fn new(sizes: Sizes, compressible: bool) -> Self {
        let mut served = Self::default();
        sizes.0.keys().for_each(|path| served.add_directories(path));
        let mut catalogue = Catalogue::default();
        for (path, size) in sizes.0 {
            let mut path = path.into_vec();
            if served.directories.contains(&path[..]) {
                path.push(b'/');
            }
            // No file has a directory's name now, so that all of these paths are answered by the same file.
            let other = catalogue.get(&path).map_or(0, |body| body.len());
            let percent = if compressible && is_text(&path) { TEXT_PERCENT } else { 0 };
            catalogue.insert_compressible(&path, size.max(other), percent);
        }
        served.catalogue = Arc::new(catalogue);
        served
    }

    fn add_directories(&mut self, path: &[u8]) {
        for (slash, _) in path.iter().enumerate().rev().filter(|(_, b)| **b == b'/') {
            if !self.directories.insert(path[..slash].into()) {
                return;
            }
        }
    }

    /// The request, whose target has this path, with its expected reply.
    pub(super) fn request(&self, key: &RequestKey<'_>, path: &[u8]) -> Request {
        let (headers, expect) = self.expect(key.kind, path);
        key.request(headers, expect)
    }

    fn expect(&self, kind: Kind, path: &[u8]) -> (Box<[u8]>, Expect) {
        let none = Box::default;
        let Some(body) = self.catalogue.get(path) else {
            let directory = self.directories.contains(path.strip_suffix(b"/").unwrap_or(path));
            // A directory without index is a list, a refusal or a redirect, as the server likes.
            return (none(), if directory { Expect::Anything } else { Expect::Status(404) });
        };
        if !path.ends_with(b"/") && !self.catalogue.is_object(path) {
            return (none(), Expect::BodyOrRedirect(body)); // no conditions on what may redirect
        }
        let len = match kind {
            Kind::Range(bytes) => bytes.min(body.len()),
            _ => 0,
        };
        match kind {
            Kind::IfModified => (headers(kind), Expect::Status(304)),
            Kind::Range(_) if len > 0 => (headers(Kind::Range(len)), Expect::FirstBytes { body, len }),
            _ => (none(), Expect::Body(body)),
        }
    }
}

/// Whether a path, by its name's ending, is of a media type that servers compress.
fn is_text(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let Some(dot) = name.iter().rposition(|&byte| byte == b'.') else { return true };
    TEXTS.iter().any(|ending| name[dot + 1..].eq_ignore_ascii_case(ending.as_bytes()))
}

/// The request for a target of a server with content of its own: what the log has a good reply to must be good.
pub(super) fn unjudged(key: &RequestKey<'_>, good: bool) -> Request {
    let expect = if good { Expect::Good } else { Expect::Anything };
    key.request(headers(key.kind), expect)
}

fn headers(kind: Kind) -> Box<[u8]> {
    match kind {
        Kind::Plain => Box::default(),
        Kind::IfModified => format!("If-Modified-Since: {LAST_MODIFIED}\r\n").into_bytes().into(),
        Kind::Range(bytes) => format!("Range: bytes=0-{}\r\n", bytes.saturating_sub(1)).into_bytes().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(paths: &[(&str, u64)]) -> Served {
        let mut sizes = Sizes::default();
        paths.iter().for_each(|(path, bytes)| sizes.add(path.as_bytes(), *bytes));
        Served::new(sizes, false)
    }

    fn text(served: &Served) -> String {
        served.catalogue.to_text()
    }

    #[test]
    fn one_file_for_all_names_of_an_index_and_the_largest_size() {
        let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]];
        let paths = [("/a", 30), ("/a/", 10), ("/a/index.html", 20), ("/b", 5)];
        for order in orders {
            let site = served(&order.map(|at| paths[at]));
            assert_eq!(text(&site), "30\t/a/index.html\n5\t/b\n");
        }
    }

    #[test]
    fn texts_compress_and_what_is_packed_already_does_not() {
        let paths = ["/", "/a.PNG", "/b.html", "/c.tar.gz", "/d", "/e/", "/f.min.js", "/g.woff2"];
        let mut sizes = Sizes::default();
        paths.iter().for_each(|path| sizes.add(path.as_bytes(), 9));
        let text = Served::new(sizes, true).catalogue.to_text();
        let named =
            "9\t/a.PNG\n9\t/b.html\t75\n9\t/c.tar.gz\n9\t/d\t75\n9\t/e/index.html\t75\n9\t/f.min.js\t75\n";
        assert_eq!(text, format!("{named}9\t/g.woff2\n9\t/index.html\t75\n"));
    }

    #[test]
    fn a_path_that_is_also_a_directory_becomes_its_index() {
        let site = served(&[("/a", 1), ("/a/b", 2), ("/a/b/c", 3), ("/a", 9)]);
        assert_eq!(text(&site), "3\t/a/b/c\n2\t/a/b/index.html\n9\t/a/index.html\n");
        let body = site.catalogue.get(b"/a/b").unwrap();
        assert_eq!(site.expect(Kind::Plain, b"/a/b").1, Expect::BodyOrRedirect(body));
        assert_eq!(site.expect(Kind::Plain, b"/a/b/").1, Expect::Body(body));
        assert_eq!(site.expect(Kind::IfModified, b"/a/b").1, Expect::BodyOrRedirect(body));
    }

    #[test]
    fn what_was_never_there_stays_missing() {
        let site = served(&[("/a/b", 2)]);
        assert_eq!(site.expect(Kind::Plain, b"/x").1, Expect::Status(404));
        assert_eq!(site.expect(Kind::Range(4), b"/a/b/").1, Expect::Status(404));
        for directory in [&b"/a"[..], b"/a/", b"/"] {
            assert_eq!(site.expect(Kind::Plain, directory).1, Expect::Anything);
        }
    }

    #[test]
    fn conditions_are_asked_for_and_expected() {
        let site = served(&[("/a", 10), ("/empty", 0)]);
        let body = site.catalogue.get(b"/a").unwrap();
        let (headers, expect) = site.expect(Kind::Range(4), b"/a");
        assert_eq!(
            (&headers[..], expect),
            (&b"Range: bytes=0-3\r\n"[..], Expect::FirstBytes { body, len: 4 })
        );
        let (headers, expect) = site.expect(Kind::Range(99), b"/a");
        assert_eq!(
            (&headers[..], expect),
            (&b"Range: bytes=0-9\r\n"[..], Expect::FirstBytes { body, len: 10 })
        );
        let (headers, expect) = site.expect(Kind::IfModified, b"/a");
        assert_eq!(&headers[..], b"If-Modified-Since: Sun, 17 May 2015 10:05:03 GMT\r\n");
        assert_eq!(expect, Expect::Status(304));
        assert!(matches!(site.expect(Kind::Range(4), b"/empty"), (none, Expect::Body(_)) if none.is_empty()));
    }
}
