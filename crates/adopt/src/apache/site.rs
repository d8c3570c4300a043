//! Paths of the original site, and what they are in the site of a measurement.
//!
//! Measuring side, cold, pure.

use super::tree::{Tree, each};
use std::path::{Path, PathBuf};

/// Directories of the original, each with what stands in its place.
#[derive(Debug, Default)]
pub(super) struct Mapping {
    /// Document roots.
    roots: Vec<PathBuf>,
    /// Paths of `Alias` lines, with their URL paths.
    aliases: Vec<(PathBuf, String)>,
}

impl Mapping {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut all = Self::default();
        each(&tree.statements, &mut Vec::new(), &mut |one, _| match (one.key.as_str(), one.argument(0)) {
            ("documentroot", Some(path)) => all.roots.push(PathBuf::from(path)),
            ("alias", Some(url)) => {
                all.aliases.extend(one.argument(1).map(|path| (PathBuf::from(path), url.to_owned())));
            }
            _ => {}
        });
        all
    }

    /// A directory of a section, in the site; `None`: it holds nothing of the original site.
    pub(super) fn mapped(&self, dir: &str, site: &Path) -> Option<PathBuf> {
        let dir = Path::new(dir);
        if dir == Path::new("/") {
            return None;
        }
        if self.roots.iter().any(|root| root.starts_with(dir)) {
            return Some(site.to_owned());
        }
        let below = self.roots.iter().find_map(|root| Some(site.join(dir.strip_prefix(root).ok()?)));
        below.or_else(|| {
            self.aliases.iter().find_map(|(path, url)| {
                let at = below_site(site, url);
                if path.starts_with(dir) {
                    return Some(at);
                }
                Some(at.join(dir.strip_prefix(path).ok()?))
            })
        })
    }

    /// Beginning of the paths below a directory of a section; `None`: it is none of a document root.
    pub(super) fn beginning(&self, dir: &str) -> Option<String> {
        let site = self.mapped(dir, Path::new("/"))?;
        let site = site.to_str()?.trim_end_matches('/');
        Some(format!("{site}/"))
    }

    /// URL paths of the aliases, which have files of their own.
    pub(super) fn aliases(&self) -> impl Iterator<Item = &str> {
        self.aliases.iter().map(|(_, url)| url.as_str())
    }

    /// Whether a section's directory holds a whole document root.
    pub(super) fn covers_a_root(&self, dir: &str) -> bool {
        dir != "/" && self.roots.iter().any(|root| root.starts_with(dir))
    }
}

/// A URL path as a path of the site, with its closing slash.
pub(super) fn below_site(site: &Path, url: &str) -> PathBuf {
    site.join(url.trim_start_matches('/'))
}
