//! Every block of a vault tried, whatever is mounted.
//!
//! Measured side, cold. Padding counts too: a vault with a flipped bit anywhere is not what was
//! sealed. Names the files that cannot be read whole.

use crate::refusal::ReadRefusal;
use crate::vault::Vault;
use bakeoff_layers_base::threads;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks that are tried together; one by one only when they refuse.
const RUN: u64 = 64;

/// What is wrong with a vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Blocks that are refused, in order.
    pub blocks: Vec<(u64, ReadRefusal)>,
    /// Files that lie in one of them, in the vault's order; their paths below the root.
    pub files: Vec<String>,
}

/// Tries every block. The header and the list of files were right when the vault was opened.
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
