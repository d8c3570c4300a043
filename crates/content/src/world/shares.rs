//! Shares of a whole: parsed from texts, completed to 100 %, and picked by a random point.
//!
//! Reading is cold, picking hot.

use bakeoff_units::Ratio;

/// Tolerance of the sum of shares around 100 %: figures such as 14.29 % are rounded.
const ROUNDING: f64 = 1e-3;

/// A share from 0 to 1, from a text such as `80%`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let ratio: Ratio = text.parse().map_err(|error| format!("{error}"))?;
    let share = ratio.get();
    if share <= 1.0 { Ok(rounded(share)) } else { Err(format!("`{text}` is more than 100%")) }
}

/// The nearest share that has a text: ten decimals of a percent.
fn rounded(share: f64) -> f64 {
    (share * 1e12).round() / 1e12
}

/// The text that [`share`] reads as this very number, or the nearest that has one.
pub(super) fn text(share: f64) -> String {
    let text = format!("{:.10}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The shares, where those left out have the rest in equal parts.
pub(super) fn filled(shares: &[Option<f64>]) -> Result<Vec<f64>, String> {
    let sum: f64 = shares.iter().flatten().sum();
    let open = shares.iter().filter(|share| share.is_none()).count();
    if sum > 1.0 + ROUNDING || (open == 0 && sum < 1.0 - ROUNDING) {
        return Err(format!("the shares make {:.4}% and not 100%", sum * 100.0));
    }
    let rest = rounded((1.0 - sum).max(0.0) / open.max(1) as f64);
    Ok(shares.iter().map(|share| share.unwrap_or(rest)).collect())
}

/// The index of the share that holds the point `unit` (0 <= unit < 1) of their sum; `None` when all are zero.
pub(super) fn pick(shares: impl Iterator<Item = f64> + Clone, unit: f64) -> Option<usize> {
    let at = unit * shares.clone().sum::<f64>();
    let mut passed = 0.0;
    let mut last = None;
    for (index, share) in shares.enumerate().filter(|(_, share)| *share > 0.0) {
        passed += share;
        last = Some(index); // what rounding leaves over falls to the last one
        if at < passed {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_share_has_a_text_that_is_read_as_it(digits in 0..=10_usize, percent in 0.0..=100.0_f64) {
            let read = share(&format!("{percent:.digits$}%")).unwrap();
            prop_assert_eq!(share(&text(read)), Ok(read));
            let rest = filled(&[Some(read), None, None, None]).unwrap()[1];
            prop_assert_eq!(share(&text(rest)), Ok(rest));
        }
    }

    #[test]
    fn texts_are_short() {
        let texts = [0.8, 0.55, 1.0, 0.0, 0.4286, 0.01, 0.2].map(text);
        assert_eq!(texts, ["80%", "55%", "100%", "0%", "42.86%", "1%", "20%"]);
    }
}
