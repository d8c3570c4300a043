//! Resolution of a run: the smallest effect that it could have seen, and the rounds needed for a smaller one.

use crate::{Effect, Level};

/// 1.96 + 0.84: the 5 % two-sided and 80 % power points of the normal distribution.
const FIVE_PERCENT_EIGHTY_POWER: f64 = 2.8;

/// An outlook of more than so many times its least is none.
const FAR: f64 = 20.0;

/// The smallest effect found with 80 % power at 5 %, from `n` rounds whose log ratios have the
/// standard deviation `paired_sd`. Printed with every result, resolved or not.
pub fn smallest_detectable(paired_sd: f64, n: usize) -> f64 {
    FIVE_PERCENT_EIGHTY_POWER * paired_sd / (n as f64).sqrt()
}

/// Rounds in all for a 95 % interval of half-width `target` at a given paired sd.
pub fn rounds_from_sd(paired_sd: f64, target: f64) -> u32 {
    rounds_for(1.96 * paired_sd, 1, target)
}

/// Rounds in all (those already run included) until the half-width, `half_width_now` after `n`
/// rounds, shrinks to `target`: n x (half_width_now / target)^2. `u32::MAX` when never.
pub fn rounds_for(half_width_now: f64, n: usize, target: f64) -> u32 {
    if target <= 0.0 || !half_width_now.is_finite() {
        return u32::MAX;
    }
    // Without the epsilon 10 x (0.2 / 0.1)^2 could become 41. The cast saturates.
    (n as f64 * (half_width_now / target).powi(2) - 1e-9).ceil() as u32
}

/// Rounds in all until this effect would be settled against `margin`, if the estimate stays
/// where it is: [`rounds_for`] with the widest half-width that ends in `no-cost`, `costs` or
/// `saves`.
pub fn rounds_to_settle(effect: &Effect, margin: f64) -> u32 {
    let size = effect.effect.abs();
    let inside_the_margin = margin - size;
    let clear_of_zero = size.min(margin.max(size / 2.0));
    rounds_for(effect.interval.half_width(), effect.n, inside_the_margin.max(clear_of_zero))
}

/// Number of further rounds that would settle an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// If the estimate and the spread lie to the good side.
    pub least: u32,
    /// If to the other side; `None`: more than twenty times the least.
    pub most: Option<u32>,
}

/// [`rounds_to_settle`] less the rounds that were run, with the uncertainty of the estimate: the effect may lie a
/// standard error to either side, and so may the variance of the rounds, of which n rounds know the share sqrt(2 / (n -
/// 1)). `None` where no number of rounds would settle it.
pub fn outlook(effect: &Effect, margin: f64) -> Option<Outlook> {
    let error = effect.interval.half_width() / Level::new(effect.level)?.z();
    let spread = (2.0 / (effect.n.max(2) - 1) as f64).sqrt();
    let at = |shift: f64| {
        let moved = Effect { effect: effect.effect + shift * error, ..effect.clone() };
        f64::from(rounds_to_settle(&moved, margin))
    };
    let needed = [-1.0, 0.0, 1.0].map(at);
    let more = |rounds: f64| (rounds - effect.n as f64).max(1.0);
    let least = more(needed.into_iter().fold(f64::INFINITY, f64::min) * (1.0 - spread).max(0.25));
    let most = more(needed.into_iter().fold(0.0, f64::max) * (1.0 + spread));
    (least < f64::from(u32::MAX / 2)).then(|| Outlook {
        least: least as u32,
        most: (most <= FAR * least).then(|| (most.ceil() as u32).max(least as u32 + 1)),
    })
}

/// Number of further rounds that would tell on which side of 0 an effect lies.
pub(crate) fn outlook_of_sign(effect: &Effect) -> Option<Outlook> {
    outlook(effect, effect.effect.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_detectable_agrees_with_the_printed_table() {
        // Percent; docs/method.md has some of these rows ("Effects").
        let table = [
            (1.0, [0.9, 0.6, 0.4, 0.3]),
            (2.0, [1.8, 1.3, 0.9, 0.6]),
            (3.0, [2.7, 1.9, 1.3, 0.9]),
            (7.0, [6.2, 4.4, 3.1, 2.2]),
            (20.0, [17.7, 12.5, 8.9, 6.3]),
        ];
        for (sd, row) in table {
            for (n, want) in [10, 20, 40, 80].into_iter().zip(row) {
                let got = smallest_detectable(sd, n);
                assert!((got - want).abs() <= 0.05, "sd {sd} n {n}: {got}");
            }
        }
    }

    #[test]
    fn rounds_agree_with_the_printed_table() {
        for (sd, half, one) in
            [(1.0, 16, 4), (2.0, 62, 16), (3.0, 139, 35), (7.0, 753, 189), (20.0, 6147, 1537)]
        {
            assert_eq!((rounds_from_sd(sd, 0.5), rounds_from_sd(sd, 1.0)), (half, one), "{sd}");
        }
    }

    #[test]
    fn half_the_width_takes_four_times_the_rounds() {
        assert_eq!(rounds_for(0.02, 10, 0.01), 40);
        assert_eq!(rounds_for(0.2, 10, 0.1), 40);
        assert_eq!(rounds_for(0.0145, 58, 0.01), 122);
        assert_eq!(rounds_for(0.1, 10, 0.0), u32::MAX);
        assert_eq!(rounds_for(f64::INFINITY, 10, 0.1), u32::MAX);
        assert_eq!(rounds_for(1e9, 10, 1e-9), u32::MAX);
    }
}
