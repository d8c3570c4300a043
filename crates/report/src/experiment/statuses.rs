//! Statuses of replies, arm by arm, as one line beside the verdicts. Measuring side, cold, pure.

use crate::figures;
use crate::reading::Reading;
use bakeoff_results::ArmResult;

/// Statuses with their shares, the most frequent first.
type Shares = Vec<(u16, f64)>;

/// Shares that differ by no more than this are told as one.
const ALIKE: f64 = 0.01;
/// Statuses of an arm that are told; the others as a number.
const SHOWN: usize = 4;

/// `Statuses: a, a' 200; b 200 97 %, 404 3 %.` `None` where no arm has any.
pub(super) fn statuses(reading: &Reading<'_>) -> Option<String> {
    let mut groups: Vec<(Vec<&str>, Shares)> = Vec::new();
    for arm in reading.arms() {
        let own = reading.arm(arm).map(shares).unwrap_or_default();
        match groups.iter_mut().find(|(_, first)| are_alike(first, &own)) {
            Some((arms, _)) => arms.push(arm),
            None if own.is_empty() => {}
            None => groups.push((vec![arm], own)),
        }
    }
    let text = match groups.as_slice() {
        [] => return None,
        [(_, all)] => format!("all arms {}", in_words(all)),
        many => {
            let each = many.iter().map(|(arms, own)| format!("{} {}", arms.join(", "), in_words(own)));
            each.collect::<Vec<_>>().join("; ")
        }
    };
    Some(format!("Statuses: {text}."))
}

/// Statuses of an arm with their shares, the most frequent first.
fn shares(arm: &ArmResult) -> Shares {
    let all: u64 = arm.statuses.values().sum();
    let counts = arm.statuses.iter().filter(|(_, count)| **count > 0);
    let mut shares: Vec<_> = counts.map(|(status, count)| (*status, *count as f64 / all as f64)).collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    shares
}

/// Whether two arms have the same statuses, but for rare ones, in about the same shares.
fn are_alike(a: &[(u16, f64)], b: &[(u16, f64)]) -> bool {
    let of = |all: &[(u16, f64)], status| {
        all.iter().find(|(other, _)| *other == status).map_or(0.0, |(_, share)| *share)
    };
    let mut statuses = a.iter().chain(b).map(|(status, _)| *status);
    a.is_empty() == b.is_empty() && statuses.all(|status| (of(a, status) - of(b, status)).abs() <= ALIKE)
}

/// `200 97 %, 404 3 %`; a status alone without its share.
fn in_words(shares: &[(u16, f64)]) -> String {
    if let [(status, _)] = shares {
        return status.to_string();
    }
    let percent = |share: f64| match share {
        share if share < 0.001 => "below 0.1 %".to_owned(),
        share => figures::share((share * 1e3).round() / 1e3),
    };
    let shown = shares.iter().take(SHOWN).map(|(status, share)| format!("{status} {}", percent(*share)));
    let more = (shares.len() > SHOWN).then(|| format!("{} more", shares.len() - SHOWN));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_alike_are_told_together_and_others_apart() {
        let [a, b] = [[(200, 0.960), (404, 0.040)], [(200, 0.959), (404, 0.041)]];
        assert!(are_alike(&a, &b));
        assert!(!are_alike(&a, &[(200, 0.9), (404, 0.1)]));
        assert!(!are_alike(&a, &[(404, 1.0)]));
        assert!(are_alike(&[(200, 1.0)], &[(200, 0.9999), (503, 0.0001)]), "one in ten thousand");
        assert_eq!(in_words(&a), "200 96 %, 404 4 %");
        assert_eq!(in_words(&[(404, 1.0)]), "404");
        let many = [(200, 0.9), (304, 0.05), (404, 0.03), (301, 0.0194), (403, 0.0006)];
        assert_eq!(in_words(&many), "200 90 %, 304 5 %, 404 3 %, 301 1.9 %, 1 more");
    }
}
