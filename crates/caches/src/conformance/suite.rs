//! The public HTTP cache suite on this machine: its place, its identity, its tests.
//!
//! Measuring side, cold. Knows the two layouts that the suite has had: the release of the registry, and the repository
//! since. Downloads nothing and changes nothing of it.

use super::ConformanceError;
use super::score::Test;
use bakeoff_subject::find_program;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The package for `npm install`: the version that this code was written for.
pub(super) const NPM: &str = "http-cache-tests@0.4.5";
/// Its name.
pub(super) const PACKAGE: &str = "http-cache-tests";
/// Its source.
pub(super) const REPOSITORY: &str = "https://github.com/http-tests/cache-tests";
/// Default directory of the suite, in the current directory.
pub const HERE: &str = "http-cache-tests";

/// Packages that the suite imports while it runs. Without them every test, or some, would fail and blame the cache.
const IMPORTED: [&str; 2] = ["node-fetch", "undici"];

/// A suite that was found, and the program that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConformanceSuite {
    /// Its directory.
    pub(super) root: PathBuf,
    /// Its version, as its package says.
    pub(super) version: String,
    /// Its client.
    pub(super) client: PathBuf,
    /// Its server.
    pub(super) server: PathBuf,
    /// node.
    pub(super) node: PathBuf,
}

/// The fields of `package.json` in use.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    #[serde(default)]
    dependencies: BTreeMap<String, String>,
}

/// The output of `listing.mjs`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Listing {
    /// Version of node.
    pub(super) node: String,
    /// SHA-256 of the suite's code.
    pub(super) digest: String,
    pub(super) tests: Vec<Test>,
}

impl ConformanceSuite {
    /// The suite in this directory: itself, or installed there by npm.
    ///
    /// # Errors
    /// There is none, it lacks something, or there is no node.
    pub fn find(dir: &Path) -> Result<Self, ConformanceError> {
        let installed = dir.join("node_modules").join(PACKAGE);
        let (root, package) = [dir, &installed]
            .into_iter()
            .find_map(|root| Some((root, package(root)?)))
            .ok_or_else(|| ConformanceError::NoSuite(dir.to_owned()))?;
        let unfit = |why: String| ConformanceError::Unfit { root: root.to_owned(), why };
        // Absolute, as its processes run elsewhere; without links, as node takes it.
        let full = root.canonicalize().map_err(|why| unfit(why.to_string()))?;
        let engine = [full.join("test-engine"), full.clone()];
        let client = engine.iter().map(|engine| engine.join("cli.mjs")).find(|client| client.is_file());
        let server = engine.iter().map(|engine| engine.join("server/server.mjs")).find(|file| file.is_file());
        let tests = full.join("tests/index.mjs").is_file();
        let (Some(client), Some(server), true) = (client, server, tests) else {
            return Err(unfit(format!(
                "its client, its server or its tests are not where this bakeoff knows them; take {NPM}"
            )));
        };
        if let Some(missing) = missing(&full, &package) {
            return Err(unfit(format!("it needs the package {missing}; run `npm install` in it")));
        }
        let node = find_program(&["node", "nodejs"]).ok_or(ConformanceError::NoNode)?;
        Ok(Self { root: full, version: package.version, client, server, node })
    }
}

/// Of the suite, if this is its root.
fn package(root: &Path) -> Option<Package> {
    let text = std::fs::read(root.join("package.json")).ok()?;
    serde_json::from_slice(&text).ok().filter(|package: &Package| package.name == PACKAGE)
}

/// The first package that it imports and cannot find: node looks in every directory above.
fn missing(root: &Path, package: &Package) -> Option<&'static str> {
    let is_there = |name: &str| root.ancestors().any(|dir| dir.join("node_modules").join(name).is_dir());
    IMPORTED.into_iter().find(|name| package.dependencies.contains_key(*name) && !is_there(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A directory with these empty files, and with a `package.json`.
    fn tree(package: &str, files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(dir.path().join("package.json"), package).unwrap();
        dir
    }

    fn refused(dir: &Path) -> String {
        ConformanceSuite::find(dir).unwrap_err().to_string()
    }

    #[test]
    fn a_suite_that_is_not_there_is_said_with_what_installs_it() {
        let dir = tree(r#"{"name": "other", "version": "1"}"#, &["cli.mjs"]);
        let said = refused(dir.path());
        let command = format!("`npm install --prefix {} {NPM}`", dir.path().display());
        assert!(said.contains(&command), "{said}");
        assert!(refused(Path::new("/nonexistent")).contains("no HTTP cache suite in /nonexistent"));
    }

    #[test]
    fn a_suite_that_lacks_something_is_said_with_what_it_lacks() {
        let files = ["cli.mjs", "server/server.mjs", "tests/index.mjs"];
        let package =
            r#"{"name": "http-cache-tests", "version": "0.4.5", "dependencies": {"node-fetch": "^2"}}"#;
        assert!(refused(tree(package, &files[..2]).path()).contains("take http-cache-tests@0.4.5"));
        let without = refused(tree(package, &files).path());
        assert!(without.contains("needs the package node-fetch; run `npm install`"), "{without}");
    }
}
