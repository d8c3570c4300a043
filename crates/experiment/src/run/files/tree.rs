//! Tree of files for the tree operations: a pure function of its shape and the seed.
//!
//! Directories hang below ones drawn at random, files lie in directories drawn at random, sizes are log-normal as those
//! of real files are (Agrawal, Bolosky, Douceur and Lorch, "A five-year study of file-system metadata", FAST 2007) and
//! are scaled so that their mean is the one asked for.

use bakeoff_content::{Body, ObjectId, SplitMix64};
use bakeoff_plan::TreeShape;
use std::ffi::CString;

/// Seed purpose.
const TREE: u64 = 0x7ee5;
/// Standard deviation of the logarithms of sizes: a few large files hold most of the bytes.
const SPREAD: f64 = 1.5;

/// Names are relative to the tree's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Parents before children; the root itself is not in it.
    pub(super) directories: Vec<CString>,
    pub(super) files: Vec<TreeFile>,
    /// Bytes of all files.
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeFile {
    pub(super) name: CString,
    pub(super) body: Body,
}

impl Tree {
    pub(super) fn draw(shape: &TreeShape, seed: u64) -> Self {
        let mut random = SplitMix64::for_purpose(seed, TREE);
        let mut paths: Vec<String> = Vec::with_capacity(shape.directories);
        for number in 0..shape.directories {
            let parent = random.below(number as u64 + 1) as usize;
            let above = parent.checked_sub(1).map_or(String::new(), |parent| format!("{}/", paths[parent]));
            paths.push(format!("{above}d{number}"));
        }
        let weights: Vec<f64> = (0..shape.files).map(|_| (SPREAD * normal(&mut random)).exp()).collect();
        let scale = shape.mean.get() as f64 * shape.files as f64 / weights.iter().sum::<f64>();
        let mut bytes = 0;
        let files = weights.iter().enumerate().map(|(number, weight)| {
            let place = random.below(paths.len() as u64 + 1) as usize;
            let above = place.checked_sub(1).map_or(String::new(), |place| format!("{}/", paths[place]));
            let size = (weight * scale).round() as u64;
            bytes += size;
            let id = ObjectId::of_name(format!("{seed}/tree/{number}").as_bytes());
            TreeFile { name: c_string(format!("{above}f{number}")), body: Body::new(id, size) }
        });
        let files = files.collect();
        Self { directories: paths.into_iter().map(c_string).collect(), files, bytes }
    }
}

/// Standard normal, by Box and Muller.
fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (2.0 * random.exponential()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// C string of a name that we made.
pub(super) fn c_string(name: String) -> CString {
    c_bytes(name.into_bytes())
}

/// C string of a path made of names that we made, or that came from the kernel.
pub(super) fn c_bytes(path: Vec<u8>) -> CString {
    CString::new(path).expect("neither our names nor a directory's entries hold a zero byte")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_units::Bytes;
    use std::collections::BTreeSet;

    const SHAPE: TreeShape = TreeShape { files: 1000, directories: 50, mean: Bytes::new(13_000) };

    #[test]
    fn a_tree_has_what_was_asked_for() {
        let tree = Tree::draw(&SHAPE, 7);
        assert_eq!((tree.files.len(), tree.directories.len()), (1000, 50));
        let mean = tree.bytes as f64 / 1000.0;
        assert!((mean - 13_000.0).abs() < 1.0, "{mean}");
        assert_eq!(tree.bytes, tree.files.iter().map(|file| file.body.len()).sum::<u64>());
        let names: BTreeSet<_> = tree.files.iter().map(|file| &file.name).collect();
        assert_eq!(names.len(), 1000);
        // The largest tenth holds most of the bytes, as on real disks.
        let mut sizes: Vec<u64> = tree.files.iter().map(|file| file.body.len()).collect();
        sizes.sort_unstable();
        assert!(sizes[900..].iter().sum::<u64>() > tree.bytes * 4 / 10);
    }

    #[test]
    fn every_directory_comes_behind_the_one_it_lies_in() {
        let tree = Tree::draw(&SHAPE, 7);
        let mut made = BTreeSet::from([String::new()]);
        for directory in &tree.directories {
            let name = directory.to_str().unwrap().to_owned();
            let above = name.rsplit_once('/').map_or("", |(above, _)| above);
            assert!(made.contains(above), "{name}");
            made.insert(name);
        }
        assert!(tree.directories.iter().any(|name| name.to_bytes().contains(&b'/')), "all are flat");
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(Tree::draw(&SHAPE, 7), Tree::draw(&SHAPE, 7));
        assert_ne!(Tree::draw(&SHAPE, 7), Tree::draw(&SHAPE, 8));
        let bare = TreeShape { files: 1, directories: 0, mean: Bytes::new(0) };
        let bare = Tree::draw(&bare, 1);
        assert_eq!((bare.bytes, bare.files[0].name.to_bytes()), (0, b"f0".as_slice()));
    }
}
