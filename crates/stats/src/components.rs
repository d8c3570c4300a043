//! Cost components: a total cost as the sum of amounts, each at a price of its own.
//!
//! Ordinary multiple regression without an intercept (a fixed cost is an amount, such as seconds), weighted by the
//! inverse of a row's expected variance: a cost is made of many small ones, so its variance grows with it. Rows of a
//! group share conditions and are not independent. The error is the delete-one-group jackknife, which is somewhat wide
//! with few groups (Efron, *The Jackknife, the Bootstrap and Other Resampling Plans*, 1982, chapter 3), and in which a
//! bend of the true cost shows: without its end the line is another.

use crate::{Interval, Level};

/// Fewer groups beyond the number of prices give no interval.
const FEWEST_SPARE: usize = 2;
/// Below this share of its own square an amount is a combination of the others, but for rounding.
const COLLINEAR: f64 = 1e-6;

/// A measured cost, and what it was spent on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostRow<const N: usize> {
    /// Rows with the same conditions.
    pub group: u32,
    /// Amounts, such as seconds, hits and misses.
    pub amounts: [f64; N],
    /// The cost of all of it.
    pub cost: f64,
    /// Its weight, such as 1 / requests.
    pub weight: f64,
}

/// Price of one unit of an amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentPrice {
    /// The estimate.
    pub price: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The price of each amount; `None` where the amounts do not vary enough by themselves, or come from too few groups.
pub fn component_prices<const N: usize>(rows: &[CostRow<N>], level: Level) -> Option<[ComponentPrice; N]> {
    let mut groups: Vec<u32> = rows.iter().map(|row| row.group).collect();
    groups.sort_unstable();
    groups.dedup();
    if groups.len() < N + FEWEST_SPARE {
        return None;
    }
    let all = fit(rows.iter())?;
    let without = |group: &u32| fit(rows.iter().filter(|row| row.group != *group));
    let left: Vec<[f64; N]> = groups.iter().map(without).collect::<Option<_>>()?;
    let count = left.len() as f64;
    let t = level.t(left.len() - N);
    Some(std::array::from_fn(|at| {
        let mean = left.iter().map(|prices| prices[at]).sum::<f64>() / count;
        let squares: f64 = left.iter().map(|prices| (prices[at] - mean).powi(2)).sum();
        let error = (squares * (count - 1.0) / count).sqrt();
        ComponentPrice { price: all[at], interval: Interval::around(all[at], t * error) }
    }))
}

/// Weighted least squares by the normal equations; `None` where they have no single solution.
fn fit<'r, const N: usize>(rows: impl Iterator<Item = &'r CostRow<N>>) -> Option<[f64; N]> {
    let (mut left, mut right) = ([[0.0; N]; N], [0.0; N]);
    for row in rows {
        for (i, amount) in row.amounts.iter().enumerate() {
            right[i] += row.weight * amount * row.cost;
            for (sum, other) in left[i].iter_mut().zip(row.amounts) {
                *sum += row.weight * amount * other;
            }
        }
    }
    solve(left, right)
}

/// Cholesky's decomposition: a pivot is what is left of an amount's square beside the amounts before it.
fn solve<const N: usize>(left: [[f64; N]; N], right: [f64; N]) -> Option<[f64; N]> {
    let mut lower = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = left[i][j] - known;
            if i > j {
                lower[i][j] = rest / lower[j][j];
            } else if rest.is_finite() && rest > COLLINEAR * left[i][i] {
                lower[i][i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    let mut halfway = [0.0; N];
    for i in 0..N {
        let known: f64 = (0..i).map(|k| lower[i][k] * halfway[k]).sum();
        halfway[i] = (right[i] - known) / lower[i][i];
    }
    let mut prices = [0.0; N];
    for i in (0..N).rev() {
        let known: f64 = (i + 1..N).map(|k| lower[k][i] * prices[k]).sum();
        prices[i] = (halfway[i] - known) / lower[i][i];
    }
    prices.iter().all(|price: &f64| price.is_finite()).then_some(prices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::SplitMix64;

    /// 10 rates from 10 to 100/s, in each 12 stretches of 5 s: two without hits, then `share` of them. Noise of a cost is
    /// a share of it, half of it common to the rate.
    fn rows(truth: [f64; 3], share: f64, noise: f64, seed: u64) -> Vec<CostRow<3>> {
        let mut random = SplitMix64::new(seed);
        let mut unit = || 2.0 * (random.next_u64() as f64 / u64::MAX as f64) - 1.0;
        let mut rows = Vec::new();
        for group in 1..=10_u32 {
            let common = unit() * noise;
            for n in 0..12 {
                let requests = 50.0 * f64::from(group) * (1.0 + 0.1 * unit());
                let hits = if n < 2 { 0.0 } else { share * requests };
                let amounts = [5.0, hits, requests - hits];
                let cost: f64 = amounts.iter().zip(truth).map(|(amount, price)| amount * price).sum();
                let cost = cost * (1.0 + common + unit() * noise);
                rows.push(CostRow { group, amounts, cost, weight: 1.0 / requests });
            }
        }
        rows
    }

    #[test]
    fn without_noise_the_prices_are_those_that_were_planted() {
        for truth in [[3.0, 0.2, 1.0], [0.0, 1.0, 1.0], [10.0, 2.0, 0.5]] {
            let found = component_prices(&rows(truth, 0.5, 0.0, 1), Level::ONCE).unwrap();
            for (found, truth) in found.iter().zip(truth) {
                assert!(
                    (found.price - truth).abs() < 1e-9 && found.interval.half_width() < 1e-6,
                    "{found:?}"
                );
            }
        }
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let truth = [4.0, 0.3, 1.0];
        let mut held = [0_u32; 3];
        for seed in 0..2_000 {
            let found = component_prices(&rows(truth, 0.5, 0.05, seed), Level::ONCE).unwrap();
            for ((held, found), truth) in held.iter_mut().zip(found).zip(truth) {
                *held += u32::from(found.interval.contains(truth));
            }
        }
        for held in held {
            assert!((1_860..=1_999).contains(&held), "{held} of 2000");
        }
    }

    #[test]
    fn amounts_that_vary_together_have_no_prices() {
        let steady: Vec<CostRow<3>> =
            rows([4.0, 0.3, 1.0], 0.5, 0.05, 1).into_iter().filter(|row| row.amounts[1] > 0.0).collect();
        assert_eq!(component_prices(&steady, Level::ONCE), None, "the same share of hits everywhere");
        let one_rate: Vec<CostRow<3>> = rows([4.0, 0.3, 1.0], 0.5, 0.05, 1)
            .into_iter()
            .map(|row| CostRow { amounts: [5.0, row.amounts[1], 500.0 - row.amounts[1]], ..row })
            .filter(|row| row.amounts[1] > 0.0 || row.group == 1)
            .collect();
        let fixed: Vec<CostRow<3>> =
            one_rate.into_iter().map(|row| CostRow { amounts: [5.0, 250.0, 250.0], ..row }).collect();
        assert_eq!(component_prices(&fixed, Level::ONCE), None, "one rate");
        let few: Vec<CostRow<3>> =
            rows([4.0, 0.3, 1.0], 0.5, 0.05, 1).into_iter().filter(|row| row.group <= 4).collect();
        assert_eq!(component_prices(&few, Level::ONCE), None, "four groups");
        assert_eq!(component_prices::<3>(&[], Level::ONCE), None);
    }
}
