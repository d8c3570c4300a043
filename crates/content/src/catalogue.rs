//! Catalogue of a site's objects: path to size, without files.
//!
//! Measuring side. The origin simulator serves from it, hot: one look-up per request. A site on disk is written from
//! the same catalogue, so that a request means the same bytes from either. Owns the index rule: a directory's own page
//! is its `index.html`, and is found under the directory's name with and without the slash at its end.
//!
//! Paths are decoded and without query. An object's bytes follow from its path, its size and how far it compresses.

use crate::{Body, ObjectId};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Modification time of every object, in seconds since 1970: 2015-05-17T10:05:03Z. Fixed, so that conditional requests
/// mean the same in every run.
pub const MODIFIED_SECS: u64 = 1_431_857_103;
/// [`MODIFIED_SECS`] as it stands in `Last-Modified` and `If-Modified-Since`.
pub const LAST_MODIFIED: &str = "Sun, 17 May 2015 10:05:03 GMT";

/// The page of a directory.
const INDEX: &[u8] = b"index.html";

/// The objects of a site.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// In the order of paths.
    objects: BTreeMap<Box<[u8]>, Body>,
    /// Every name an object answers to; an object's own path beats another's directory name.
    names: HashMap<Box<[u8]>, Body>,
    /// Names count by their endings, too.
    by_endings: bool,
}

/// A text that is no catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueError {
    /// The line, from 1.
    pub line: usize,
    /// The expected text.
    pub expected: &'static str,
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the catalogue: expected {}", self.line, self.expected)
    }
}

impl std::error::Error for CatalogueError {}

impl Catalogue {
    /// Adds the object of this path (`/` first, decoded); one that ends in a slash means the
    /// directory's index. A path that is there already takes the new size.
    pub fn insert(&mut self, path: &[u8], size: u64) -> Body {
        self.insert_compressible(path, size, 0)
    }

    /// The same of an object with so much filler, as [`Body::compressible`] has it.
    pub fn insert_compressible(&mut self, path: &[u8], size: u64, percent: u8) -> Body {
        let mut path = normal_path(path).into_owned();
        if path.last().is_none_or(|&b| b == b'/') {
            path.extend_from_slice(INDEX);
        }
        let body = Body::compressible(ObjectId::of_name(&path), size, percent);
        if let Some(directory) = path.strip_suffix(INDEX).filter(|directory| directory.ends_with(b"/")) {
            self.alias(directory, body);
            self.alias(&directory[..directory.len() - 1], body);
        }
        self.names.insert(path.clone().into(), body);
        self.objects.insert(path.into(), body);
        body
    }

    fn alias(&mut self, name: &[u8], body: Body) {
        if !self.objects.contains_key(name) {
            self.names.insert(name.into(), body);
        }
    }

    /// The object that answers to this path: its own, or the index of the directory it names.
    /// Repeated slashes and `.` segments count for nothing, as in servers.
    #[inline]
    pub fn get(&self, path: &[u8]) -> Option<Body> {
        let path = normal_path(path);
        self.names.get(&*path).copied().or_else(|| self.by_ending(&path))
    }

    /// The same objects for a server behind another, which takes a beginning off the path or puts one before it: where a
    /// path is none of theirs, an object answers whose path ends as this one does from some slash on, or the other way
    /// round. Of several the first by path answers.
    #[must_use]
    pub fn with_endings(mut self) -> Self {
        for (path, body) in &self.objects {
            for ending in endings(path) {
                self.names.entry(ending.into()).or_insert(*body);
            }
        }
        self.by_endings = true;
        self
    }

    #[cold]
    fn by_ending(&self, path: &[u8]) -> Option<Body> {
        endings(path).filter(|_| self.by_endings).find_map(|ending| self.names.get(ending).copied())
    }

    /// Whether this very path is an object's own, rather than a directory's name.
    pub fn is_object(&self, path: &[u8]) -> bool {
        self.objects.contains_key(&*normal_path(path))
    }

    /// Paths and bodies in the order of paths.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Body)> {
        self.objects.iter().map(|(path, body)| (&**path, *body))
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// One line an object: size, tab, percent-encoded path; of a compressible one, tab, percent of filler.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (path, body) in &self.objects {
            text.push_str(&body.len().to_string());
            text.push('\t');
            encode(path, &mut text);
            if body.filler_percent() > 0 {
                text.push_str(&format!("\t{}", body.filler_percent()));
            }
            text.push('\n');
        }
        text
    }

    /// Reads the text of [`Self::to_text`].
    ///
    /// # Errors
    ///
    /// The first malformed line.
    pub fn from_text(text: &str) -> Result<Self, CatalogueError> {
        let mut catalogue = Self::default();
        for (at, line) in text.lines().enumerate() {
            let error = |expected| CatalogueError { line: at + 1, expected };
            let (size, path) = line.split_once('\t').ok_or(error("size, tab, path"))?;
            let (path, percent) = path.split_once('\t').unwrap_or((path, "0"));
            let percent = percent.parse().ok().filter(|percent| *percent <= 100);
            let percent = percent.ok_or(error("a percent from 0 to 100 behind the second tab"))?;
            let size = size.parse().map_err(|_| error("a size in bytes before the tab"))?;
            let path = decode(path.as_bytes()).filter(|path| path.first() == Some(&b'/'));
            let path = path.ok_or(error("a percent-encoded path that starts with /"))?;
            catalogue.insert_compressible(&path, size, percent);
        }
        Ok(catalogue)
    }
}

/// What follows the first segment, the second, and so on, each from its slash on.
fn endings(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[at..]).filter(|ending| ending.len() > 1)
}

/// `path` with repeated slashes and `.` segments taken out; `..` is left, and names nothing.
pub fn normal_path(path: &[u8]) -> Cow<'_, [u8]> {
    if !path.windows(2).any(|pair| pair == b"//" || pair == b"/.") {
        return Cow::Borrowed(path);
    }
    let mut normal = Vec::with_capacity(path.len());
    let mut segments = path.split(|&b| b == b'/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        if segment == b"." || (segment.is_empty() && !normal.is_empty()) {
            continue; // whatever comes next, the slash before this segment is already there
        }
        normal.extend_from_slice(segment);
        if !last {
            normal.push(b'/');
        }
    }
    Cow::Owned(normal)
}

/// Appends `path` with every byte but letters, digits, `/`, `-`, `.`, `_` and `~` percent-encoded.
fn encode(path: &[u8], text: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &b in path {
        if b.is_ascii_alphanumeric() || b"/-._~".contains(&b) {
            text.push(char::from(b));
        } else {
            let digits = [HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]].map(char::from);
            text.extend(['%', digits[0], digits[1]]);
        }
    }
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&b, after)) = rest.split_first() {
        rest = after;
        if b != b'%' {
            plain.push(b);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        rest = after;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        plain.push((digit(0)? * 16 + digit(1)?) as u8);
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_behind_another_knows_objects_by_their_endings() {
        let mut catalogue = Catalogue::default();
        let body = catalogue.insert(b"/api/users/1", 5);
        assert_eq!(catalogue.get(b"/users/1"), None);
        let catalogue = catalogue.with_endings();
        for path in ["/api/users/1", "/users/1", "/v2/api/users/1", "/x/users/1"] {
            assert_eq!(catalogue.get(path.as_bytes()), Some(body), "{path}");
        }
        for path in ["/", "/users", "/api/users/2", "/users/1/", ""] {
            assert_eq!(catalogue.get(path.as_bytes()), None, "{path}");
        }
        assert_eq!(catalogue.len(), 1);
    }

    #[test]
    fn a_directory_answers_with_its_index_with_and_without_slash() {
        let mut site = Catalogue::default();
        let index = site.insert(b"/blog/", 10);
        let page = site.insert(b"/blog/a b\xff", 20);
        for name in [&b"/blog"[..], b"/blog/", b"/blog/index.html", b"//blog/./", b"/./blog/."] {
            assert_eq!(site.get(name), Some(index), "{}", String::from_utf8_lossy(name));
        }
        assert_eq!(site.get(b"/blog/a b\xff"), Some(page));
        assert!(site.get(b"/").is_none() && site.get(b"/blog/../blog/").is_none() && site.get(b"").is_none());
        assert!(site.is_object(b"/blog/index.html") && !site.is_object(b"/blog"));
        let root = site.insert(b"/", 1);
        assert_eq!((site.get(b"/"), site.get(b"/index.html")), (Some(root), Some(root)));
    }

    #[test]
    fn an_objects_own_path_beats_a_directorys_name_in_either_order() {
        let mut site = Catalogue::default();
        let file = site.insert(b"/a", 1);
        site.insert(b"/a/index.html", 2);
        assert_eq!(site.get(b"/a"), Some(file));
        let mut site = Catalogue::default();
        site.insert(b"/a/index.html", 2);
        site.insert(b"/a", 1);
        assert_eq!(site.get(b"/a"), Some(file));
    }

    #[test]
    fn the_text_form_gives_the_catalogue_back() {
        let mut site = Catalogue::default();
        for (path, size) in [(&b"/"[..], 0), (b"/a b/\xff\t\n%", u64::MAX), (b"/x.html", 7)] {
            site.insert(path, size);
        }
        site.insert_compressible(b"/z.css", 9, 75);
        let text = site.to_text();
        assert_eq!(
            text,
            "18446744073709551615\t/a%20b/%FF%09%0A%25\n0\t/index.html\n7\t/x.html\n9\t/z.css\t75\n"
        );
        let again = Catalogue::from_text(&text).unwrap();
        assert_eq!(again.to_text(), text);
        for path in [&b"/a b/\xff\t\n%"[..], b"/z.css"] {
            assert_eq!(again.get(path), site.get(path));
        }
        for wrong in ["/a", "x\t/a", "1\t/a\tx", "1\t/a\t101", "1\ta", "1\t/%2", "1\t/%zz"] {
            assert_eq!(Catalogue::from_text(wrong).unwrap_err().line, 1, "{wrong}");
        }
    }

    #[test]
    fn paths_are_normal_when_they_name_things_once() {
        for (path, normal) in [
            ("/a/b", "/a/b"),
            ("//a///b", "/a/b"),
            ("/./a", "/a"),
            ("/a/.", "/a/"),
            ("/a/./", "/a/"),
            ("/.", "/"),
            ("/.a/b", "/.a/b"),
            ("/a//", "/a/"),
            ("//", "/"),
            ("/../a", "/../a"),
        ] {
            assert_eq!(normal_path(path.as_bytes()), normal.as_bytes(), "{path}");
        }
    }

    #[test]
    fn the_date_is_the_same_twice() {
        let days = MODIFIED_SECS / 86_400;
        assert_eq!(days % 7, 3, "a Sunday: 1970-01-01 was a Thursday");
        assert_eq!(MODIFIED_SECS % 86_400, 10 * 3600 + 5 * 60 + 3);
    }
}
