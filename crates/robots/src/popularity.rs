//! Popularity models: the choice of an object to be requested again.
//!
//! Measuring side, hot. Pure: a draw is a function of the number of objects and of random bits.
//! No tables: objects are places 0 (oldest) to len - 1 (newest), however many there are.

use bakeoff_content::SplitMix64;
use bakeoff_units::Ratio;
use std::fmt;
use std::str::FromStr;

/// Popularity of the objects of a working set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Popularity {
    /// All objects alike.
    #[default]
    Uniform,
    /// Web Polygraph's `popZipf(skew)`: the newest are the most popular. With u uniform in 0..1 the
    /// k-th newest is k = floor((len + 1)^(u^skew)); skew 1 is Zipf's law with exponent 1.
    ZipfByRecency {
        /// Above zero; the larger, the more the newest are asked.
        skew: f64,
    },
    /// The k-th oldest with a probability in proportion to k^-exponent. An object's rank never
    /// changes, so a frozen working set does not slide: an object made later is requested once.
    ZipfByRank {
        /// Above zero; 0.6 to 0.9 for what proxies see (Breslau et al., INFOCOM 1999).
        exponent: f64,
    },
}

/// A small part of the working set that gets a part of its own of the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotSet {
    /// Share of the working set that is hot, above 0 to 1.
    pub share: Ratio,
    /// Probability that a repeated request goes to the hot part, 0 to 1.
    pub probability: Ratio,
}

impl Popularity {
    /// The place of one object of `len`: 0 is the oldest. 0 if there is none.
    pub fn draw(&self, len: u64, random: &mut SplitMix64) -> u64 {
        if len <= 1 {
            return 0;
        }
        match *self {
            Self::Uniform => random.below(len),
            Self::ZipfByRecency { skew } => len - newest_first(len, skew, random.unit()),
            Self::ZipfByRank { exponent } => Zipf { exponent }.rank(len, random) - 1,
        }
    }

    /// Whether a frozen working set slides on to objects made later.
    pub const fn slides(&self) -> bool {
        !matches!(self, Self::ZipfByRank { .. })
    }
}

/// The k of [`Popularity::ZipfByRecency`], 1 to `len`.
fn newest_first(len: u64, skew: f64, unit: f64) -> u64 {
    let k = (len as f64 + 1.0).powf(unit.powf(skew)) as u64;
    k.clamp(1, len)
}

/// Zipf's distribution over 1..=n without tables: rejection-inversion. At most 1.2 turns are expected
/// for exponents of interest. Source: Hoermann and Derflinger, "Rejection-inversion to generate variates
/// from monotone discrete distributions", ACM TOMACS 6 (1996), 169-184.
struct Zipf {
    exponent: f64,
}

impl Zipf {
    fn rank(&self, n: u64, random: &mut SplitMix64) -> u64 {
        let from = self.area(1.5) - 1.0;
        let to = self.area(n as f64 + 0.5);
        let near = 2.0 - self.area_inverse(self.area(2.5) - self.density(2.0));
        loop {
            let area = to + random.unit() * (from - to);
            let x = self.area_inverse(area);
            let rank = (x + 0.5).clamp(1.0, n as f64).floor();
            if rank - x <= near || area >= self.area(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// An antiderivative of the density that is zero at 1, exponent 1 included.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        over_x((1.0 - self.exponent) * log, f64::exp_m1) * log
    }

    fn area_inverse(&self, area: f64) -> f64 {
        // Below the smallest area that exists, rounding alone could ask for a logarithm of less than 0.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        (over_x(scaled, f64::ln_1p) * area).exp()
    }
}

/// f(x) / x for functions like x near zero.
fn over_x(x: f64, f: fn(f64) -> f64) -> f64 {
    if x.abs() < 1e-8 { 1.0 } else { f(x) / x }
}

/// A text that is no [`Popularity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePopularityError(String);

impl fmt::Display for ParsePopularityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no popularity: write unif, zipf:0.8, zipf-recency or zipf-recency:1", self.0)
    }
}

impl std::error::Error for ParsePopularityError {}

impl FromStr for Popularity {
    type Err = ParsePopularityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParsePopularityError(text.to_owned());
        let above_zero = |number: &str| {
            let number: f64 = number.trim().parse().map_err(|_| wrong())?;
            if number.is_finite() && number > 0.0 { Ok(number) } else { Err(wrong()) }
        };
        match text.trim().split_once(':') {
            None if text.trim() == "unif" => Ok(Self::Uniform),
            None if text.trim() == "zipf-recency" => Ok(Self::ZipfByRecency { skew: 1.0 }),
            Some(("zipf-recency", skew)) => Ok(Self::ZipfByRecency { skew: above_zero(skew)? }),
            Some(("zipf", exponent)) => Ok(Self::ZipfByRank { exponent: above_zero(exponent)? }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 200_000;

    /// Chi-square of the draws against known probabilities, divided by its degrees of freedom: 1 is
    /// expected, with a standard deviation of sqrt(2 / degrees).
    fn chi_square(popularity: Popularity, len: u64, probability: impl Fn(u64) -> f64) -> f64 {
        let mut random = SplitMix64::new(20_261_122);
        let mut counts = vec![0_u64; len as usize];
        for _ in 0..DRAWS {
            counts[popularity.draw(len, &mut random) as usize] += 1;
        }
        let total: f64 = (0..len).map(&probability).sum();
        assert!((total - 1.0).abs() < 1e-9, "probabilities sum up to {total}");
        let squares = counts.iter().enumerate().map(|(place, &count)| {
            let expected = probability(place as u64) * DRAWS as f64;
            (count as f64 - expected).powi(2) / expected
        });
        squares.sum::<f64>() / (len - 1) as f64
    }

    /// Five standard deviations of chi-square over 999 degrees.
    const NEAR_ONE: std::ops::Range<f64> = 0.776..1.224;

    #[test]
    fn uniform_draws_are_uniform() {
        let got = chi_square(Popularity::Uniform, 1000, |_| 1e-3);
        assert!(NEAR_ONE.contains(&got), "{got}");
    }

    #[test]
    fn zipf_by_recency_is_polygraphs_formula() {
        for skew in [0.5, 1.0, 2.0] {
            // P(k-th newest <= k) = P((len + 1)^(u^skew) < k + 1).
            let up_to = |k: u64| ((k as f64 + 1.0).ln() / 1001_f64.ln()).powf(1.0 / skew);
            let newest = |k: u64| if k == 1 { up_to(1) } else { up_to(k) - up_to(k - 1) };
            let got = chi_square(Popularity::ZipfByRecency { skew }, 1000, |place| newest(1000 - place));
            assert!(NEAR_ONE.contains(&got), "skew {skew}: {got}");
        }
    }

    #[test]
    fn zipf_by_rank_is_zipfs_law() {
        for exponent in [0.6, 0.8, 1.0, 1.4] {
            let norm: f64 = (1..=1000).map(|k| f64::from(k).powf(-exponent)).sum();
            let law = |place: u64| (place as f64 + 1.0).powf(-exponent) / norm;
            let got = chi_square(Popularity::ZipfByRank { exponent }, 1000, law);
            assert!(NEAR_ONE.contains(&got), "exponent {exponent}: {got}");
        }
    }

    #[test]
    fn draws_stay_inside_from_nothing_to_more_than_any_table_holds() {
        let all = [
            Popularity::Uniform,
            Popularity::ZipfByRecency { skew: 1.0 },
            Popularity::ZipfByRank { exponent: 0.8 },
            Popularity::ZipfByRank { exponent: 3.0 },
        ];
        let mut random = SplitMix64::new(1);
        for popularity in all {
            for len in [1, 2, 3, 1 << 40] {
                assert!(
                    (0..1000).all(|_| popularity.draw(len, &mut random) < len),
                    "{popularity:?} of {len}"
                );
            }
            assert_eq!(popularity.draw(0, &mut random), 0);
        }
    }

    #[test]
    fn what_plans_may_say() {
        assert_eq!("unif".parse(), Ok(Popularity::Uniform));
        assert_eq!("zipf:0.8".parse(), Ok(Popularity::ZipfByRank { exponent: 0.8 }));
        assert_eq!("zipf-recency".parse(), Ok(Popularity::ZipfByRecency { skew: 1.0 }));
        assert_eq!("zipf-recency:2".parse(), Ok(Popularity::ZipfByRecency { skew: 2.0 }));
        for wrong in ["", "zipf", "zipf:0", "zipf:-1", "zipf:NaN", "unif:3", "pareto"] {
            let error = wrong.parse::<Popularity>().unwrap_err().to_string();
            assert!(error.contains("zipf-recency"), "{error}");
        }
    }
}
