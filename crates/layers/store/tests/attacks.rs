//! Attacks on a vault by somebody who can write it, but has no key.
//!
//! Every attack must end in a refusal with a name, and never in a byte that was not sealed there.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

use bakeoff_layers_base::release::StoreKey;
use bakeoff_layers_store::seal::{SealError, SealOptions, seal};
use bakeoff_layers_store::{
    BlockSize, Caching, HeaderError, NodeId, NodeKind, OpenError, ReadRefusal, Vault, verify,
};
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const HEADER_BYTES: u64 = 4096;
const BLOCK: u64 = 4096;

/// A tree whose files are longer and shorter than a block, and its vault.
struct Fixture {
    folder: TempDir,
    vault: PathBuf,
    key: StoreKey,
}

fn text_of(path: &str, bytes: usize) -> Vec<u8> {
    path.bytes().cycle().enumerate().map(|(at, byte)| byte ^ (at / 7) as u8).take(bytes).collect()
}

const FILES: [(&str, usize); 6] = [
    ("a.html", 100),
    ("b/large.bin", 50_000),
    ("b/other.bin", 50_000),
    ("b/empty", 0),
    ("b/c/deep.txt", 4080),
    ("z.css", 9_000),
];

fn options(sequence: u64) -> SealOptions {
    SealOptions { block: BlockSize::from_bytes(BLOCK as u32).unwrap(), sequence }
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("b/c")).unwrap();
        for (path, bytes) in FILES {
            fs::write(tree.join(path), text_of(path, bytes)).unwrap();
        }
        symlink("../a.html", tree.join("b/link")).unwrap();
        let key = StoreKey::from_bytes(&[3; 32]).unwrap();
        let vault = folder.path().join("site.vault");
        seal(&tree, &vault, &key, options(1)).unwrap();
        Self { folder, vault, key }
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn open(&self) -> Result<Vault, OpenError> {
        Vault::open(&self.vault, &self.key, Caching::Direct)
    }

    /// Flips one bit of the vault's file.
    fn flip(&self, at: u64) {
        let mut byte = [0];
        let file = fs::File::options().read(true).write(true).open(&self.vault).unwrap();
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    }

    fn block(vault: &Path, number: u64) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK as usize];
        fs::File::open(vault).unwrap().read_exact_at(&mut bytes, HEADER_BYTES + number * BLOCK).unwrap();
        bytes
    }

    fn put_block(&self, number: u64, bytes: &[u8]) {
        let file = fs::File::options().write(true).open(&self.vault).unwrap();
        file.write_all_at(bytes, HEADER_BYTES + number * BLOCK).unwrap();
    }
}

fn find(vault: &Vault, path: &str) -> NodeId {
    let tree = vault.tree();
    path.split('/').fold(NodeId::ROOT, |at, name| {
        tree.child(tree.node(at).unwrap(), name.as_bytes()).unwrap_or_else(|| panic!("{path}"))
    })
}

fn read(vault: &Vault, path: &str) -> Result<Vec<u8>, ReadRefusal> {
    let mut out = Vec::new();
    vault.read(find(vault, path), 0, usize::MAX, &mut out).map(|_| out)
}

/// Blocks that hold a file's bytes.
fn blocks_of(vault: &Vault, path: &str) -> std::ops::Range<u64> {
    let node = vault.tree().node(find(vault, path)).unwrap();
    let at = vault.tree().data_at(node).unwrap();
    at / (BLOCK - 16)..(at + node.size).div_ceil(BLOCK - 16)
}

#[test]
fn everything_comes_back_as_it_was() {
    let fixture = Fixture::new();
    for caching in [Caching::Direct, Caching::Page] {
        let vault = Vault::open(&fixture.vault, &fixture.key, caching).unwrap();
        for (path, bytes) in FILES {
            assert_eq!(read(&vault, path).unwrap(), text_of(path, bytes), "{path}");
        }
        assert_eq!(vault.contents().files, 6);
        assert_eq!((vault.contents().directories, vault.contents().links), (3, 1));
        let link = vault.tree().node(find(&vault, "b/link")).unwrap();
        assert_eq!((link.kind, vault.tree().target(link)), (NodeKind::Link, b"../a.html".as_slice()));
        assert_eq!(verify(&vault).blocks, []);
    }
}

#[test]
fn a_file_is_read_with_no_more_blocks_than_it_fills() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    for (path, bytes) in FILES {
        let read = vault.read(find(&vault, path), 0, usize::MAX, &mut Vec::new());
        assert_eq!(read, Ok((bytes as u64).div_ceil(BLOCK - 16)), "{path}");
    }
    let small: Vec<_> = ["a.html", "z.css"].map(|path| blocks_of(&vault, path)).into_iter().collect();
    assert_eq!((small[0].start, small[1].start), (0, 0), "what fits behind another file lies there");
}

#[test]
fn any_stretch_of_a_file_is_that_stretch() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    let file = find(&vault, "b/large.bin");
    let whole = text_of("b/large.bin", 50_000);
    let mut out = Vec::new();
    for (at, length) in [(0, 1), (4079, 2), (4080, 4080), (12_345, 20_000), (49_999, 10), (50_000, 1)] {
        vault.read(file, at, length, &mut out).unwrap();
        let at = at as usize;
        assert_eq!(out, &whole[at..(at + length).min(50_000)], "{at} {length}");
    }
    assert_eq!(vault.read(file, u64::MAX, 1, &mut out), Ok(0));
}

#[test]
fn a_flipped_bit_in_the_header_opens_nothing() {
    let fixture = Fixture::new();
    for at in 0..HEADER_BYTES {
        fixture.flip(at);
        assert!(fixture.open().is_err(), "byte {at}");
        fixture.flip(at);
    }
    fixture.open().unwrap();
}

#[test]
fn a_flipped_bit_in_a_file_refuses_that_block_and_no_other() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    let hit = blocks_of(&vault, "b/large.bin").start + 2;
    for byte in [0, 1, 2000, BLOCK - 17, BLOCK - 16, BLOCK - 1] {
        let at = HEADER_BYTES + hit * BLOCK + byte;
        fixture.flip(at);
        assert_eq!(read(&vault, "b/large.bin"), Err(ReadRefusal::BlockNotGenuine(hit)), "byte {byte}");
        assert_eq!(read(&vault, "b/other.bin").unwrap(), text_of("b/other.bin", 50_000));
        let damage = verify(&vault);
        assert_eq!(damage.blocks, [(hit, ReadRefusal::BlockNotGenuine(hit))]);
        assert_eq!(damage.files, ["b/large.bin"]);
        fixture.flip(at);
    }
    assert_eq!(read(&vault, "b/large.bin").unwrap(), text_of("b/large.bin", 50_000));
}

#[test]
fn a_refused_read_gives_out_no_bytes_at_all() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    let last = blocks_of(&vault, "b/large.bin").end - 2;
    fixture.flip(HEADER_BYTES + last * BLOCK);
    let mut out = vec![1, 2, 3];
    vault.read(find(&vault, "b/large.bin"), 0, 50_000, &mut out).unwrap_err();
    assert_eq!(out, []);
}

#[test]
fn a_flipped_bit_in_the_list_of_files_opens_nothing() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    let list = FILES.iter().map(|(path, _)| blocks_of(&vault, path).end).max().unwrap();
    fixture.flip(HEADER_BYTES + list * BLOCK + 9);
    assert!(matches!(fixture.open(), Err(OpenError::List(ReadRefusal::BlockNotGenuine(at))) if at == list));
}

#[test]
fn a_flipped_bit_in_the_padding_is_found_by_verify() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    let last = vault.header().blocks - 1;
    fixture.flip(HEADER_BYTES + last * BLOCK + 5);
    let damage = verify(&vault);
    assert_eq!(damage.blocks, [(last, ReadRefusal::BlockNotGenuine(last))]);
    assert_eq!(damage.files, Vec::<String>::new());
}

#[test]
fn blocks_swapped_within_a_file_or_between_files_are_refused() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    let (large, other) = (blocks_of(&vault, "b/large.bin"), blocks_of(&vault, "b/other.bin"));
    for (one, two) in [(large.start + 1, large.start + 2), (large.start + 1, other.start + 1)] {
        let (first, second) = (Fixture::block(&fixture.vault, one), Fixture::block(&fixture.vault, two));
        fixture.put_block(one, &second);
        fixture.put_block(two, &first);
        assert_eq!(read(&vault, "b/large.bin"), Err(ReadRefusal::BlockNotGenuine(one)));
        assert_eq!(verify(&vault).blocks.len(), 2);
        fixture.put_block(one, &first);
        fixture.put_block(two, &second);
    }
}

#[test]
fn a_block_of_an_older_vault_under_the_same_key_is_refused() {
    let fixture = Fixture::new();
    let older = fixture.folder.path().join("older.vault");
    fs::copy(&fixture.vault, &older).unwrap();
    seal(&fixture.tree(), &fixture.vault, &fixture.key, options(2)).unwrap();
    let vault = fixture.open().unwrap();
    let block = blocks_of(&vault, "b/large.bin").start + 1;
    fixture.put_block(block, &Fixture::block(&older, block));
    assert_eq!(read(&vault, "b/large.bin"), Err(ReadRefusal::BlockNotGenuine(block)));
}

#[test]
fn the_header_of_an_older_vault_opens_nothing_of_a_newer_one() {
    let fixture = Fixture::new();
    let older = fs::read(&fixture.vault).unwrap();
    fs::write(fixture.tree().join("a.html"), b"new text").unwrap();
    seal(&fixture.tree(), &fixture.vault, &fixture.key, options(2)).unwrap();
    let file = fs::File::options().write(true).open(&fixture.vault).unwrap();
    file.write_all_at(&older[..HEADER_BYTES as usize], 0).unwrap();
    assert!(matches!(fixture.open(), Err(OpenError::List(ReadRefusal::BlockNotGenuine(_)))));
}

#[test]
fn a_vault_cut_short_or_with_bytes_behind_it_is_not_opened() {
    let fixture = Fixture::new();
    let whole = fs::read(&fixture.vault).unwrap();
    for bytes in [whole.len() - 1, whole.len() - 4096, 4096, 5000] {
        fs::write(&fixture.vault, &whole[..bytes]).unwrap();
        assert!(matches!(fixture.open(), Err(OpenError::Truncated { .. })), "{bytes}");
    }
    for bytes in [0, 1, 4095] {
        fs::write(&fixture.vault, &whole[..bytes]).unwrap();
        assert!(matches!(fixture.open(), Err(OpenError::Header(HeaderError::NotAVault))), "{bytes}");
    }
    fs::write(&fixture.vault, [&whole[..], &[0; 4096]].concat()).unwrap();
    assert!(matches!(fixture.open(), Err(OpenError::Appended { extra: 4096 })));
}

#[test]
fn a_vault_that_is_cut_short_while_it_is_open_refuses_what_is_gone() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    let first = blocks_of(&vault, "z.css").start;
    let file = fs::File::options().write(true).open(&fixture.vault).unwrap();
    file.set_len(HEADER_BYTES + (first + 1) * BLOCK + 100).unwrap();
    assert_eq!(read(&vault, "z.css"), Err(ReadRefusal::Truncated(first + 1)));
    assert_eq!(read(&vault, "a.html").unwrap(), text_of("a.html", 100));
}

#[test]
fn another_key_is_named_as_such() {
    let fixture = Fixture::new();
    let stranger = StoreKey::from_bytes(&[4; 32]).unwrap();
    let refused = Vault::open(&fixture.vault, &stranger, Caching::Direct);
    assert!(matches!(refused, Err(OpenError::WrongKey)));
}

#[test]
fn a_locked_vault_reads_nothing() {
    let fixture = Fixture::new();
    let vault = fixture.open().unwrap();
    read(&vault, "a.html").unwrap();
    vault.lock();
    assert_eq!(read(&vault, "a.html"), Err(ReadRefusal::Locked));
}

#[test]
fn a_vault_shows_neither_names_nor_contents() {
    let fixture = Fixture::new();
    let bytes = fs::read(&fixture.vault).unwrap();
    let holds = |what: &[u8]| bytes.windows(what.len()).any(|window| window == what);
    for (path, length) in FILES {
        let name = path.rsplit('/').next().unwrap();
        assert!(!holds(name.as_bytes()), "{name}");
        assert!(length < 50 || !holds(&text_of(path, length)[..50]), "{path}");
    }
    assert_eq!((bytes.len() as u64 - HEADER_BYTES) % (1 << 20), 0, "the length is rounded up");
}

#[test]
fn sealing_what_cannot_be_sealed_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let out = fixture.folder.path().join("new.vault");
    let attempt = |tree: &Path, out: &Path| seal(tree, out, &fixture.key, options(1));
    let inside = fixture.tree().join("b/in.vault");
    assert!(matches!(attempt(&fixture.tree(), &inside), Err(SealError::Inside(_))));
    let file = fixture.tree().join("a.html");
    assert!(matches!(attempt(&file, &out), Err(SealError::NotADirectory(_))));
    nix::unistd::mkfifo(&fixture.tree().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(matches!(attempt(&fixture.tree(), &out), Err(SealError::Special { what: "pipe", .. })));
    let left: Vec<_> =
        fs::read_dir(fixture.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn links_that_lead_out_of_the_tree_are_told() {
    let fixture = Fixture::new();
    let tree = fixture.tree();
    let top = tree.file_name().unwrap().to_str().unwrap();
    let back = format!("../../{top}/a.html");
    let out = [("b/above", "../../x"), ("b/absolute", "/etc/passwd"), ("b/round", &back)];
    for (link, target) in out.into_iter().chain([("b/inside", "../b/c"), ("b/nowhere", "nothing")]) {
        symlink(target, tree.join(link)).unwrap();
    }
    let sealed = seal(&tree, &fixture.folder.path().join("new.vault"), &fixture.key, options(1)).unwrap();
    assert_eq!(sealed.links_out, out.map(|(link, _)| tree.join(link)));
}

#[test]
fn a_tree_that_changes_while_it_is_sealed_is_noticed() {
    let fixture = Fixture::new();
    let tree = fixture.tree();
    for number in 0..2_000 {
        fs::write(tree.join(format!("b/c/{number}")), text_of("x", 3_000)).unwrap();
    }
    let stop = std::sync::atomic::AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                turn += 1;
                fs::write(tree.join("b/c/1999"), format!("turn {turn}")).unwrap();
            }
        });
        let result = seal(&tree, &fixture.folder.path().join("new.vault"), &fixture.key, options(1));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        result
    });
    match result {
        Err(SealError::Changed { path, .. }) => assert_eq!(path, tree.join("b/c/1999")),
        other => panic!("{other:?}"),
    }
    assert!(!fixture.folder.path().join("new.vault").exists());
}
