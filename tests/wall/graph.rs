//! The workspace as the wall sees it: crates, folders and edges.
//!
//! Read from `cargo metadata` without resolving anything, so no network and no build is needed.

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use std::path::PathBuf;

/// One crate.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Package name, such as `bakeoff-wire`.
    pub(crate) name: String,
    /// Folder below `crates`, such as `wire` or `layers/proxy`.
    pub(crate) folder: String,
    /// Dependencies named in its Cargo.toml.
    pub(crate) edges: Vec<Edge>,
}

/// One dependency.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    /// Package name of the other end.
    pub(crate) to: String,
    /// Named under `[dev-dependencies]`.
    pub(crate) dev: bool,
}

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace root is two above this crate")
}

/// The members as they are now. Optional and target-specific dependencies count, too.
pub(crate) fn workspace() -> Vec<Node> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata reads the workspace");
    metadata.packages.iter().map(node).collect()
}

fn node(package: &Package) -> Node {
    let manifest = package.manifest_path.as_std_path();
    let folder = manifest.parent().expect("a manifest lies in a folder");
    let below = folder.strip_prefix(root().join("crates")).unwrap_or(folder);
    let edge = |dependency: &cargo_metadata::Dependency| Edge {
        to: dependency.name.clone(),
        dev: dependency.kind == DependencyKind::Development,
    };
    Node {
        name: package.name.to_string(),
        folder: below.display().to_string(),
        edges: package.dependencies.iter().map(edge).collect(),
    }
}
