//! Shares: read from texts, filled up to a whole, picked by.
//!
//! Reading is cold, picking hot.

use bakeoff_units::Ratio;

/// How far a sum of shares may be from 100 %: figures such as 14.29 % are rounded.
const ROUNDING: f64 = 1e-3;

/// A share from 0 to 1, from a text such as `80%`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let ratio: Ratio = text.parse().map_err(|error| format!("{error}"))?;
    let share = ratio.get();
    if share <= 1.0 { Ok(share) } else { Err(format!("`{text}` is more than 100%")) }
}

/// The text that [`share`] reads as this very number: the shortest with a fixed number of decimals.
pub(super) fn text(share: f64) -> String {
    let texts = (0..=17).map(|decimals| format!("{:.decimals$}%", share * 100.0));
    let same = |text: &String| self::share(text).is_ok_and(|again| again == share);
    texts.into_iter().find(same).unwrap_or_else(|| format!("{}%", share * 100.0))
}

/// The shares, where those left out have the rest in equal parts.
pub(super) fn filled(shares: &[Option<f64>]) -> Result<Vec<f64>, String> {
    let sum: f64 = shares.iter().flatten().sum();
    let open = shares.iter().filter(|share| share.is_none()).count();
    if sum > 1.0 + ROUNDING || (open == 0 && sum < 1.0 - ROUNDING) {
        return Err(format!("the shares make {:.4}% and not 100%", sum * 100.0));
    }
    let rest = (1.0 - sum).max(0.0) / open.max(1) as f64;
    let rest = share(&format!("{:.10}%", rest * 100.0))?; // a third has to have a text, too
    Ok(shares.iter().map(|share| share.unwrap_or(rest)).collect())
}

/// Which of the shares holds the point `unit` (0 <= unit < 1) of their sum; `None` when all are zero.
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
