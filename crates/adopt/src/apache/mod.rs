//! Apache's configuration: read without Apache, and copied so that nothing of the running server is touched.
//!
//! Measuring side, cold. `words`, `variables` and `tree` read, `vhost` finds the host that is asked, `application` what
//! makes its pages, `rewrite` changes.
//! `directives` has its tables, `site` its paths, `upstream` the addresses behind it. Ports, logs, caches, certificates,
//! upstreams and the site's root become private; all else, and each line's number, stays. Directives in conditions
//! (`IfModule`, `IfDefine`) are changed whether they hold or not.

mod application;
mod directives;
mod rewrite;
mod site;
mod tree;
mod upstream;
mod variables;
mod vhost;
mod words;

use crate::Adoptable;
use crate::copies::{CopiedFile, Copies};
use crate::error::AdoptError;
use crate::setting::{Entrance, Setting};
use rewrite::Rewriter;
use std::path::Path;
use tree::Tree;
use vhost::VirtualHost;

/// A configuration with all the files that it includes.
#[derive(Debug)]
pub(crate) struct ApacheConfiguration {
    tree: Tree,
    hosts: Vec<VirtualHost>,
}

impl ApacheConfiguration {
    /// Reads the file and all that it includes.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no configuration of Apache; a program in it.
    pub(crate) fn read(main: &Path) -> Result<Self, AdoptError> {
        let tree = Tree::read(main)?;
        let hosts = vhost::hosts(&tree);
        Ok(Self { tree, hosts })
    }
}

impl Adoptable for ApacheConfiguration {
    fn files(&self) -> usize {
        self.tree.sources.len()
    }

    fn entrance(&self, tls: Option<bool>, host: Option<&str>) -> Result<Entrance, AdoptError> {
        vhost::entrance(&self.tree, &self.hosts, tls, host)
    }

    fn adopt(&self, setting: &Setting<'_>) -> Result<Copies, AdoptError> {
        let mut rewriter = Rewriter::new(&self.tree, setting);
        rewriter.run()?;
        let copy = |(at, source): (usize, &tree::Source)| CopiedFile {
            original: source.path.clone(),
            copy: setting.copy_of(&source.path),
            text: rewriter.text(at),
        };
        let files = self.tree.sources.iter().enumerate().map(copy);
        let further = rewriter.further.iter().map(|(path, text)| CopiedFile {
            original: path.clone(),
            copy: path.clone(),
            text: text.clone(),
        });
        Ok(Copies {
            files: files.chain(further).collect(),
            caches: rewriter.caches,
            changes: rewriter.changes,
            stand_ins: rewriter.used,
            played: rewriter.played,
        })
    }
}
