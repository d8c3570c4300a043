//! Means of distributions that take more than a line.
//!
//! Cold. Closed forms only: no mean is a sum over draws.

use std::f64::consts::TAU;

/// The mean of max(X, 0), X normal with mean m >= 0 and deviation s: m P(m/s) + s p(m/s), where P is
/// the standard normal distribution function and p its density.
pub(super) fn clipped_normal_mean(mean: f64, deviation: f64) -> f64 {
    let x = mean / deviation;
    if deviation == 0.0 || x > 9.0 {
        return mean; // 1 - P(9) is below 2^-62
    }
    mean * distribution(x) + deviation * density(x)
}

fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / TAU.sqrt()
}

/// P(x) for 0 <= x: 1/2 + p(x) (x + x^3/3 + x^5/(3 5) + ...), all terms positive, so nothing cancels.
/// Marsaglia, "Evaluating the normal distribution", Journal of Statistical Software 11(4), 2004.
fn distribution(x: f64) -> f64 {
    let (mut term, mut sum, mut before, mut odd) = (x, x, f64::NAN, 1.0);
    while sum != before {
        before = sum;
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * density(x)
}

/// The sum over k = 1..=n of k ln((k+1)/k) / ln(n+1), which is n - ln(n!) / ln(n+1).
pub(super) fn zipf_mean(n: f64) -> f64 {
    n - ln_factorial(n) / n.ln_1p()
}

/// ln(n!), by Stirling's series above 20, where the next term is less than a rounding.
fn ln_factorial(n: f64) -> f64 {
    if n <= 20.0 {
        return (2..=n as u64).map(|k| k as f64).product::<f64>().ln();
    }
    let series = 1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * n * n)) / (n * n)) / (n * n);
    (n + 0.5) * n.ln() - n + TAU.ln() / 2.0 + series / n
}
