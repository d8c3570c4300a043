//! Writer of the vault's blocks: the stream of plain bytes, encrypted and written run by run.
//!
//! Measured side, cold, but this is where sealing spends its time. A run is about a mebibyte of
//! blocks; threads take runs in turn and share nothing but a counter. Each reads the pieces of files
//! that fall into its run, encrypts block by block, and writes the run at its place.

use super::error::SealError;
use super::output::Output;
use super::scan::{self, FileAt, Mark, Scan};
use crate::aligned::Aligned;
use crate::cipher::Cipher;
use crate::layout::FileHeader;
use bakeoff_layers_base::plain::open_in_tree;
use bakeoff_layers_base::threads;
use nix::libc::O_NOFOLLOW;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes on disk of a run.
const RUN_BYTES: u64 = 1 << 20;

/// Input of all threads.
pub(super) struct Job<'a> {
    pub(super) scan: &'a Scan,
    pub(super) list: &'a [u8],
    pub(super) header: &'a FileHeader,
    pub(super) cipher: &'a Cipher,
    pub(super) output: &'a Output,
}

/// Writes all blocks.
pub(super) fn write(job: &Job<'_>, threads: usize) -> Result<(), SealError> {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || {
        let mut buffers = Buffers::default();
        let result = job.runs(&next, &stop, &mut buffers);
        if result.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        result
    };
    threads::on(threads, work).into_iter().collect()
}

#[derive(Default)]
struct Buffers {
    plain: Aligned,
    sealed: Aligned,
}

impl Job<'_> {
    fn runs(&self, next: &AtomicU64, stop: &AtomicBool, buffers: &mut Buffers) -> Result<(), SealError> {
        let per_run = (RUN_BYTES / self.header.block.disk_bytes() as u64).max(1);
        loop {
            let first = next.fetch_add(per_run, Ordering::Relaxed);
            if first >= self.header.blocks || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.run(first, (first + per_run).min(self.header.blocks), buffers)?;
        }
    }

    fn run(&self, first: u64, last: u64, buffers: &mut Buffers) -> Result<(), SealError> {
        let size = self.header.block;
        let payload = size.payload_bytes();
        let count = (last - first) as usize;
        let plain = buffers.plain.window(count * payload);
        self.gather(first * payload as u64, plain)?;
        let sealed = buffers.sealed.window(count * size.disk_bytes());
        let blocks = sealed.chunks_exact_mut(size.disk_bytes()).zip(plain.chunks_exact(payload));
        for (number, (on_disk, text)) in (first..last).zip(blocks) {
            let (body, tag) = on_disk.split_at_mut(payload);
            body.copy_from_slice(text);
            tag.copy_from_slice(&self.cipher.seal(number, body).map_err(|_| SealError::Cipher)?);
        }
        self.output.write(sealed, size.offset_of(first))
    }

    /// Fills `plain` with the stream from `at`: files, padding, the list, padding.
    fn gather(&self, at: u64, plain: &mut [u8]) -> Result<(), SealError> {
        let end = at + plain.len() as u64;
        plain.fill(0);
        let files = &self.scan.files;
        let first = files.partition_point(|file| file.at + file.size <= at);
        for file in files.iter().skip(first).take_while(|file| file.at < end) {
            let (from, to) = (file.at.max(at), (file.at + file.size).min(end));
            let target = plain.get_mut((from - at) as usize..(to - at) as usize).unwrap_or_default();
            read_piece(file, from - file.at, target)?;
        }
        let block = self.header.block;
        let list_at = block.blocks_for(self.scan.stream_bytes) * block.payload_bytes() as u64;
        let (from, to) = (list_at.max(at), (list_at + self.list.len() as u64).min(end));
        if from < to {
            let piece = self.list.get((from - list_at) as usize..(to - list_at) as usize);
            let target = plain.get_mut((from - at) as usize..(to - at) as usize);
            for (to, from) in target.unwrap_or_default().iter_mut().zip(piece.unwrap_or_default()) {
                *to = *from;
            }
        }
        Ok(())
    }
}

/// Reads part of a file, and checks before and after that the file is as it was scanned.
fn read_piece(file: &FileAt, offset: u64, target: &mut [u8]) -> Result<(), SealError> {
    if target.is_empty() {
        return Ok(());
    }
    let changed = || SealError::Changed { path: file.path.clone(), how: "changed" };
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => SealError::Changed { path: file.path.clone(), how: "vanished" },
        std::io::ErrorKind::UnexpectedEof => changed(),
        _ => scan::read_error(&file.path, error),
    };
    let same = |open: &File| Ok(Mark::of(&open.metadata().map_err(failed)?) == file.mark);
    let open = open_in_tree(&file.path, O_NOFOLLOW).map_err(failed)?;
    if !same(&open)? {
        return Err(changed());
    }
    open.read_exact_at(target, offset).map_err(failed)?;
    if same(&open)? { Ok(()) } else { Err(changed()) }
}
