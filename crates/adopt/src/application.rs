//! Applications behind a server that make the pages for which it finds no file, such as WordPress behind `index.php`.
//!
//! Measuring side, cold, pure. Each language finds the statements that pass a missing path on; which paths of a site go
//! there is decided here, alike for all of them.

use std::collections::HashSet;

/// The page of a directory in a site.
const PAGE: &[u8] = b"index.html";

/// What one server passes to an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    scopes: Vec<Scope>,
}

/// Paths with this beginning; of several scopes the longest decides, and of equal ones the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) beginning: String,
    /// None: there are files alone.
    pub(crate) fallback: Option<Fallback>,
}

/// The way of a path that no file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fallback {
    /// `FILE:LINE`.
    pub(crate) place: String,
    /// Path of the script that the server looks for on disk, such as `/index.php`. None: it asks without a look.
    pub(crate) script: Option<String>,
    /// A directory on disk is passed on as well.
    pub(crate) takes_directories: bool,
    /// The script is also the page of its own directory.
    pub(crate) is_index: bool,
}

impl Application {
    /// None: no scope passes anything on.
    pub(crate) fn of(scopes: Vec<Scope>) -> Option<Self> {
        scopes.iter().any(|scope| scope.fallback.is_some()).then_some(Self { scopes })
    }

    /// `FILE:LINE` of the first statement that passes paths on.
    pub fn place(&self) -> &str {
        self.fallbacks().next().map_or("", |fallback| &fallback.place)
    }

    /// Paths of the scripts that the server looks for on disk.
    pub fn scripts(&self) -> impl Iterator<Item = &str> {
        self.fallbacks().filter_map(|fallback| fallback.script.as_deref())
    }

    fn fallbacks(&self) -> impl Iterator<Item = &Fallback> {
        self.scopes.iter().filter_map(|scope| scope.fallback.as_ref())
    }

    fn fallback(&self, path: &[u8]) -> Option<&Fallback> {
        let all = self.scopes.iter().filter(|scope| path.starts_with(scope.beginning.as_bytes()));
        all.max_by_key(|scope| scope.beginning.len())?.fallback.as_ref()
    }

    /// Whether it makes the page of a directory that is on disk.
    fn takes(&self, directory: &[u8]) -> bool {
        let is_its_own = |fallback: &Fallback| {
            let script = fallback.script.as_deref().unwrap_or_default().as_bytes();
            fallback.is_index && split(script).0 == directory
        };
        self.fallback(directory).is_some_and(|one| one.takes_directories || is_its_own(one))
    }
}

/// Paths of a site that every one of these applications makes, so that no file may have them: those without an ending
/// in their scopes, and pages of directories (`/a/index.html` stands for `/a/`) that nothing else keeps on disk.
pub fn made_pages<'p>(applications: &[Application], paths: &[&'p [u8]]) -> Vec<&'p [u8]> {
    if applications.is_empty() {
        return Vec::new();
    }
    let may_be = |path: &[u8]| {
        let name = split(path).1;
        let is_page = name == PAGE || !name.contains(&b'.');
        is_page && applications.iter().all(|one| one.fallback(path).is_some())
    };
    let files = paths.iter().copied().filter(|path| !may_be(path));
    let scripts = applications.iter().flat_map(Application::scripts).map(str::as_bytes);
    let mut on_disk = HashSet::from([&b"/"[..]]);
    for path in files.chain(scripts) {
        let mut directory = split(path).0;
        while on_disk.insert(directory) && directory.len() > 1 {
            directory = split(&directory[..directory.len() - 1]).0;
        }
    }
    let is_made = |path: &&[u8]| {
        let (directory, name) = split(path);
        let is_free = name != PAGE || !on_disk.contains(directory);
        may_be(path) && (is_free || applications.iter().all(|one| one.takes(directory)))
    };
    paths.iter().copied().filter(is_made).collect()
}

/// Directory with its slash, and name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    path.split_at(slash)
}

/// Path of the script in a target such as `/index.php?$args`, from the site's root on.
pub(crate) fn script_in(target: &str) -> Option<String> {
    let end = target.find(".php")? + ".php".len();
    let script = target[..end].trim_start_matches('/');
    let is_plain = !script.contains(['$', '{', '%', ':']);
    is_plain.then(|| format!("/{script}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(takes_directories: bool, is_index: bool, static_below: &str) -> Application {
        let fallback = Fallback {
            place: String::new(),
            script: Some("/index.php".to_owned()),
            takes_directories,
            is_index,
        };
        let scope = |beginning: &str, fallback| Scope { beginning: beginning.to_owned(), fallback };
        Application::of(vec![scope("/", Some(fallback)), scope(static_below, None)]).unwrap()
    }

    const SITE: [&str; 8] = [
        "/index.html",
        "/about",
        "/2026/hello/index.html",
        "/2026/hello/feed",
        "/media/index.html",
        "/media/a.png",
        "/docs/intro",
        "/post.php",
    ];

    #[track_caller]
    fn are_made(applications: &[Application], made: &[&str]) {
        let paths = SITE.map(str::as_bytes);
        let found: Vec<&str> = made_pages(applications, &paths)
            .into_iter()
            .map(|path| std::str::from_utf8(path).unwrap())
            .collect();
        assert_eq!(found, made);
    }

    #[test]
    fn pages_are_made_and_files_and_their_directories_stay() {
        let index = application(false, true, "/docs/");
        are_made(
            std::slice::from_ref(&index),
            &["/index.html", "/about", "/2026/hello/index.html", "/2026/hello/feed"],
        );
        are_made(&[application(false, false, "/docs/")], &SITE[1..4]);
        are_made(&[application(true, false, "/docs/")], &SITE[..5]);
        // Servers are compared on one site: a page that one of them has as a file is one.
        are_made(&[index, application(false, true, "/2026/")], &SITE[..2]);
        are_made(&[], &[]);
    }

    #[test]
    fn scripts_are_found_in_targets() {
        for (target, script) in [
            ("/index.php?$args", Some("/index.php")),
            ("/index.php$is_args$args", Some("/index.php")),
            ("/index.php/$1", Some("/index.php")),
            ("index.php", Some("/index.php")),
            ("/blog/index.php?q=$uri", Some("/blog/index.php")),
            ("/$dir/index.php", None),
            ("$uri/", None),
            ("=404", None),
        ] {
            assert_eq!(script_in(target).as_deref(), script, "{target}");
        }
    }
}
