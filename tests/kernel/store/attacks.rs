//! Vault file changed under a running daemon: EIO and a count, never a wrong byte. And, one file each, the findings
//! of a red team.

mod a_fifo_in_place_of_a_file;
mod a_link_in_place_of_the_status;
mod a_reader_holds_a_directory_at_the_lock;
mod another_manifest_of_the_same_admin;
mod calls_that_a_daemon_does_not_need;
mod keys_in_the_daemons_memory;
mod the_vault_of_another_site;

use crate::support::{FILES, Mount, Site, can_mount, text_of};
use nix::errno::Errno;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

const HEADER_BYTES: u64 = 4096;
const BLOCK: u64 = 4096;

fn is_eio(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EIO as i32)
}

fn vault(site: &Site) -> File {
    File::options().read(true).write(true).open(site.vault()).unwrap()
}

/// Reads a file page by page: each successful read must be right.
fn pages_are_right_or_refused(mount: &Mount, path: &str, bytes: usize) -> usize {
    let whole = text_of(path, bytes);
    let file = File::open(mount.at.join(path)).unwrap();
    let mut refused = 0;
    for (number, page) in whole.chunks(4096).enumerate() {
        let mut buffer = vec![0; page.len()];
        match file.read_exact_at(&mut buffer, number as u64 * 4096) {
            Ok(()) => assert_eq!(buffer, page, "{path}, page {number}"),
            Err(error) => {
                assert!(is_eio(&error), "{path}, page {number}: {error}");
                refused += 1;
            }
        }
    }
    refused
}

#[test]
fn a_flipped_bit_is_eio_and_counted() {
    if !can_mount("a_flipped_bit_is_eio_and_counted") {
        return;
    }
    let site = Site::new();
    let mount = site.mount();
    // The large file is in the middle of the stream, wherever the order of names puts it.
    let at = HEADER_BYTES + 100 * BLOCK + 77;
    let mut byte = [0];
    vault(&site).read_exact_at(&mut byte, at).unwrap();
    vault(&site).write_all_at(&[byte[0] ^ 1], at).unwrap();
    assert!(is_eio(&mount.read("img/large.bin").unwrap_err()));
    assert!(mount.count("refused.block-not-genuine") > 0);
    let refused = pages_are_right_or_refused(&mount, "img/large.bin", 3_000_000);
    assert!((1..=300).contains(&refused), "{refused} pages");
    assert_eq!(mount.read("img/other.bin").unwrap(), text_of("img/other.bin", 200_000));
    // Restored, it is read again: no verdict outlives its cause.
    vault(&site).write_all_at(&byte, at).unwrap();
    assert_eq!(mount.read("img/large.bin").unwrap(), text_of("img/large.bin", 3_000_000));
}

#[test]
fn swapped_and_replayed_blocks_are_eio() {
    if !can_mount("swapped_and_replayed_blocks_are_eio") {
        return;
    }
    let site = Site::new();
    let older = fs::read(site.vault()).unwrap();
    site.seal();
    let mount = site.mount();
    let at = |block: u64| HEADER_BYTES + block * BLOCK;
    let mut one = vec![0; BLOCK as usize];
    vault(&site).read_exact_at(&mut one, at(50)).unwrap();
    vault(&site).write_all_at(&one, at(51)).unwrap();
    let replayed = &older[at(120) as usize..at(121) as usize];
    vault(&site).write_all_at(replayed, at(120)).unwrap();
    let refused = pages_are_right_or_refused(&mount, "img/large.bin", 3_000_000);
    assert!(refused >= 2, "{refused} pages");
    let output = site.with_key("verify");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("2 of ") && said.contains("img/large.bin"), "{said}");
}

#[test]
fn a_vault_cut_short_under_the_daemon_is_eio_and_counted() {
    if !can_mount("a_vault_cut_short_under_the_daemon_is_eio_and_counted") {
        return;
    }
    let site = Site::new();
    let mount = site.mount();
    vault(&site).set_len(HEADER_BYTES + 100 * BLOCK + 5).unwrap();
    assert!(is_eio(&mount.read("img/large.bin").unwrap_err()));
    assert!(mount.count("refused.truncated") > 0);
    drop(mount);
    let said = site.refused_mount(&site.key_flags().each_ref().map(String::as_str));
    assert!(said.contains("cut short"), "{said}");
}

#[test]
fn a_vault_that_is_replaced_under_the_daemon_changes_nothing() {
    if !can_mount("a_vault_that_is_replaced_under_the_daemon_changes_nothing") {
        return;
    }
    let site = Site::new();
    let mount = site.mount();
    site.write("index.html", b"another text");
    site.seal();
    for (path, bytes) in FILES {
        assert_eq!(mount.read(path).unwrap(), text_of(path, bytes), "{path}");
    }
}
