//! Caddyfiles: read without Caddy, and copied so that nothing of the running server is touched.
//!
//! Measuring side, cold. `lexer` and `tree` read, `site` finds the site that is asked, `application` what makes its
//! pages, `rewrite` and `proxy` change. Addresses, logs, certificates, upstreams and the sites' roots become private; all else, and each line's number, stays.
//!
//! A line cannot hold two directives, so what a copy has besides is in private files, imported on the line of a `{`.

mod application;
mod lexer;
mod proxy;
mod rewrite;
mod site;
mod tree;
mod upstream;

use crate::Adoptable;
use crate::copies::{CopiedFile, Copies};
use crate::error::AdoptError;
use crate::setting::{Entrance, Setting};
use rewrite::Rewriter;
use std::path::Path;
use tree::Tree;

/// Whether a Caddyfile was written for bakeoff: an address of a site has the port in our words. Other names in braces are
/// Caddy's as well.
pub(crate) fn is_ours(text: &str) -> bool {
    tree::parse(text, 0).is_ok_and(|statements| site::has_port_name(&statements))
}

/// A Caddyfile with all the files that it imports.
#[derive(Debug)]
pub(crate) struct CaddyConfiguration {
    tree: Tree,
}

impl CaddyConfiguration {
    /// Reads the file and all that it imports.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no Caddyfile.
    pub(crate) fn read(main: &Path) -> Result<Self, AdoptError> {
        Ok(Self { tree: Tree::read(main)? })
    }
}

impl Adoptable for CaddyConfiguration {
    fn files(&self) -> usize {
        self.tree.sources.len()
    }

    fn entrance(&self, tls: Option<bool>, host: Option<&str>) -> Result<Entrance, AdoptError> {
        site::entrance(&self.tree, &site::sites(&self.tree)?, tls, host)
    }

    fn adopt(&self, setting: &Setting<'_>) -> Result<Copies, AdoptError> {
        let sites = site::sites(&self.tree)?;
        let mut rewriter = Rewriter::new(&self.tree, setting);
        rewriter.run(&sites)?;
        let copy = |(at, source): (usize, &tree::Source)| CopiedFile {
            original: source.path.clone(),
            copy: setting.copy_of(&source.path),
            text: rewriter.text(at),
        };
        let mut files: Vec<CopiedFile> = rewriter.start().into_iter().collect();
        files.extend(self.tree.sources.iter().enumerate().map(copy));
        files.append(&mut rewriter.private);
        Ok(Copies {
            files,
            caches: Vec::new(),
            changes: rewriter.changes,
            stand_ins: rewriter.used,
            played: rewriter.played,
        })
    }
}
