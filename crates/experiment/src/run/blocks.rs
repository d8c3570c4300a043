//! Blocks of a duet: which arms share a slice, and in which order a round takes the blocks.
//!
//! Pure, cold. An arm is compared with the baseline of its stratum alone, so the arms of a stratum share a slice, and
//! the strata take turns. A cycle of slots must be shorter than a disturbance: the arms of a large stratum are dealt to
//! several blocks, and each has both processes of the baseline.

use bakeoff_content::SplitMix64;
use bakeoff_results::{StratumSetup, second};

/// Most arms of a block, its baseline among them; the second process of the baseline comes on top. A cycle of six slots
/// takes 120 ms, and a slice has several of them.
pub(crate) const MOST_ARMS: usize = 5;
/// Seed purpose of the order of blocks.
const BLOCKS: u64 = 0xb10c;

/// Arms that share a slice, in plan order, and the place of the block in the design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) index: u32,
    /// Indices in `Plan::names`.
    pub(crate) arms: Vec<usize>,
}

impl Block {
    /// All arms in one slice.
    pub(crate) fn whole(arms: usize) -> Self {
        Self { index: 0, arms: (0..arms).collect() }
    }
}

/// The blocks of these arms, stratum by stratum; none if one holds all arms. Without strata all are of one.
pub(crate) fn blocks(arms: &[String], baseline: &str, strata: &[StratumSetup]) -> Vec<Vec<String>> {
    let one = StratumSetup { baseline: baseline.to_owned(), arms: arms.to_vec(), ..StratumSetup::default() };
    let strata = if strata.is_empty() { std::slice::from_ref(&one) } else { strata };
    let blocks: Vec<Vec<String>> = strata.iter().flat_map(of_stratum).collect();
    if blocks.len() > 1 { blocks } else { Vec::new() }
}

/// As few blocks as possible, of about the same size.
fn of_stratum(stratum: &StratumSetup) -> Vec<Vec<String>> {
    let twins = [stratum.baseline.clone(), second(&stratum.baseline)];
    let others: Vec<&String> = stratum.arms.iter().filter(|arm| !twins.contains(arm)).collect();
    let of = others.len().div_ceil(MOST_ARMS - 1).max(1);
    let block = |index: usize| {
        let own = &others[others.len() * index / of..others.len() * (index + 1) / of];
        let is_in = |arm: &&String| twins.contains(arm) || own.contains(arm);
        stratum.arms.iter().filter(is_in).cloned().collect()
    };
    (0..of).map(block).collect()
}

/// The blocks of a design as indices of its arms.
pub(crate) fn indexed(blocks: &[Vec<String>], arms: &[String]) -> Vec<Block> {
    if blocks.is_empty() {
        return vec![Block::whole(arms.len())];
    }
    let of = |block: &Vec<String>| (0..arms.len()).filter(|arm| block.contains(&arms[*arm])).collect();
    (0..).zip(blocks).map(|(index, block)| Block { index, arms: of(block) }).collect()
}

/// The order of a round's blocks. Within as many rounds as there are blocks, each comes once in each place: the order is
/// drawn for them, and every round begins one further.
pub(crate) fn in_turn(mut blocks: Vec<Block>, seed: u64, round: u32) -> Vec<Block> {
    let of = blocks.len().max(1) as u32;
    SplitMix64::for_purpose(seed ^ BLOCKS, u64::from(round / of)).shuffle(&mut blocks);
    blocks.rotate_left((round % of) as usize);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Strata of so many arms, without the second processes of their baselines.
    fn strata(sizes: &[usize]) -> Vec<StratumSetup> {
        let stratum = |(index, size): (usize, &usize)| {
            let mut arms: Vec<String> = (0..*size).map(|arm| format!("s{index}.{arm}")).collect();
            arms.insert(1, second(&arms[0]));
            StratumSetup { name: format!("s{index}"), baseline: arms[0].clone(), arms }
        };
        sizes.iter().enumerate().map(stratum).collect()
    }

    fn arms(strata: &[StratumSetup]) -> Vec<String> {
        strata.iter().flat_map(|stratum| stratum.arms.clone()).collect()
    }

    /// Every shape of up to four strata of up to thirteen arms.
    fn shapes() -> impl Iterator<Item = Vec<usize>> {
        let mut random = SplitMix64::new(36);
        let mut below = move |most: usize| (random.unit() * most as f64) as usize;
        (0..300).map(move |_| (0..1 + below(4)).map(|_| 1 + below(13)).collect())
    }

    #[test]
    fn every_arm_shares_one_block_with_both_processes_of_its_own_baseline_and_no_other_stratum() {
        for shape in shapes() {
            let strata = strata(&shape);
            let arms = arms(&strata);
            let planned = blocks(&arms, &arms[0], &strata);
            let all = indexed(&planned, &arms);
            for stratum in &strata {
                let twins = [stratum.baseline.clone(), second(&stratum.baseline)];
                for arm in stratum.arms.iter().filter(|arm| !twins.contains(arm)) {
                    let own: Vec<&Block> =
                        all.iter().filter(|block| block.arms.iter().any(|i| arms[*i] == *arm)).collect();
                    assert_eq!(own.len(), 1, "{shape:?}: {arm}");
                    let names: BTreeSet<&String> = own[0].arms.iter().map(|i| &arms[*i]).collect();
                    assert!(twins.iter().all(|twin| names.contains(twin)), "{shape:?}: {arm} in {names:?}");
                    assert!(names.iter().all(|name| stratum.arms.contains(name)), "{shape:?}: {names:?}");
                }
            }
            let sizes: Vec<usize> = all.iter().map(|block| block.arms.len()).collect();
            assert!(sizes.iter().all(|size| *size <= MOST_ARMS + 1), "{shape:?}: {sizes:?}");
            let least: usize = shape.iter().map(|size| (size - 1).div_ceil(MOST_ARMS - 1).max(1)).sum();
            assert_eq!(all.len(), least, "{shape:?}: no block more than there must be");
            assert_eq!(planned.is_empty(), least == 1, "{shape:?}: one block is no list of blocks");
        }
    }

    #[test]
    fn blocks_of_a_stratum_differ_by_one_arm_at_most() {
        for arms in 2..40 {
            let sizes: Vec<usize> = of_stratum(&strata(&[arms])[0]).iter().map(Vec::len).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 1, "{arms}: {sizes:?}");
        }
    }

    #[test]
    fn every_block_comes_once_in_each_place_of_as_many_rounds() {
        for of in 1..9u32 {
            let blocks: Vec<Block> = (0..of).map(|index| Block { index, arms: Vec::new() }).collect();
            for seed in 0..20 {
                let orders: Vec<Vec<u32>> = (0..4 * of)
                    .map(|round| in_turn(blocks.clone(), seed, round).iter().map(|b| b.index).collect())
                    .collect();
                for cycle in orders.chunks(of as usize) {
                    for place in 0..of as usize {
                        let seen: BTreeSet<u32> = cycle.iter().map(|order| order[place]).collect();
                        assert_eq!(
                            seen.len(),
                            of as usize,
                            "{of} blocks, seed {seed}, place {place}: {cycle:?}"
                        );
                    }
                }
            }
        }
        let blocks: Vec<Block> = (0..4).map(|index| Block { index, arms: Vec::new() }).collect();
        let firsts: BTreeSet<u32> = (0..40).map(|seed| in_turn(blocks.clone(), seed, 0)[0].index).collect();
        assert_eq!(firsts.len(), 4, "the seed draws which comes first");
    }
}
