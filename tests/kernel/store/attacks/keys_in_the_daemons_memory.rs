//! Regression: keys stayed in the daemon's memory: on its stack, from where they had been moved, and in freed parts
//! of its heap, after a lock, too.

use crate::support::{Mount, Site, assert_done, can_mount, until};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use bakeoff_layers_base::name::EscapedName;
use bakeoff_layers_base::release::{MeasuredState, SealedFile, Secret};
use memchr::memmem::Finder;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

const PAGE: usize = 4096;

/// Number of occurrences of each secret in the daemon's writable memory; half of one counts, too.
fn found<const N: usize>(mount: &Mount, secrets: [&[u8]; N]) -> [usize; N] {
    let process = mount.daemon.id();
    let memory = File::open(format!("/proc/{process}/mem")).unwrap();
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let halves = secrets.map(|secret| {
        let (first, second) = secret.split_at(secret.len() / 2);
        [Finder::new(first), Finder::new(second)]
    });
    let mut counts = [0; N];
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        if !rights.starts_with("rw") {
            continue;
        }
        let (begin, end) = range.split_once('-').unwrap();
        let [begin, end] = [begin, end].map(|hex| u64::from_str_radix(hex, 16).unwrap());
        let mut part = vec![0; 1 << 20];
        // Each part begins in the overlap with the one before, as a secret may cross the border.
        for at in (begin..end).step_by(part.len() - PAGE) {
            let length = part.len().min((end - at) as usize);
            let Ok(read) = memory.read_at(&mut part[..length], at) else { break };
            if part[..read] == vec![0; read] {
                continue;
            }
            for (count, halves) in counts.iter_mut().zip(&halves) {
                *count += halves.iter().filter(|half| half.find(&part[..read]).is_some()).count();
            }
        }
    }
    counts
}

/// The key of a vault's blocks, as `layers/store` derives it.
fn block_key(store_key: &[u8], vault: &[u8]) -> Vec<u8> {
    let mut key = vec![0; HKDF_SHA256.len()];
    let secret = Salt::new(HKDF_SHA256, &vault[24..56]).extract(store_key);
    let info: &[&[u8]] = &[b"bakeoff store blocks 1"];
    secret.expand(info, HKDF_SHA256).unwrap().fill(&mut key).unwrap();
    key
}

#[test]
fn after_a_lock_no_key_is_in_the_daemons_memory() {
    if !can_mount("after_a_lock_no_key_is_in_the_daemons_memory") {
        return;
    }
    let site = Site::new();
    let digits = fs::read_to_string(site.path("key")).unwrap();
    let digits = digits.trim_end().as_bytes();
    let raw: Vec<u8> = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let mut place =
        SealedFile::new(&site.path("site.vault.key"), Secret::key_file(&site.path("key")).unwrap());
    let store_key = place.release(&EscapedName::of("site.vault"), &MeasuredState::Unmeasured).unwrap();
    let block_key = block_key(store_key.bytes(), &fs::read(site.vault()).unwrap());
    let secrets: [&[u8]; 5] = [b"deep.css", digits, &raw, store_key.bytes(), &block_key];

    let mount = site.mount();
    mount.read("img/large.bin").unwrap();
    // A file name is found, so the search works; the secret that the vault's key was derived from is gone.
    let [name, file, file_raw, store, _] = found(&mount, secrets);
    assert!(name > 0);
    assert_eq!([file, file_raw, store], [0; 3], "a key in digits, in bytes, the store's");
    // Code that uses AES instructions keeps the key unchanged in memory, so it can be searched for.
    #[cfg(target_arch = "x86_64")]
    assert!(found(&mount, secrets)[4] > 0, "the block key, which is in use");

    let status = fs::read_to_string(format!("/proc/{}/status", mount.daemon.id())).unwrap();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
    assert!(!locked.trim().starts_with("0 "), "no memory is locked: {locked}");

    assert_done(&site.layers(&["lock", &site.text("site.vault")]));
    until("all is dropped", || mount.dropped() == "names");
    mount.read("index.html").unwrap_err();
    let [name, keys @ ..] = found(&mount, secrets);
    assert!(name > 0);
    assert_eq!(keys, [0; 4], "a key in digits, in bytes, the store's, the blocks'");
}
