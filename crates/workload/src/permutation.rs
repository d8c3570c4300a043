//! Permutations without tables: a keyed bijection of 0..len.
//!
//! Cold: orders are made before a slice. A balanced Feistel network over the smallest even number
//! of bits that holds `len`, and cycle walking (apply it again until the value is below `len`), so
//! that every robot has an order of its own over millions of lines for the price of a key.
//! Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.

use bakeoff_content::mix64;

/// Rounds of the network. Four are enough to look random to any test of order; six for small
/// halves, where each round's function has few values.
const ROUNDS: u64 = 6;

/// A bijection of 0..len determined by a key.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    len: u64,
    /// Bits of one half, 1 to 32.
    half: u32,
    key: u64,
}

impl Permutation {
    /// The order of `len` things under this key.
    pub const fn new(len: u64, key: u64) -> Self {
        let last = len.saturating_sub(1);
        let bits = 64 - last.leading_zeros();
        let half = if bits < 2 { 1 } else { bits.div_ceil(2) };
        Self { len, half, key }
    }

    /// Number of things.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The thing at `place` of the order; `None` from `len` on.
    pub fn get(&self, place: u64) -> Option<u64> {
        self.walk(place, Self::forward)
    }

    /// The place of `thing` in the order: the inverse of [`Self::get`].
    pub fn place_of(&self, thing: u64) -> Option<u64> {
        self.walk(thing, Self::backward)
    }

    /// The domain is less than four times `len`, so that four steps are expected at most; the
    /// walk ends because the cycle that a value below `len` lies on comes back to it.
    fn walk(&self, value: u64, step: fn(&Self, u64) -> u64) -> Option<u64> {
        if value >= self.len {
            return None;
        }
        let mut value = step(self, value);
        while value >= self.len {
            value = step(self, value);
        }
        Some(value)
    }

    fn forward(&self, value: u64) -> u64 {
        let (mut left, mut right) = self.halves(value);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.mixed(round, right));
        }
        left << self.half | right
    }

    fn backward(&self, value: u64) -> u64 {
        let (mut left, mut right) = self.halves(value);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.mixed(round, left), left);
        }
        left << self.half | right
    }

    const fn halves(&self, value: u64) -> (u64, u64) {
        (value >> self.half, value & self.mask())
    }

    const fn mask(&self) -> u64 {
        (1 << self.half) - 1
    }

    const fn mixed(&self, round: u64, half: u64) -> u64 {
        mix64(mix64(self.key ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ half) & self.mask()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_bijection_for_every_small_length_and_some_large_ones() {
        for len in (0..=300).chain([1023, 1024, 1025, 65_537, 100_000]) {
            let order = Permutation::new(len, len ^ 77);
            let mut seen = vec![false; len as usize];
            for place in 0..len {
                let thing = order.get(place).unwrap();
                assert!(!std::mem::replace(&mut seen[thing as usize], true), "{len}: {thing} twice");
                assert_eq!(order.place_of(thing), Some(place));
            }
            assert_eq!((order.get(len), order.place_of(len)), (None, None));
        }
    }

    #[test]
    fn the_largest_lengths_work() {
        for len in [u64::MAX, 1 << 63, (1 << 32) + 1] {
            let order = Permutation::new(len, 1);
            let thing = order.get(len - 1).unwrap();
            assert_eq!(order.place_of(thing), Some(len - 1));
        }
    }

    #[test]
    fn keys_give_unrelated_orders() {
        let orders = [1, 2].map(|key| Permutation::new(10_000, key));
        let same = (0..10_000).filter(|&i| orders[0].get(i) == orders[1].get(i)).count();
        assert!(same < 10, "{same} of 10,000 in the same place, 1 expected");
        let neighbours = |order: Permutation| {
            (1..10_000).filter(|&i| order.get(i).unwrap().abs_diff(order.get(i - 1).unwrap()) == 1).count()
        };
        assert!(neighbours(orders[0]) < 12, "2 expected");
    }
}
