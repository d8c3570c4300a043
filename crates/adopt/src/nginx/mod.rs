//! nginx' configuration: read without nginx, and copied so that nothing of the running server is touched.
//!
//! Measuring side, cold. `lexer` and `tree` read, `server` finds the server that is asked, `application` what makes its
//! pages, `rewrite` changes. Ports, logs, temporary files, caches, certificates, upstreams and the site's root become
//! private; all else, and each line's number, stays.

mod application;
mod lexer;
mod rewrite;
mod server;
mod tree;

use crate::Adoptable;
use crate::copies::{CopiedFile, Copies};
use crate::error::AdoptError;
use crate::setting::{Entrance, Setting};
use rewrite::Rewriter;
use server::ServerBlock;
use std::path::Path;
use tree::Tree;

/// A configuration with all the files that it includes.
#[derive(Debug)]
pub(crate) struct NginxConfiguration {
    tree: Tree,
    servers: Vec<ServerBlock>,
}

impl NginxConfiguration {
    /// Reads the file and all that it includes.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no configuration of nginx; a script in it.
    pub(crate) fn read(main: &Path) -> Result<Self, AdoptError> {
        let tree = Tree::read(main)?;
        let servers = server::servers(&tree);
        Ok(Self { tree, servers })
    }
}

impl Adoptable for NginxConfiguration {
    fn files(&self) -> usize {
        self.tree.sources.len()
    }

    fn entrance(&self, tls: Option<bool>, host: Option<&str>) -> Result<Entrance, AdoptError> {
        server::entrance(&self.tree, &self.servers, tls, host)
    }

    fn adopt(&self, setting: &Setting<'_>) -> Result<Copies, AdoptError> {
        let mut rewriter = Rewriter::new(&self.tree, setting);
        rewriter.run(&self.servers)?;
        let copy = |(at, source): (usize, &tree::Source)| CopiedFile {
            original: source.path.clone(),
            copy: setting.copy_of(&source.path),
            text: rewriter.text(at),
        };
        let files = self.tree.sources.iter().enumerate().map(copy).collect();
        Ok(Copies {
            files,
            caches: rewriter.caches,
            changes: rewriter.changes,
            stand_ins: rewriter.used,
            played: rewriter.played,
        })
    }
}
