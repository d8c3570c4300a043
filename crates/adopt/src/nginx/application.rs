//! Application of a server: what `try_files`, `error_page` and rewritings pass on if there is no file.
//!
//! Measuring side, cold, pure. Locations that are patterns are left out: they are for endings, mostly.

use super::tree::{Statement, Tree, flat};
use crate::application::{Application, Fallback, Scope, script_in};

/// The application behind a server.
pub(super) fn of(tree: &Tree, server: &Statement) -> Option<Application> {
    let finder = Finder { tree, server };
    let everywhere = Scope { beginning: "/".to_owned(), fallback: finder.fallback(server) };
    let mut scopes = vec![everywhere];
    finder.locations(server, &mut |location| {
        if let Some(beginning) = beginning(location) {
            let fallback = finder.fallback(location).or_else(|| finder.error_page(location));
            scopes.push(Scope { beginning: beginning.to_owned(), fallback });
        }
    });
    Application::of(scopes)
}

/// Beginning of the paths of a location; none: it is for one path, a pattern, or has a name.
fn beginning(location: &Statement) -> Option<&str> {
    let path = match (location.argument(0)?, location.argument(1)) {
        ("^~", Some(path)) => path,
        (path, None) => path,
        _ => return None,
    };
    path.starts_with('/').then_some(path)
}

struct Finder<'t> {
    tree: &'t Tree,
    server: &'t Statement,
}

impl<'t> Finder<'t> {
    fn locations(&self, around: &'t Statement, visit: &mut impl FnMut(&'t Statement)) {
        for location in around.inner().filter(|one| one.name() == "location") {
            visit(location);
            self.locations(location, visit);
        }
    }

    /// By `try_files`, or by an `if` that looks for the file.
    fn fallback(&self, block: &Statement) -> Option<Fallback> {
        block.inner().find_map(|one| {
            let (target, takes_directories) = match one.name() {
                "try_files" => {
                    let words = one.arguments();
                    (&words.last()?.text, !words.iter().any(|word| word.text.ends_with("$uri/")))
                }
                "if" => {
                    let looks = |mark| one.arguments().iter().any(|word| word.text.contains(mark));
                    let rewrite = one.inner().find(|inner| inner.name() == "rewrite");
                    let rewrite = rewrite.filter(|_| looks("!-e") || looks("!-f"))?;
                    (&rewrite.words.get(2)?.text, !looks("!-e"))
                }
                _ => return None,
            };
            self.passed(block, one, target, takes_directories)
        })
    }

    /// By the page for 404, of the location or else of the server, if the answer's status takes its place.
    fn error_page(&self, location: &Statement) -> Option<Fallback> {
        let mut own = pages(location).peekable();
        let inherited = own.peek().is_none().then(|| pages(self.server));
        own.chain(inherited.into_iter().flatten()).find_map(|one| {
            let has = |word: &str| one.arguments().iter().any(|known| known.text == word);
            let target = &one.arguments().last()?.text;
            let is_of_missing = has("404") && (has("=") || has("=200"));
            // A directory without a page is forbidden, not missing.
            is_of_missing.then(|| self.passed(location, one, target, false))?
        })
    }

    fn passed(
        &self,
        block: &Statement,
        one: &Statement,
        target: &str,
        takes_directories: bool,
    ) -> Option<Fallback> {
        let script = match target.strip_prefix('@') {
            Some(_) => self.named(target)?,
            None => Some(script_in(target).filter(|script| self.is_passed(script))?),
        };
        let name = script.as_deref().and_then(|script| script.rsplit('/').next());
        let is_index = name.is_some_and(|name| self.has_index(block, name));
        Some(Fallback { place: self.tree.place(one), script, takes_directories, is_index })
    }

    /// The script of a named location that passes requests on, or none where it needs none.
    fn named(&self, name: &str) -> Option<Option<String>> {
        let found =
            self.server.inner().find(|one| one.name() == "location" && one.argument(0) == Some(name))?;
        if passes(found) {
            return Some(None);
        }
        let rewrite = found.inner().find(|one| one.name() == "rewrite")?;
        Some(Some(script_in(rewrite.argument(1)?).filter(|script| self.is_passed(script))?))
    }

    /// Whether some location passes a script on.
    fn is_passed(&self, script: &str) -> bool {
        let mut is_passed = false;
        self.locations(self.server, &mut |location| {
            let is_for_it = match (location.argument(0), location.argument(1)) {
                (Some("~" | "~*"), Some(pattern)) => pattern.contains("php"),
                (Some("="), Some(path)) => path == script,
                _ => beginning(location).is_some_and(|beginning| script.starts_with(beginning)),
            };
            is_passed |= is_for_it && passes(location);
        });
        is_passed
    }

    /// Whether a name is among the pages of directories: of the block, else of the server, else of all servers.
    fn has_index(&self, block: &Statement, name: &str) -> bool {
        let of = |one: &Statement| {
            let mut own = one.inner().filter(|inner| inner.name() == "index").peekable();
            own.peek()?;
            Some(own.any(|index| index.arguments().iter().any(|word| word.text == name)))
        };
        let https = || flat(&self.tree.statements).filter(|one| one.name() == "http");
        of(block).or_else(|| of(self.server)).or_else(|| https().find_map(of)).unwrap_or(false)
    }
}

fn pages(block: &Statement) -> impl Iterator<Item = &Statement> {
    block.inner().filter(|one| one.name() == "error_page")
}

/// Whether a location asks a server behind.
fn passes(location: &Statement) -> bool {
    location.inner().any(|one| match one.name() {
        "fastcgi_pass" | "proxy_pass" => true,
        "if" | "limit_except" => passes(one),
        _ => false,
    })
}
