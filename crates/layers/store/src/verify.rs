//! Verification of every block of a vault, mounted or not.
//!
//! Measured side, cold. Padding counts too: a vault with a flipped bit anywhere differs from what was sealed. Names
//! the files that cannot be read completely.

use crate::refusal::ReadRefusal;
use crate::vault::Vault;
use bakeoff_layers_base::threads;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks that are checked together; one by one only when they are refused.
const RUN: u64 = 64;

/// Damage of a vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Refused blocks, in order.
    pub blocks: Vec<(u64, ReadRefusal)>,
    /// Files with such a block, in the vault's order; their paths below the root.
    pub files: Vec<String>,
}

/// Checks every block. Opening the vault has already checked the header and the list of files.
pub fn verify(vault: &Vault) -> Damage {
    let next = AtomicU64::new(0);
    let mut blocks = threads::on(2 * threads::cores(), || try_runs(vault, &next)).concat();
    blocks.sort_by_key(|(block, _)| *block);
    let payload = vault.header().block.payload_bytes() as u64;
    let tree = vault.tree();
    let hit = blocks.iter().flat_map(|(block, _)| tree.files_within(block * payload, (block + 1) * payload));
    let mut hit: Vec<_> = hit.collect();
    hit.sort_unstable();
    hit.dedup();
    let files = hit.into_iter().map(|file| tree.path(file)).collect();
    Damage { blocks, files }
}

fn try_runs(vault: &Vault, next: &AtomicU64) -> Vec<(u64, ReadRefusal)> {
    let all = vault.header().blocks;
    let mut refused = Vec::new();
    let mut buffer = Vec::new();
    loop {
        let first = next.fetch_add(RUN, Ordering::Relaxed);
        if first >= all {
            return refused;
        }
        let last = (first + RUN).min(all);
        if vault.try_blocks(first, last, &mut buffer).is_ok() {
            continue;
        }
        for block in first..last {
            if let Err(refusal) = vault.try_blocks(block, block + 1, &mut buffer) {
                refused.push((block, refusal));
            }
        }
    }
}
