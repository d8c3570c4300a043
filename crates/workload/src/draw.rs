//! Even draws: systematic sampling instead of dice.
//!
//! Cold: before a slice. Drawing `count` of `len` things evenly means taking every
//! (len / count)-th of them from a starting point on. Over things sorted by size each draw has the
//! whole mix; over weights laid end to end each gets its share to within one. The starting point
//! moves by the golden ratio from round to round (a Kronecker sequence), so that in the long run
//! each thing is taken equally often, sooner than by chance. Over things sorted by size every other
//! step is taken from its far end ([`balanced`]), so that no round has the larger of all steps.

use bakeoff_content::{SplitMix64, mix64};

/// 2^32 divided by the golden ratio.
const GOLDEN: u32 = 0x9e37_79b9;

/// The starting point of a round, in fractions (of 2^32) of one step.
pub(crate) const fn phase(seed: u64, round: u64) -> u32 {
    ((mix64(seed) >> 32) as u32).wrapping_add((round as u32).wrapping_mul(GOLDEN))
}

/// `count` places in 0..`len`, evenly apart, not decreasing; over all phases each place comes equally often. Empty when
/// `len` is 0.
pub(crate) fn evenly(len: u64, count: u64, phase: u32) -> impl Iterator<Item = u64> {
    stepped(len, count, move |_| phase)
}

/// The same in balance: every other place lies as far before its step's end as the others lie behind
/// their step's beginning (balanced systematic sampling, Sethi 1965).
///
/// Over sizes that grow along the places the sums of rounds differ less by it: in the bundled log the
/// mean reply of 271 varies by 15 % in place of 25 %.
pub(crate) fn balanced(len: u64, count: u64, phase: u32) -> impl Iterator<Item = u64> {
    stepped(len, count, move |taken| if taken % 2 == 0 { phase } else { !phase })
}

/// One place in each of `count` steps of 0..`len`, where the phase of the step says.
fn stepped(len: u64, count: u64, phase: impl Fn(u64) -> u32) -> impl Iterator<Item = u64> {
    let count = if len == 0 { 0 } else { count };
    (0..count).map(move |taken| {
        let steps = u128::from(taken) << 32 | u128::from(phase(taken));
        ((steps * u128::from(len) / u128::from(count)) >> 32) as u64
    })
}

/// Weighted things, drawn in proportion.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    /// The end of each thing's stretch when the weights are laid end to end.
    ends: Vec<u64>,
}

impl Weights {
    /// `None` when all weights are zero.
    pub(crate) fn new(weights: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut sum = 0;
        let add = |weight| {
            sum += u64::from(weight);
            sum
        };
        let ends: Vec<u64> = weights.into_iter().map(add).collect();
        (sum > 0).then_some(Self { ends })
    }

    /// The sum of the weights.
    pub(crate) fn total(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// `count` things, each in its share to within one, in an order that the seed decides.
    pub(crate) fn draw(&self, count: usize, round: u64, seed: u64) -> Vec<u32> {
        let mut thing = 0;
        let mut drawn = Vec::with_capacity(count);
        for place in evenly(self.total(), count as u64, phase(seed, round)) {
            while self.ends[thing] <= place {
                thing += 1;
            }
            drawn.push(thing as u32);
        }
        SplitMix64::for_purpose(seed, round).shuffle(&mut drawn);
        drawn
    }
}

/// Deals a list out to `hands` lists, one each in turn.
pub(crate) fn deal(list: Vec<u32>, hands: usize) -> Vec<Vec<u32>> {
    if hands <= 1 {
        return vec![list];
    }
    (0..hands).map(|hand| list.iter().skip(hand).step_by(hands).copied().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_gets_its_share_to_within_one() {
        let weights = Weights::new([350, 500, 140, 9, 1, 0]).unwrap();
        for round in 0..200 {
            let count = 137 * (round as usize + 1);
            let drawn = weights.draw(count, round, 7);
            assert_eq!(drawn.len(), count);
            for (thing, weight) in [350, 500, 140, 9, 1, 0].into_iter().enumerate() {
                let got = drawn.iter().filter(|&&d| d as usize == thing).count() as f64;
                let share = count as f64 * f64::from(weight) / 1000.0;
                assert!((got - share).abs() < 1.0, "round {round}: {got} of {share}");
            }
        }
        assert!(Weights::new([0, 0]).is_none());
    }

    #[test]
    fn rounds_take_each_place_equally_often() {
        let mut taken = [vec![0_u32; 1000], vec![0_u32; 1000]];
        for round in 0..1000 {
            let phase = phase(3, round);
            evenly(1000, 100, phase).for_each(|place| taken[0][place as usize] += 1);
            balanced(1000, 100, phase).for_each(|place| taken[1][place as usize] += 1);
        }
        for taken in taken {
            let (low, high) = (taken.iter().min().unwrap(), taken.iter().max().unwrap());
            assert!(*low >= 97 && *high <= 103, "{low}..{high}, 100 expected, sd of a random draw 9.5");
        }
    }

    #[test]
    fn balance_cancels_a_trend() {
        for round in 0..100 {
            let places: Vec<u64> = balanced(1000, 50, phase(7, round)).collect();
            assert!(places.is_sorted(), "{places:?}");
            assert!(places.iter().enumerate().all(|(step, place)| place / 20 == step as u64), "{places:?}");
            let mean = places.iter().sum::<u64>() as f64 / 50.0;
            assert!((mean - 499.5).abs() <= 0.5, "{mean}");
        }
    }

    #[test]
    fn more_than_all_and_nothing() {
        let places: Vec<u64> = evenly(3, 7, 0).collect();
        assert_eq!(places, [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(evenly(0, 7, 0).count(), 0);
        assert_eq!(deal(vec![1, 2, 3, 4, 5], 2), [vec![1, 3, 5], vec![2, 4]]);
    }
}
