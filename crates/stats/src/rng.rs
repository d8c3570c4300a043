//! A small random generator with a fixed output, for bootstrap and simulation.
//!
//! Seeds stand in results directories, so the sequence must never change: it is pinned by the
//! published test vector and not taken from a library.

use std::f64::consts::TAU;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator; equal seeds give equal sequences.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in 0..n; 0 when `n` is 0. The bias is under n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Standard normal (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt(); // 1 - u is never 0
        radius * (TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The widely used test vector of SplitMix64 for seed 1234567.
        let mut rng = SplitMix64::new(1_234_567);
        let got: [u64; 5] = std::array::from_fn(|_| rng.next_u64());
        let want = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn moments_of_the_normal() {
        let mut rng = SplitMix64::new(7);
        let x: Vec<f64> = (0..100_000).map(|_| rng.normal()).collect();
        let mean = x.iter().sum::<f64>() / 1e5;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e5;
        let far = x.iter().filter(|v| v.abs() > 1.959964).count();
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        assert!((4700..5300).contains(&far), "{far}");
    }

    #[test]
    fn below_reaches_all_and_only_its_values() {
        let mut rng = SplitMix64::new(1);
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[rng.below(7)] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}
