//! The one random generator of the measuring side.
//!
//! Own code and not a crate, so that no upgrade ever changes which requests or bytes a seed means.
//! Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014;
//! constants and test vector as in Vigna's splitmix64.c.

/// 2^64 by the golden ratio: steps of this length, modulo 2^64, lie as evenly as steps can.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijective mixing of 64 bits; good enough to turn counters and names into seeds.
pub const fn mix64(x: u64) -> u64 {
    let mut z = x;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The inverse of [`mix64`].
pub const fn unmix64(z: u64) -> u64 {
    // Each multiplier is the inverse of one above: their product is 1 modulo 2^64.
    let x = (z ^ (z >> 31) ^ (z >> 62)).wrapping_mul(0x3196_42b2_d24d_8ec3);
    let x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(0x96de_1b17_3f11_9089);
    x ^ (x >> 30) ^ (x >> 60)
}

/// These bits as a number 0 <= x < 1, on a grid of 2^-53.
pub fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// SplitMix64: 64 bits a step, period 2^64.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator of this seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The generator for one purpose of a run: equal (seed, purpose) pairs give equal streams,
    /// different ones unrelated streams.
    pub const fn for_purpose(seed: u64, purpose: u64) -> Self {
        Self::new(mix64(seed ^ mix64(purpose.wrapping_add(GOLDEN))))
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix64(self.state)
    }

    /// Uniform in 0 <= x < 1, on a grid of 2^-53.
    pub fn unit(&mut self) -> f64 {
        unit_of(self.next_u64())
    }

    /// Uniform in 0..bound (0 when `bound` is 0). Multiply-shift; bias below 2^-32 for bounds
    /// under 2^32.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// Exponential with mean 1, for Poisson arrivals.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Normal with mean 0 and standard deviation 1: Box and Muller, one of their pair.
    pub fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Fisher-Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vector_of_seed_1234567() {
        let mut random = SplitMix64::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
        ];
        assert_eq!([(); 4].map(|()| random.next_u64()), expected);
    }

    #[test]
    fn what_was_mixed_is_found_again() {
        for x in [0, 1, 0x9e37_79b9_7f4a_7c15, u64::MAX - 1, u64::MAX].into_iter().chain(0..64).map(mix64) {
            assert_eq!((unmix64(mix64(x)), mix64(unmix64(x))), (x, x));
        }
    }

    #[test]
    fn the_exponential_has_mean_and_variance_one() {
        let mut random = SplitMix64::new(1);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| random.exponential()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    /// Moments of a normal are 0, 1, 0, 3; their errors over n draws sqrt(1, 2, 15, 96 over n).
    #[test]
    fn the_normal_has_the_moments_of_a_normal() {
        let mut random = SplitMix64::new(1);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        for (power, moment, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0_f64)] {
            let found = draws.iter().map(|x| x.powi(power)).sum::<f64>() / f64::from(n);
            let error = (variance / f64::from(n)).sqrt();
            assert!((found - moment).abs() < 4.0 * error, "moment {power}: {found} +- {error}");
        }
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        SplitMix64::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
