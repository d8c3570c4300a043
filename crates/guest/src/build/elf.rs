//! Libraries of an executable: its loader, and the files that the loader names.
//!
//! Measuring side, cold.

use crate::GuestError;
use crate::error::at;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const INTERPRETER: u32 = 3;

/// Its loader; `None` where it is linked statically. Files that are no ELF have none.
pub(super) fn loader(path: &Path) -> Result<Option<PathBuf>, GuestError> {
    let bytes = fs::read(path).map_err(at(path))?;
    Ok(interpreter(&bytes).map(PathBuf::from))
}

/// The loader and every library, where they are on this machine.
pub(super) fn libraries(path: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let Some(loader) = loader(path)? else { return Ok(Vec::new()) };
    let listed = Command::new(&loader).arg("--list").arg(path).output().map_err(at(&loader))?;
    if !listed.status.success() {
        let why = "its loader cannot list its libraries; the guest needs programs of this machine that are \
                   linked against glibc, as Debian's are";
        return Err(GuestError::Recipe(format!("{}: {why}", path.display())));
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    let found = text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
    let mut all: Vec<PathBuf> = found.chain([loader]).collect();
    all.sort();
    all.dedup();
    Ok(all)
}

/// The text of the program header PT_INTERP.
fn interpreter(bytes: &[u8]) -> Option<&str> {
    let number = |at: usize, length: usize| {
        let part = bytes.get(at..at.checked_add(length)?)?;
        Some(part.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) as usize)
    };
    if bytes.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    (0..count).find_map(|index| {
        let header = table.checked_add(index * size)?;
        if number(header, 4)? != INTERPRETER as usize {
            return None;
        }
        let (start, length) = (number(header + 8, 8)?, number(header + 32, 8)?);
        let text = bytes.get(start..start.checked_add(length)?)?;
        std::str::from_utf8(text.strip_suffix(b"\0")?).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_loader_and_the_loader_its_libraries() {
        let own = std::env::current_exe().unwrap();
        let loader = loader(&own).unwrap().unwrap();
        let all = libraries(&own).unwrap();
        assert!(all.contains(&loader) && all.iter().any(|path| path.ends_with("libc.so.6")), "{all:?}");
        assert!(interpreter(b"#!/bin/sh\n").is_none());
        let whole = fs::read(&own).unwrap();
        for cut in [4, 20, 40, 64, 100] {
            assert!(interpreter(&whole[..cut]).is_none());
        }
    }
}
